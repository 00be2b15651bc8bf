package cli

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/hocket-run/hocket/diag"
)

// palette colors text if color is enabled, and leaves it unchanged otherwise.
type palette struct{ on bool }

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) red(s string) string    { return p.paint("31", s) }
func (p palette) green(s string) string  { return p.paint("32", s) }
func (p palette) yellow(s string) string { return p.paint("33", s) }
func (p palette) blue(s string) string   { return p.paint("34", s) }
func (p palette) dim(s string) string    { return p.paint("2", s) }
func (p palette) bold(s string) string   { return p.paint("1", s) }

// diagnostic returns the line of a problem, with the document's own text made harmless.
func (p palette) diagnostic(d diag.Diagnostic) string {
	d.Message, d.Hint, d.Code = clean(d.Message), clean(d.Hint), clean(d.Code)
	d.Span.File = clean(d.Span.File)
	if !p.on {
		return d.String()
	}
	sev := string(d.Severity)
	switch d.Severity {
	case diag.Error:
		sev = p.red(sev)
	case diag.Warning:
		sev = p.yellow(sev)
	}
	s := fmt.Sprintf("%s: %s: %s %s", p.bold(d.Span.String()), sev, d.Message, p.dim("("+d.Code+")"))
	if d.Hint != "" {
		s += p.dim("; hint: " + d.Hint)
	}
	return s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalWidth() int {
	w, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return w
}
