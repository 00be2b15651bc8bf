package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// isJSON tells whether v is one JSON value and nothing else.
func isJSON(v []byte) bool {
	end := skipValue(v, 0, 0)
	return end >= 0 && skipSpace(v, end) == len(v)
}

// unquote gives the text of v where v is a JSON string and nothing else.
func unquote(v []byte) (string, bool) {
	if len(v) == 0 || v[0] != '"' || !utf8.Valid(v) {
		return "", false
	}
	s, end := readString(v, 0)
	return s, end == len(v)
}

// skipValue gives the place after the JSON value at i, white space before it included; -1 where there is none. It accepts what
// encoding/json accepts.
func skipValue(d []byte, i, depth int) int {
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
	return skipNumber(d, i)
}

func skipList(d []byte, i, depth int, end byte, keys bool) int {
	if depth == maxDepth {
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
		if i = skipValue(d, i, depth+1); i < 0 {
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

// skipString does not look whether the text is UTF-8.
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

func skipNumber(d []byte, i int) int {
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

// values is mapping for the fields of a state, behind the brace.
func (r *reader) values() map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if r.next('}') {
		return m
	}
	for r.err == nil {
		key := r.string()
		r.expect(`:`)
		if _, twice := m[key]; twice {
			r.fail(fmt.Sprintf("duplicate key %q", key))
			return m
		}
		if raw := r.raw(); r.err == nil {
			m[key] = bytes.Clone(raw)
		}
		if !r.next(',') {
			break
		}
	}
	r.expect(`}`)
	return m
}
