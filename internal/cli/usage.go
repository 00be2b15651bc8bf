package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
)

// exit is an error with an exit status. An empty message prints nothing.
type exit struct {
	status  int
	message string
}

func (e *exit) Error() string { return e.message }

// usageErrorf returns an error that the caller must fix: in flags, arguments or answers.
func usageErrorf(format string, args ...any) error {
	return &exit{ExitUse, fmt.Sprintf(format, args...)}
}

// checkArgs checks the number of arguments: each name stands for one argument, in brackets if it is
// optional, and with a trailing … if it may be repeated.
func checkArgs(names ...string) cobra.PositionalArgs {
	least, most := 0, len(names)
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
		if strings.HasSuffix(strings.TrimSuffix(n, "]"), "…") {
			most = int(^uint(0) >> 1)
		}
	}
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && c.HasAvailableSubCommands():
			return unknownVerb(c, args[0])
		case len(args) < least:
			return usageErrorf("%s needs %s; see hocket help %s", c.CommandPath(),
				strings.TrimSuffix(names[len(args)], "…"),
				verbPath(c))
		case len(args) > most && most == 0:
			return usageErrorf("unexpected argument %q: %s takes no arguments", args[0], c.CommandPath())
		case len(args) > most:
			msg := fmt.Sprintf("unexpected argument %q: %s takes only %s", args[most], c.CommandPath(),
				strings.Join(names, " "))
			if slices.Contains(names, "[INPUT]") {
				msg += "; quote an INPUT that contains spaces"
			}
			return usageErrorf("%s", msg)
		}
		return nil
	}
}

// verbPath returns the path of a command without the name of the program.
func verbPath(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// otherWords maps words that users of other tools may type to verbs.
var otherWords = map[string]string{
	"new": "init", "create": "init", "template": "init --list", "templates": "init --list", "start": "run",
	"execute": "exec", "check": "validate", "lint": "validate", "draw": "show", "graph": "show", "export": "convert",
	"ls": "runs list", "list": "runs list", "ps": "runs list", "status": "runs show", "logs": "runs show RUN --logs",
	"log":    "runs show RUN --logs",
	"events": "runs events", "approve": "resume RUN --approve", "reject": "resume RUN --reject",
	"answer": "resume RUN --input", "continue": "resume", "stop": "cancel", "kill": "cancel", "abort": "cancel",
	"rm": "runs prune", "delete": "runs prune", "prune": "runs prune", "gc": "runs prune",
}

// unknownVerb returns an error that suggests what could have been meant.
func unknownVerb(c *cobra.Command, word string) error {
	var verbs []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			verbs = append(verbs, s.Name())
		}
	}
	meant := ""
	if s := diag.Suggest(word, verbs); s != "" {
		meant = c.CommandPath() + " " + s
	}
	if !c.HasParent() && meant == "" {
		meant = otherWords[strings.ToLower(word)]
		if st, err := os.Stat(word); err == nil && !st.IsDir() && filepath.Ext(word) != "" {
			meant = "run " + word
		}
		if meant != "" {
			meant = c.Name() + " " + meant
		}
	}
	if page := topics[strings.ToLower(word)]; meant == "" && page != "" && !c.HasParent() {
		return usageErrorf("unknown command %q; docs/%s.md describes this topic, and hocket --help lists the commands",
			word,
			page)
	}
	if meant == "" {
		return usageErrorf("unknown command %q; see %s --help", word, c.CommandPath())
	}
	return usageErrorf("unknown command %q; did you mean `%s`?", word, meant)
}

// flagError rewords an error of the flag parser.
func flagError(c *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		needs   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(c, unknown)
	case errors.As(err, &needs):
		name, use := pflag.UnquoteUsage(needs.GetFlag())
		return usageErrorf("--%s needs a value, %s: %s", needs.GetFlag().Name, name, use)
	case errors.As(err, &invalid):
		want, ok := flagTypes[invalid.GetFlag().Value.Type()]
		if !ok {
			want = invalid.Unwrap().Error()
		}
		return mustBe(invalid.GetFlag().Name, want, invalid.GetValue())
	}
	return usageErrorf("%v", err)
}

// flagTypes describe the values of each flag type.
var flagTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "duration": "a duration such as 90s, 15m or 1h30m",
	"bool": "true or false",
}

// mustBe returns the error for an invalid flag value.
func mustBe(flag, want, got string) error {
	return usageErrorf("--%s must be %s, not %q", flag, want, got)
}

func unknownFlag(c *cobra.Command, e *pflag.NotExistError) error {
	// An unknown verb is more useful to report: its flags cannot exist either.
	if words := c.Flags().Args(); c.HasAvailableSubCommands() && len(words) > 0 {
		return unknownVerb(c, words[0])
	}
	if short := e.GetSpecifiedShortnames(); short != "" {
		return usageErrorf("%s has no flag -%s; put a text that begins with a dash after --", c.CommandPath(), short)
	}
	if name := e.GetSpecifiedName(); strings.HasPrefix(name, "temporal-") && c.Flags().Lookup("temporal") != nil {
		return usageErrorf("%s has no flag --%s; write it below temporal in hocket.yaml", c.CommandPath(), name)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if s := diag.Suggest(e.GetSpecifiedName(), names); s != "" {
		return usageErrorf("%s has no flag --%s; did you mean --%s?", c.CommandPath(), e.GetSpecifiedName(), s)
	}
	return usageErrorf("%s has no flag --%s; see %s --help", c.CommandPath(), e.GetSpecifiedName(), c.CommandPath())
}

// atMostOne returns an error if flags contradict each other.
func atMostOne(c *cobra.Command, names ...string) error {
	var given []string
	for _, n := range names {
		if f := c.Flags().Lookup(n); f.Changed && f.Value.String() != "false" {
			given = append(given, "--"+n)
		}
	}
	if len(given) > 1 {
		return usageErrorf("%s cannot be given together", strings.Join(given, " and "))
	}
	return nil
}

func (a *app) helpCmd() *cobra.Command {
	find := func(c *cobra.Command, args []string) (*cobra.Command, error) {
		at := c.Root()
		for _, word := range args {
			i := slices.IndexFunc(at.Commands(), func(s *cobra.Command) bool { return s.Name() == word })
			if i < 0 {
				return nil, unknownVerb(at, word)
			}
			at = at.Commands()[i]
		}
		return at, nil
	}
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "show the help of a command",
		Long: "Shows the description, flags and examples of a command.",
		ValidArgsFunction: func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			at, err := find(c, args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, s := range at.Commands() {
				if s.IsAvailableCommand() && strings.HasPrefix(s.Name(), prefix) {
					names = append(names, cobra.CompletionWithDesc(s.Name(), s.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at, err := find(c, args)
			if err != nil {
				return err
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// usualHints are the hints for problems that have none of their own. A test checks that there is a
// hint for every mistake in testdata/mistakes.txtar.
var usualHints = map[string]string{
	"bad-condition": "conditions, and what is between {{ and }}, are CEL expressions, such as " +
		"$steps.ID.output.contains(\"yes\")",
	"duplicate-node": "give one of them another id",
	"duplicate-key":  "remove one of the two",
	"empty-document": "`hocket init` creates an example document",
	"missing-key":    "write the key, with a value",
	"subagent-self":  "remove the connection",
	"subagent-cycle": "remove one of the connections",
	"syntax":         "look for a bracket or quotation mark that is not closed, or a wrong indentation",
	"unknown-key":    "remove it; `hocket schema` lists the keys",
	"unreadable":     "give the path of an existing file",
	"wrong-type":     "`hocket schema` shows the values that a key accepts",
}

// hinted adds the hints of the command line to problems; a problem without one gets the usual hint
// of its code.
func hinted(list diag.List) diag.List {
	list = errcode.Hinted(list, errcode.Command)
	for i := range list {
		if list[i].Hint == "" && list[i].Severity == diag.Error {
			list[i].Hint = usualHints[list[i].Code]
		}
	}
	return list
}
