package graph

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// reader scans the JSON text of one field. canon stays true as long as what was read equals what
// would be written.
type reader struct {
	b     []byte
	i     int
	canon bool
	text  string // b as a string, created on demand
}

// space skips whitespace, which is never written.
func (r *reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
			r.canon = false
		default:
			return
		}
	}
}

// end reports whether only whitespace is left.
func (r *reader) end() bool {
	r.space()
	return r.i == len(r.b)
}

// take skips c if it comes next, and reports whether it did.
func (r *reader) take(c byte) bool {
	r.space()
	if r.i < len(r.b) && r.b[r.i] == c {
		r.i++
		return true
	}
	return false
}

// skipLiteral skips a literal if it comes next, and reports whether it did.
func (r *reader) skipLiteral(s string) bool {
	r.space()
	if len(r.b)-r.i >= len(s) && string(r.b[r.i:r.i+len(s)]) == s {
		r.i += len(s)
		return true
	}
	return false
}

// null skips a null if it comes next, and reports whether it did. Values other than pointers, lists
// and maps are unchanged by null, and are written differently.
func (r *reader) null(written bool) bool {
	if !r.skipLiteral("null") {
		return false
	}
	r.canon = r.canon && written
	return true
}

// number returns the digits that come next, with the other characters of a number.
func (r *reader) number() []byte {
	r.space()
	from := r.i
	for ; r.i < len(r.b); r.i++ {
		if c := r.b[r.i]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
	}
	return r.b[from:r.i]
}

// integer returns the number that comes next if it is written as an integer.
func (r *reader) integer() (digits []byte, ok bool) {
	n := r.number()
	d := bytes.TrimPrefix(n, []byte("-"))
	for _, c := range d {
		if c < '0' || c > '9' {
			return nil, false
		}
	}
	if len(d) == 0 || len(d) > 1 && d[0] == '0' {
		return nil, false
	}
	if len(d) < len(n) && d[0] == '0' {
		r.canon = false
	}
	return n, true
}

// quoted returns the string that comes next. It returns false if there is none, or if it requires
// encoding/json.
func (r *reader) quoted() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	from, ascii := r.i, true
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == '"':
			raw := r.b[from:r.i]
			r.i++
			if !ascii && !r.runes(raw) {
				return "", false
			}
			return r.part(from, r.i-1), true
		case c == '\\':
			return r.escaped(from)
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// part returns a substring of b. The strings of a short field share its memory.
func (r *reader) part(from, to int) string {
	if len(r.b) > maxShared {
		return string(r.b[from:to])
	}
	if r.text == "" {
		r.text = string(r.b)
	}
	return r.text[from:to]
}

// runes reports whether a string with non-ASCII characters is valid.
func (r *reader) runes(raw []byte) bool {
	if bytes.Contains(raw, []byte("\u2028")) || bytes.Contains(raw, []byte("\u2029")) {
		r.canon = false // written as escapes
	}
	return utf8.Valid(raw)
}

// escaped returns a string that starts at from and has escapes.
func (r *reader) escaped(from int) (string, bool) {
	end := r.i
	for end < len(r.b) && r.b[end] != '"' {
		if r.b[end] == '\\' {
			end++
		}
		end++
	}
	var b strings.Builder
	b.Grow(max(0, end-from))
	for start := from; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == '"':
			b.Write(r.b[start:r.i])
			r.i++
			return b.String(), r.runes(r.b[from : r.i-1])
		case c == '\\':
			b.Write(r.b[start:r.i])
			if r.i++; r.i == len(r.b) {
				return "", false
			}
			switch c := r.b[r.i]; c {
			case '"', '\\':
				b.WriteByte(c)
			case '/':
				b.WriteByte(c)
				r.canon = false
			case 'b':
				b.WriteByte('\b')
			case 'f':
				b.WriteByte('\f')
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			default:
				return "", false
			}
			start = r.i + 1
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// count returns the number of values in the list whose bracket was just consumed, without
// advancing. It may be wrong if the text is not valid JSON.
func (r *reader) count() int {
	n, depth, empty := 1, 0, true
	for i := r.i; i < len(r.b); i++ {
		switch r.b[i] {
		case '"':
			empty = false
			for i++; i < len(r.b) && r.b[i] != '"'; i++ {
				if r.b[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			empty = false
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				if empty {
					return 0
				}
				return n
			}
		case ',':
			if depth == 0 {
				n++
			}
		case ' ', '\t', '\n', '\r':
		default:
			empty = false
		}
	}
	return n
}
