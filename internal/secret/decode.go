package secret

import (
	"html"
	"unicode/utf8"
)

// maxEntity is the maximum length of an HTML character reference, including its `&`.
const maxEntity = 48

// maxEscape is the maximum number of bytes that an escape stands for.
const maxEscape = 2 * utf8.UTFMax

// unescape decodes the escape at the start of src into out: one of JSON, of Go, C, Java,
// JavaScript, Python, Perl and shells, percent encoding, or an HTML reference. It returns the
// length of the escape: 1 if there is none, when out is the first byte; 0 if it may be an
// incomplete one.
func unescape(out, src []byte) ([]byte, int) {
	switch src[0] {
	case '\\':
		return backslash(out, src)
	case '%':
		return percent(out, src)
	case '&':
		return entity(out, src)
	}
	return append(out, src[0]), 1
}

// Each of the following functions does this for one kind of escape.

func backslash(out, src []byte) ([]byte, int) {
	if len(src) == 1 {
		return nil, 0
	}
	switch c := src[1]; c {
	case 'u':
		return unicode16(out, src)
	case 'U':
		return number(out, src, 2, 8, true)
	case 'x':
		return number(out, src, 2, 2, false)
	case 'n', 't', 'r', 'b', 'f', 'v', 'a', 'e':
		return append(out, "\n\t\r\b\f\v\a\x1b"[indexOf("ntrbfvae", c)]), 2
	case '\n':
		return out, 2 // line continuation
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return octal(out, src)
	default:
		if c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return append(out, '\\'), 1
		}
		return append(out, c), 2
	}
}

func indexOf(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return 0
}

// unicode16 decodes \uXXXX, two of them for a surrogate pair, and \u{X}.
func unicode16(out, src []byte) ([]byte, int) {
	high, n := number(nil, src, 2, 4, true)
	if n <= 1 || len(src) > 2 && src[2] == '{' {
		return escaped(out, high, n, src)
	}
	r := hexValue(src[2:6])
	if r < 0xd800 || r >= 0xdc00 {
		return append(out, high...), n
	}
	rest := src[6:]
	if len(rest) < 6 {
		if whole := `\u`; len(rest) < 2 && string(rest) == whole[:len(rest)] || len(rest) >= 2 &&
			string(rest[:2]) == whole {
			return nil, 0
		}
		return utf8.AppendRune(out, utf8.RuneError), n
	}
	if low := hexValue(rest[2:6]); string(rest[:2]) == `\u` && low >= 0xdc00 && low < 0xe000 {
		return utf8.AppendRune(out, (r-0xd800)<<10+(low-0xdc00)+0x10000), 12
	}
	return utf8.AppendRune(out, utf8.RuneError), n
}

// escaped appends the decoded bytes made to out, or only the escape sign if nothing was decoded (n
// is 1).
func escaped(out, made []byte, n int, src []byte) ([]byte, int) {
	if n == 1 {
		return append(out, src[0]), 1
	}
	return append(out, made...), n
}

// number reads hexadecimal digits from the byte at from: exactly digits of them, or up to 8 in
// braces. isRune means that they encode a character, not a byte.
func number(out, src []byte, from, digits int, isRune bool) ([]byte, int) {
	braces := len(src) > from && src[from] == '{'
	if braces {
		from, digits = from+1, 8
	}
	value, i := rune(0), from
	for ; i < len(src) && i-from < digits; i++ {
		d := digit(src[i])
		if d < 0 {
			break
		}
		value = value<<4 | rune(d)
	}
	switch {
	case i == len(src) && (braces || i-from < digits):
		return nil, 0
	case braces && (i == from || src[i] != '}'), !braces && i-from < digits:
		return append(out, src[0]), 1
	}
	if braces {
		i++
	}
	if isRune || braces {
		return utf8.AppendRune(out, value), i
	}
	return append(out, byte(value)), i
}

// octal decodes a backslash with up to three digits.
func octal(out, src []byte) ([]byte, int) {
	value, i := 0, 1
	for ; i < len(src) && i < 4 && src[i] >= '0' && src[i] <= '7'; i++ {
		value = value<<3 | int(src[i]-'0')
	}
	if i == len(src) && i < 4 {
		return nil, 0
	}
	return append(out, byte(value)), i // no encoder writes values above a byte
}

// percent decodes %XX, and %uXXXX of JavaScript's escape.
func percent(out, src []byte) ([]byte, int) {
	if len(src) == 1 {
		return nil, 0
	}
	if src[1] == 'u' {
		return number(out, src, 2, 4, true)
	}
	return number(out, src, 1, 2, false)
}

// entity decodes an HTML reference by name, decimal or hexadecimal.
func entity(out, src []byte) ([]byte, int) {
	for i := 1; i < len(src) && i < maxEntity; i++ {
		switch c := src[i]; {
		case c == ';':
			if text := html.UnescapeString(string(src[:i+1])); len(text) < i+1 && text[0] != '&' ||
				string(src[:i+1]) == "&amp;" || text == "&" {
				return append(out, text...), i + 1
			}
			return append(out, '&'), 1
		case c == '#' && i == 1, digit(c) >= 0, c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default: // numbers need no semicolon
			if i > 2 && src[1] == '#' {
				if text := html.UnescapeString(string(src[:i])); text != string(src[:i]) {
					return append(out, text...), i
				}
			}
			return append(out, '&'), 1
		}
	}
	if len(src) < maxEntity {
		return nil, 0
	}
	return append(out, '&'), 1
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func hexValue(digits []byte) rune {
	r := rune(0)
	for _, c := range digits {
		d := digit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}
