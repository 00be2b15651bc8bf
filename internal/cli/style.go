package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/hocket-run/hocket/diag"
)

// palette colours text where colour is wanted and leaves it alone elsewhere.
type palette struct{ on bool }

func newPalette(on bool) palette { return palette{on} }

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

func (p palette) diagnostic(d diag.Diagnostic) string {
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

// clean makes text from outside safe for a terminal line: no control characters, no line ends.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return -1
		}
		return r
	}, s)
}

// short cuts text to n columns.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 2 {
		return ""
	}
	return string(r[:n-1]) + "…"
}

// duration words a time for people.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// ago words how long ago a time is.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}
