package adapter

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// escaping is how the content of a JSON string is written, byte by byte: as encoding/json does it,
// with or without SetEscapeHTML.
type escaping struct {
	// size is the length of each byte in JSON, and code its encoding, first byte lowest. Non-ASCII
	// bytes are copied unchanged.
	size [256]uint8
	code [256]uint64
	masks
}

// masks find the bytes that need escaping, eight bytes at a time. Bytes that differ in one bit,
// which quote and less mask out, are found together: quote and ampersand, less and greater.
type masks struct{ quote, less, angle uint64 }

var (
	plain = newEscaping(false, masks{^uint64(0), ^uint64(0), ones * '\\'}) // without HTML, angle repeats the backslash
	html  = newEscaping(true, masks{^uint64(ones * ('"' ^ '&')), ^uint64(ones * ('<' ^ '>')), ones * '<'})
)

func newEscaping(forHTML bool, m masks) *escaping {
	e := &escaping{masks: m}
	for i := range e.size {
		b := byte(i)
		written := []byte{b}
		switch short := strings.IndexByte("\"\\\b\f\n\r\t", b); {
		case short >= 0:
			written = []byte{'\\', `"\bfnrt`[short]}
		case b < ' ', forHTML && (b == '<' || b == '>' || b == '&'):
			written = []byte{'\\', 'u', '0', '0', hex[b>>4], hex[b&0xF]}
		}
		e.size[b] = uint8(len(written))
		for i, c := range written {
			e.code[b] |= uint64(c) << (8 * i)
		}
	}
	return e
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of x that need escaping in their highest bit. Only the lowest mark, and
// the absence of marks, is reliable.
func (m masks) special(x uint64) uint64 {
	quote, less, back := x&m.quote^ones*'"', x&m.less^m.angle, x^ones*'\\'
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (less-ones)&^less | (back-ones)&^back) & highs
}

// load returns eight bytes of s starting at i.
func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 |
		uint64(b[6])<<48 | uint64(b[7])<<56
}

// length returns the length of s in JSON, without quotes. direct reports whether s can be written
// byte by byte. If not, it contains bytes that are not UTF-8, or Unicode line separators.
func (e *escaping) length(s string) (n int, direct bool) {
	n = len(s)
	var seen uint64
	i, m := 0, e.masks
	for ; i+8 <= len(s); i += 8 {
		x := load(s, i)
		seen |= x
		if m.special(x) != 0 {
			for _, b := range []byte(s[i : i+8]) {
				n += int(e.size[b]) - 1
			}
		}
	}
	for ; i < len(s); i++ {
		seen |= uint64(s[i])
		n += int(e.size[s[i]]) - 1
	}
	if seen&highs == 0 {
		return n, true
	}
	return n, utf8.ValidString(s) && !strings.Contains(s, "\u2028") && !strings.Contains(s, "\u2029")
}

const hex = "0123456789abcdef"

// slack is the room that write leaves at the end of dst if more of s is to come.
const slack = 16

// write writes as much of s as fits into dst and returns the number of bytes read and written. s
// must be direct according to length; dst must be longer than slack.
func (e *escaping) write(dst []byte, s string) (read, wrote int) {
	m, to, from := e.masks, dst, s
	for len(to) >= slack && len(from) >= 8 {
		x := load(from, 0)
		binary.LittleEndian.PutUint64(to, x)
		found := m.special(x)
		if found == 0 {
			to, from = to[8:], from[8:]
			continue
		}
		k := bits.TrailingZeros64(found) / 8 & 7
		b := from[k]
		binary.LittleEndian.PutUint64(to[k:], e.code[b])
		to, from = to[k+int(e.size[b]):], from[k+1:]
	}
	for len(to) >= slack && from != "" {
		b := from[0]
		binary.LittleEndian.PutUint64(to, e.code[b])
		to, from = to[e.size[b]:], from[1:]
	}
	return len(s) - len(from), len(dst) - len(to)
}

// append appends s to dst in its JSON form, without quotes, whatever it contains.
func (e *escaping) append(dst []byte, s string) []byte {
	var room [8]byte
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			binary.LittleEndian.PutUint64(room[:], e.code[b])
			dst = append(dst, room[:e.size[b]]...)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '\u2028', r == '\u2029':
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&0xF])
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst
}
