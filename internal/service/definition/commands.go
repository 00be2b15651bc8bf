package definition

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Entry returns the agent that a run of w calls first, or nil if there may be several, or none.
func Entry(w *workflow.Workflow) *workflow.Agent {
	at := w.Entry
	for range len(w.Nodes) + 1 {
		n := w.Node(at)
		if n == nil {
			return nil
		}
		if n.Agent != nil {
			return w.Agent(n.Agent.Agent)
		}
		next := ""
		for _, e := range w.Edges {
			if e.From == at && next != "" {
				return nil
			}
			if e.From == at {
				next = e.To
			}
		}
		if n.Kind != workflow.KindStart {
			return nil
		}
		at = next
	}
	return nil
}

// command returns the entry agent's command that an input invokes, and the arguments after its
// name. An input that invokes no command is an ordinary input.
func command(w *workflow.Workflow, input string) (c workflow.Command, args string, ok bool) {
	a := Entry(w)
	called, isCall := strings.CutPrefix(strings.TrimSpace(input), "/")
	if a == nil || !isCall {
		return c, "", false
	}
	name, args, _ := strings.Cut(called, " ")
	if i := strings.IndexAny(name, "\n\t"); i >= 0 {
		name, args = called[:i], called[i+1:]
	}
	c, ok = a.Commands[name]
	return c, strings.TrimSpace(args), ok
}

var (
	// argPattern matches references to the arguments in a command's prompt; variable matches
	// references to the environment.
	argPattern = regexp.MustCompile(`\$\{args(?:\.join\(["']([^"']*)["']\)|\[([0-9])\])?\}|\$ARGUMENTS\b|\$([1-9])\b`)
	variable   = regexp.MustCompile(
		`\$\{(?:env\.)?([A-Za-z_][A-Za-z0-9_]*)(?:\s*\|\|\s*(?:'([^']*)'|"([^"]*)"))?\}|\$([A-Z_][A-Z0-9_]*)\b`)
	// secretName matches names of variables that are never sent to a model.
	secretName = regexp.MustCompile(
		`(?i)(^|_)(key|keys|apikey|token|tokens|secret|secrets|password|passwd|pwd|credential|credentials|auth)(_|$)|` +
			`_(pat|dsn)$`)
)

// variables returns the environment variables that a command's prompt reads, sorted.
func variables(c workflow.Command) []string {
	names := map[string]bool{}
	for _, m := range variable.FindAllStringSubmatch(argPattern.ReplaceAllString(c.Instruction, ""), -1) {
		names[m[1]+m[4]] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// expand returns the expanded prompt of a command, in a single pass: values from arguments or the
// environment are not expanded again. If the prompt has no placeholder for the arguments, they are
// appended.
func expand(c workflow.Command, args string, env func(string) string) string {
	words := strings.Fields(args)
	word := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	used := false
	both := regexp.MustCompile(argPattern.String() + "|" + variable.String())
	out := both.ReplaceAllStringFunc(c.Instruction, func(text string) string {
		if m := argPattern.FindStringSubmatch(text); m != nil && m[0] == text {
			used = true
			switch {
			case m[1] != "" || strings.Contains(text, ".join("):
				return strings.Join(words, m[1])
			case m[2] != "":
				return word(int(m[2][0] - '0'))
			case m[3] != "":
				return word(int(m[3][0] - '1'))
			}
			return args
		}
		m := variable.FindStringSubmatch(text)
		value := env(m[1] + m[4])
		if value == "" {
			value = m[2] + m[3]
		}
		return value
	})
	out = strings.TrimRight(out, " \r\n")
	if !used && args != "" {
		out += " " + args
	}
	return out
}

// Input returns the input of a run, and the environment variables that it reads. If it invokes a
// command of the entry agent, the input is that command's prompt.
//
// It returns an *InvalidError for a command that would send a secret to a model (SEC11).
func (c *Catalog) Input(w *workflow.Workflow, text string) (input string, sends []string, err error) {
	called, args, ok := command(w, text)
	if !ok {
		return text, nil, nil
	}
	for _, name := range variables(called) {
		if secretName.MatchString(name) {
			return "", nil, failure.Refuse(errcode.CommandSendsSecret, errcode.Fields{"variable": name}, nil)
		}
		sends = append(sends, name+" to the model")
	}
	return expand(called, args, c.cfg.Env), sends, nil
}
