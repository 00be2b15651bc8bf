package jsontext

import (
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of a value; encoding/json has the same limit.
const MaxDepth = 10000

// Valid reports whether v is exactly one JSON value.
func Valid(v []byte) bool {
	end := skip(v, 0, 0)
	return end >= 0 && skipSpace(v, end) == len(v)
}

// Unquote returns the string that v holds. It reports whether v is exactly one JSON string.
func Unquote(v []byte) (string, bool) {
	if len(v) == 0 || v[0] != '"' || !utf8.Valid(v) {
		return "", false
	}
	s, end := ReadString(v, 0)
	return s, end == len(v)
}

// Skip returns the index after the JSON value at i, including preceding white space, or -1 if there
// is none. It accepts what encoding/json accepts.
func Skip(d []byte, i int) int { return skip(d, i, 0) }

func skip(d []byte, i, depth int) int {
	i = skipSpace(d, i)
	if i >= len(d) {
		return -1
	}
	switch d[i] {
	case '{':
		return skipList(d, i, depth, '}', true)
	case '[':
		return skipList(d, i, depth, ']', false)
	case '"':
		return skipString(d, i)
	case 't':
		return skipWord(d, i, "true")
	case 'f':
		return skipWord(d, i, "false")
	case 'n':
		return skipWord(d, i, "null")
	}
	return SkipNumber(d, i)
}

func skipList(d []byte, i, depth int, end byte, keys bool) int {
	if depth == MaxDepth {
		return -1
	}
	i = skipSpace(d, i+1)
	if i < len(d) && d[i] == end {
		return i + 1
	}
	for {
		if keys {
			i = skipSpace(d, i)
			if i >= len(d) || d[i] != '"' {
				return -1
			}
			if i = skipString(d, i); i < 0 {
				return -1
			}
			if i = skipSpace(d, i); i >= len(d) || d[i] != ':' {
				return -1
			}
			i++
		}
		if i = skip(d, i, depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(d, i); i >= len(d) {
			return -1
		}
		switch d[i] {
		case end:
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func skipSpace(d []byte, i int) int {
	for i < len(d) && (d[i] == ' ' || d[i] == '\t' || d[i] == '\n' || d[i] == '\r') {
		i++
	}
	return i
}

func skipWord(d []byte, i int, word string) int {
	if len(d)-i < len(word) || string(d[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// skipString returns the index after the JSON string at i, or -1 if there is none. It does not
// check that the string is UTF-8.
func skipString(d []byte, i int) int {
	for i++; i < len(d); i++ {
		switch c := d[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			continue
		}
		i++
		if i >= len(d) {
			return -1
		}
		switch d[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if hex4(d, i+1) < 0 {
				return -1
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

// SkipNumber returns the index after the number at i, or -1 if there is none.
func SkipNumber(d []byte, i int) int {
	if i < len(d) && d[i] == '-' {
		i++
	}
	switch {
	case i >= len(d):
		return -1
	case d[i] == '0':
		i++
	case '1' <= d[i] && d[i] <= '9':
		i = skipDigits(d, i)
	default:
		return -1
	}
	if i < len(d) && d[i] == '.' {
		n := skipDigits(d, i+1)
		if n == i+1 {
			return -1
		}
		i = n
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		n := skipDigits(d, i)
		if n == i {
			return -1
		}
		i = n
	}
	return i
}

func skipDigits(d []byte, i int) int {
	for i < len(d) && '0' <= d[i] && d[i] <= '9' {
		i++
	}
	return i
}

// ReadString returns the content of the JSON string at i and the index after it, or -1 if there is
// no JSON string that is valid UTF-8.
func ReadString(d []byte, i int) (string, int) {
	if i >= len(d) || d[i] != '"' {
		return "", -1
	}
	i++
	start, ascii := i, true
	for ; i < len(d) && d[i] != '"' && d[i] != '\\'; i++ {
		if d[i] < ' ' {
			return "", -1
		}
		ascii = ascii && d[i] < utf8.RuneSelf
	}
	if i >= len(d) {
		return "", -1
	}
	if d[i] == '"' {
		if !ascii && !utf8.Valid(d[start:i]) {
			return "", -1
		}
		return string(d[start:i]), i + 1
	}
	buf := append(make([]byte, 0, 2*(i-start)+16), d[start:i]...)
	for i < len(d) && d[i] != '"' {
		switch c := d[i]; {
		case c < ' ':
			return "", -1
		case c != '\\':
			buf = append(buf, c)
			i++
		default:
			if buf, i = appendEscape(buf, d, i); i < 0 {
				return "", -1
			}
		}
	}
	if i >= len(d) || !utf8.Valid(buf) {
		return "", -1
	}
	return string(buf), i + 1
}

// appendEscape appends the character that the escape at i stands for and returns the index after
// it, or -1 if the escape is invalid.
func appendEscape(b, d []byte, i int) ([]byte, int) {
	if i+1 >= len(d) {
		return b, -1
	}
	switch c := d[i+1]; c {
	case '"', '\\', '/':
		return append(b, c), i + 2
	case 'n':
		return append(b, '\n'), i + 2
	case 'r':
		return append(b, '\r'), i + 2
	case 't':
		return append(b, '\t'), i + 2
	case 'b':
		return append(b, '\b'), i + 2
	case 'f':
		return append(b, '\f'), i + 2
	case 'u':
		r := hex4(d, i+2)
		i += 6
		if utf16.IsSurrogate(r) {
			if i+1 >= len(d) || d[i] != '\\' || d[i+1] != 'u' {
				return b, -1
			}
			if r = utf16.DecodeRune(r, hex4(d, i+2)); r == utf8.RuneError {
				return b, -1
			}
			i += 6
		}
		if r < 0 {
			return b, -1
		}
		return utf8.AppendRune(b, r), i
	}
	return b, -1
}

// hex4 reads four hexadecimal digits at i. It returns -1 if there are none.
func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	var r rune
	for _, c := range d[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

// Items returns the values of a JSON list, which share its bytes. It reports false if v is not
// exactly one list.
func Items(v []byte) ([]json.RawMessage, bool) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '[' || !Valid(v) {
		return nil, false
	}
	items := []json.RawMessage{}
	for i = skipSpace(v, i+1); v[i] != ']'; {
		end := Skip(v, i)
		items = append(items, v[i:end:end])
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return items, true
}
