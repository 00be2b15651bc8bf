package show

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the maximum length of a label in runes, so that no document can make a picture that
// viewers cannot open.
const maxText = 160

// clean converts any string to one line of safe text: white space becomes one space; control
// characters, and the invisible ones that reorder or hide text, become `\u{…}`; invalid UTF-8
// becomes `�`; text that is too long is cut with `…`.
func clean(s string) string {
	var b strings.Builder
	count, blank := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = count > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			count++
			blank = false
		}
		if count >= maxText {
			return b.String() + "…"
		}
		switch {
		case r == utf8.RuneError || unicode.IsGraphic(r) && !isInvisible(r):
			b.WriteRune(r)
			count++
		default:
			n, _ := fmt.Fprintf(&b, `\u{%x}`, r)
			count += n
		}
	}
	return b.String()
}

// isInvisible reports whether a graphic character is invisible.
func isInvisible(r rune) bool { return r == '\u2800' || r == '\u3164' || r == '\uffa0' }

// wrap breaks text into lines of at most width runes, at spaces if possible and otherwise within
// words; lines beyond the limit are cut with `…`.
func wrap(text string, width, lines int) []string {
	var out []string
	line, length := "", 0
	for word := range strings.FieldsSeq(text) {
		for _, part := range splitWord(word, width) {
			n := utf8.RuneCountInString(part)
			switch {
			case length == 0:
				line, length = part, n
			case length+1+n <= width:
				line, length = line+" "+part, length+1+n
			default:
				out = append(out, line)
				line, length = part, n
			}
		}
	}
	if length > 0 || len(out) == 0 {
		out = append(out, line)
	}
	if len(out) > lines {
		out = out[:lines]
		out[lines-1] += "…"
	}
	return out
}

// splitWord cuts a word into parts of at most width runes.
func splitWord(word string, width int) []string {
	runes := []rune(word)
	var out []string
	for len(runes) > width {
		out = append(out, string(runes[:width]))
		runes = runes[width:]
	}
	return append(out, string(runes))
}
