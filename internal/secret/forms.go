package secret

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minLine is the minimum length at which a line of a multi-line value is a separate secret.
const minLine = 16

// parts returns a value and its long lines.
func parts(value string) []string {
	out := []string{value}
	lines := strings.Split(value, "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) > 1 && len(line) >= minLine && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// forms returns the forms of a part in a decoded text: unchanged, and with its own escapes decoded
// along with the text's; a space may be a plus sign.
func forms(part string) []string {
	out := []string{part, strings.ReplaceAll(part, " ", "+"), latin1(part), utf16Text(part), quotedPrintable(part)}
	for range maxLevels {
		next := unescaped(part)
		if next == part {
			break
		}
		part = next
		out = append(out, part)
	}
	return slices.DeleteFunc(out, func(form string) bool { return len(form) < MinLen })
}

// unescaped returns a text with its escapes decoded.
func unescaped(text string) string {
	var out []byte
	for src := append([]byte(text), 0xff); len(src) > 1; { // no escape continues with this byte
		var n int
		out, n = unescape(out, src)
		src = src[n:]
	}
	return string(out)
}

// latin1 returns a text with one byte for each Latin-1 character, which is what \xe4 and %E4 mean
// if they represent characters.
func latin1(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= utf8.RuneSelf && r <= 0xff {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// utf16Text returns a text in little-endian UTF-16, which PowerShell encodes further.
func utf16Text(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// quotedPrintable returns a text in the quoted-printable encoding of mail, on one line.
func quotedPrintable(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c == '=' || c >= utf8.RuneSelf || c < ' ' && c != '\t' {
			fmt.Fprintf(&b, "=%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// patternsOf returns the strings searched for, each with its marker.
func patternsOf(values map[string]string) map[string]string {
	out := map[string]string{}
	for value, name := range values {
		mark := marker(name)
		for _, part := range parts(value) {
			for _, form := range forms(part) {
				if was, ok := out[form]; !ok || mark < was {
					out[form] = mark
				}
			}
		}
	}
	return out
}
