package source

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
)

// stride is the distance between the offsets for which a file remembers the number of preceding
// runes, so that a column is found in constant time even if a document is a single line of several
// megabytes.
const stride = 256

// file finds lines and columns in a text. It is immutable.
type file struct {
	name  string
	data  []byte
	bom   int   // length of the byte order mark
	lines []int // offsets of line starts; lines end with \n, \r\n or \r
	runes []int // runes[i] is the number of runes that start before i*stride
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func newFile(name string, data []byte) *file {
	f := &file{name: name, data: data}
	if bytes.HasPrefix(data, byteOrderMark) {
		f.bom = len(byteOrderMark)
	}
	f.lines = append(f.lines, f.bom)
	n := 0
	for i, b := range data {
		if i%stride == 0 {
			f.runes = append(f.runes, n)
		}
		if utf8.RuneStart(b) {
			n++
		}
		if b == '\n' || b == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			f.lines = append(f.lines, i+1)
		}
	}
	f.runes = append(f.runes, n)
	return f
}

// NotUTF8 returns the position of the first byte that is not UTF-8, or false if there is none.
func NotUTF8(data []byte) (at diag.Pos, found bool) {
	offset, found := notUTF8(data)
	if !found {
		return diag.Pos{}, false
	}
	return newFile("", data).pos(offset), true
}

// notUTF8 returns the offset of the first byte that is not UTF-8.
func notUTF8(data []byte) (offset int, found bool) {
	if utf8.Valid(data) {
		return 0, false
	}
	for {
		r, size := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && size <= 1 {
			return offset, true
		}
		offset += size
	}
}

// text returns the file without its byte order mark. Offsets into it are smaller by bom.
func (f *file) text() []byte { return f.data[f.bom:] }

// runesBefore returns the number of runes that start before an offset.
func (f *file) runesBefore(offset int) int {
	i := offset / stride
	n := f.runes[i]
	for _, b := range f.data[i*stride : offset] {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}

// offsetOfRune is the inverse of runesBefore: it returns the start of rune n, or the end of the
// file if there are fewer runes.
func (f *file) offsetOfRune(n int) int {
	i := sort.SearchInts(f.runes, n+1) - 1 // the last point with at most n runes before it
	have := f.runes[i]
	for j := i * stride; j < len(f.data); j++ {
		if !utf8.RuneStart(f.data[j]) {
			continue
		}
		if have == n {
			return j
		}
		have++
	}
	return len(f.data)
}

// pos returns the position of an offset.
func (f *file) pos(offset int) diag.Pos {
	offset = min(max(offset, f.bom), len(f.data))
	line := sort.SearchInts(f.lines, offset+1) - 1
	return diag.Pos{Line: line + 1, Column: f.runesBefore(offset) - f.runesBefore(f.lines[line]) + 1, Offset: offset}
}

// span returns the range from start to end, without an end if it is not after start.
func (f *file) span(start, end int) diag.Span {
	s := diag.Span{File: f.name, Start: f.pos(start)}
	if end > start {
		s.End = f.pos(end)
	}
	return s
}
