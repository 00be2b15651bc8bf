package hooks

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// piece is a part of a text on a page: shown unchanged, or as escapes because it is invisible, or
// would change the text around it (SEC12, SEC15).
type piece struct {
	Text    string
	Escaped bool
}

// fillers is the set of letters that are invisible.
var fillers = &unicode.RangeTable{R16: []unicode.Range16{
	{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1},
	{0x3164, 0x3164, 1},
	{0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1}, {0xfff9, 0xfffc, 1},
}, R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}}}

// isHidden reports whether a rune is written as an escape, as are controls, formats, fillers and
// spaces other than U+0020. Line breaks and tabs are not.
func isHidden(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Co, fillers)
}

// pieces splits a text into parts that are shown unchanged and parts that are escaped. Together
// they represent the complete text.
func pieces(text string) []piece {
	var (
		out []piece
		b   strings.Builder
		esc bool
	)
	flush := func(next bool) {
		if next != esc && b.Len() > 0 {
			out = append(out, piece{b.String(), esc})
			b.Reset()
		}
		esc = next
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			flush(true)
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isHidden(r):
			flush(true)
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			flush(false)
			b.WriteRune(r)
		}
		i += size
	}
	if b.Len() > 0 {
		out = append(out, piece{b.String(), esc})
	}
	return out
}
