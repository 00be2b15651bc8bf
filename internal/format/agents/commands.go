package agents

import (
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of problems with commands.
const (
	CodeBadCommand  = "bad-command"
	CodeUnsupported = "not-supported-yet"
	CodeBadSchema   = "bad-schema"
)

// Commands reads the value of a key `commands`: a map of names to prompts, or a list of such maps.
// A prompt is a string, or {description, instruction}. Problems are added to diags; a command
// without a prompt is left out.
func Commands(n *source.Node, diags *diag.List) map[string]workflow.Command {
	if n.IsNull() {
		return nil
	}
	out := map[string]workflow.Command{}
	maps := []*source.Node{n}
	if n.Kind == source.List {
		maps = n.Items
	}
	for _, m := range maps {
		if m.Kind != source.Map {
			diags.Errorf(m.Span, m.Path(), source.CodeWrongType, "commands must be a map of names to prompts, found %s",
				m.Kind)
			continue
		}
		for _, e := range m.Entries {
			if _, twice := out[e.Key]; twice {
				diags.Errorf(e.KeySpan, e.Value.Path(), CodeBadCommand, "duplicate command %q", e.Key)
				continue
			}
			if c, ok := command(e, diags); ok {
				out[e.Key] = c
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func command(e source.Entry, diags *diag.List) (workflow.Command, bool) {
	if e.Key == "" || strings.ContainsAny(e.Key, "/ \t\r\n") {
		diags.Errorf(e.KeySpan, e.Value.Path(), CodeBadCommand,
			"invalid command name %q: it is empty, or contains a space or a slash", e.Key)
		return workflow.Command{}, false
	}
	var c workflow.Command
	switch {
	case e.Value.Kind == source.Map:
		f := e.Value.Fields(diags)
		c = workflow.Command{Description: f.Str("description"), Instruction: f.Str("instruction")}
		f.Unknown(diag.Warning)
	case e.Value.IsScalar():
		c.Instruction = e.Value.Text
	default:
		diags.Errorf(e.Value.Span, e.Value.Path(), source.CodeWrongType,
			"a command must be a text, or a map with an instruction, found %s", e.Value.Kind)
		return c, false
	}
	if strings.TrimSpace(c.Instruction) == "" {
		diags.Errorf(e.Value.Span, e.Value.Path(), CodeBadCommand, "the command %q has no instruction", e.Key)
		return c, false
	}
	for _, text := range Unsupported(c.Instruction) {
		diags.Warnf(e.Value.Span, e.Value.Path(), CodeUnsupported, "the command %q: %s is not supported yet", e.Key,
			text).Hint = "it is sent to the model unchanged"
	}
	return c, true
}

var (
	// expression matches what docker-agent treats as JavaScript, and bang what it treats as a shell
	// command or a tool call.
	expression = regexp.MustCompile(`\$\{(?:[^{}]|\{[^{}]*\})*\}`)
	bang       = regexp.MustCompile("!`[^`]*`|![A-Za-z_][A-Za-z0-9_]*\\([^)]*\\)")
	// plain matches the expressions that are supported here: the text after the command's name, and
	// environment variables.
	plain = regexp.MustCompile(
		`^\$\{(args(\.join\(["'][^"']*["']\)|\[[0-9]\])?|[A-Za-z_][A-Za-z0-9_]*|env\.[A-Za-z_][A-Za-z0-9_]*(\s*\|\|` +
			`\s*('[^']*'|"[^"]*"))?)\}$`)
)

// maxShown is the maximum length of an expression in a message, in bytes.
const maxShown = 60

// Unsupported returns the parts of a command's prompt that docker-agent would run: calls of tools
// and of the shell. None of them is run.
func Unsupported(instruction string) []string {
	var out []string
	for _, re := range []*regexp.Regexp{expression, bang} {
		for _, text := range re.FindAllString(instruction, -1) {
			if plain.MatchString(text) {
				continue
			}
			if len(text) > maxShown {
				text = strings.ToValidUTF8(text[:maxShown], "") + "…"
			}
			out = append(out, text)
		}
	}
	return out
}
