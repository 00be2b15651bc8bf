package secret

import (
	"html"
	"unicode/utf8"
)

// maxLevels is the maximum number of times that escapes are decoded: JSON in JSON in a URL takes
// three.
const maxLevels = 4

// maxEntity is the maximum length of an HTML character reference, including its `&`.
const maxEntity = 48

// view is a text after a number of escape decodings, with the position of each of its bytes in the
// original text.
type view struct {
	text       []byte
	start, end []int32 // nil for the original text
}

// at returns the range of the original text that corresponds to the bytes of v from start up to,
// but not including, end.
func (v *view) at(start, end int) (from, to int) {
	if v.start == nil {
		return start, end
	}
	return int(v.start[start]), int(v.end[end-1])
}

// from returns the position at which the rest of v from i begins in the original text, which has
// the given length.
func (v *view) from(i, length int) int {
	switch {
	case v.start == nil:
		return i
	case i >= len(v.text):
		return length
	}
	return int(v.start[i])
}

// unit returns the start, in the original text, of the unit of v that contains place: cutting the
// text there does not change how it is decoded.
func (v *view) unit(place int) int {
	if v.start == nil {
		return place
	}
	lo, hi := 0, len(v.start)
	for lo < hi {
		if mid := (lo + hi) / 2; int(v.start[mid]) <= place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || int(v.end[lo-1]) <= place { // it starts a unit, or is after the last one
		return place
	}
	return int(v.start[lo-1])
}

// decoded decodes the escapes of a view once: those of JSON, of Go, C, Java, JavaScript, Python,
// Perl and shells, percent encoding, and HTML references. more means that something was decoded.
// Unless end is set, an incomplete escape is left out, and cut is its start in the view; cut is len
// if none is left out.
func (v *view) decoded(end bool) (next view, more bool, cut int) {
	src := v.text
	first := 0
	for first < len(src) && src[first] != '\\' && src[first] != '%' && src[first] != '&' {
		first++
	}
	if first == len(src) {
		return view{}, false, len(src)
	}
	next.text = make([]byte, 0, len(src))
	next.start, next.end = make([]int32, 0, len(src)), make([]int32, 0, len(src))
	var room [utf8.UTFMax * 2]byte
	for i := 0; i < len(src); {
		n := 1
		out := append(room[:0], src[i])
		if i >= first {
			switch src[i] {
			case '\\':
				out, n = backslash(room[:0], src[i:])
			case '%':
				out, n = percent(room[:0], src[i:])
			case '&':
				out, n = entity(room[:0], src[i:])
			}
			if n == 0 && !end {
				return next, more, i
			}
			if n == 0 {
				out, n = append(room[:0], src[i]), 1
			}
		}
		more = more || n > 1
		from, to := v.at(i, i+n)
		for _, c := range out {
			next.text = append(next.text, c)
			next.start, next.end = append(next.start, int32(from)), append(next.end, int32(to))
		}
		i += n
	}
	return next, more, len(src)
}

// Each of the following functions decodes the escape at the start of src into out and returns its
// length: 1 if it is not an escape, 0 if it may be an incomplete one.

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
