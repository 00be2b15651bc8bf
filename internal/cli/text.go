package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// isUnsafe reports whether a rune changes how a terminal shows the text around it: control
// characters, and characters that change the text direction or break lines without a line break.
// Model output and text of tools and documents are shown without such runes, so that a person reads
// what is actually there.
func isUnsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x200e, r == 0x200f, r == 0x061c, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x2028, r == 0x2029, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// clean makes external text safe for one line of a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == 0x2028 || r == 0x2029:
			return ' '
		case isUnsafe(r):
			return -1
		}
		return r
	}, s)
}

// printable makes external text safe for a terminal and keeps its line breaks and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == 0x2028 || r == 0x2029:
			return '\n'
		case isUnsafe(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// columns returns the width of a line on a terminal.
func columns(s string) int { return runewidth.StringWidth(s) }

// short truncates text to at most n columns.
func short(s string, n int) string {
	if n < 1 {
		return ""
	}
	return runewidth.Truncate(s, n, "…")
}

// lastColumns returns the last n columns of text, starting with an ellipsis if text is longer.
func lastColumns(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	room, at := n-1, len(s)
	for at > 0 {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		if columns(s[at-size:]) > room {
			break
		}
		at -= size
	}
	return "…" + s[at:]
}

// quote quotes an argument for a shell. An argument that could corrupt a terminal is escaped, so
// that what is shown is what is meant.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:@%+=,", r)
	}
	switch {
	case strings.ContainsFunc(arg, isUnsafe) || !utf8.ValidString(arg):
		q := strconv.Quote(arg)
		return "$'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
	case arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }):
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// quoteAll returns a command as it would be typed.
func quoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quote(a)
	}
	return strings.Join(words, " ")
}

// duration formats a duration for people.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(0, d.Milliseconds()))
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// ago formats the time elapsed since t.
func ago(t, now time.Time) string {
	switch d := max(0, now.Sub(t)); {
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

// pluralize returns a number with its noun, which gets an s unless the number is one.
func pluralize[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return pluralize(n, "byte")
}

// wrapped breaks a text between words, so that on a terminal its lines fit next to the before
// columns to their left; elsewhere it returns one line.
func (a *app) wrapped(text string, before int) []string {
	width := 0
	if a.OutTerminal && a.Width != nil {
		width = a.Width() - before
	}
	if width < leastWrapped {
		return []string{text}
	}
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if n := len(lines); n > 0 && columns(lines[n-1])+1+columns(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// leastWrapped is the minimum width for wrapping, below which lines would hold only a word or two.
const leastWrapped = 30

// printTable prints one line per item, in columns under header, which is empty or has tabs between
// columns. If there are no items, it prints none on standard error, unless none is empty or the
// command is quiet. Cells are passed through clean.
func printTable[T any](a *app, items []T, none, header string, row func(T) []string) error {
	if len(items) == 0 {
		if none != "" && !a.quiet {
			fmt.Fprintln(a.Err, none)
		}
		return nil
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(t, header)
	}
	for _, item := range items {
		cells := row(item)
		for i := range cells {
			cells[i] = clean(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	return nil
}
