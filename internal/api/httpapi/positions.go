package httpapi

import (
	"sort"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
)

// Place is a position in a document in UTF-16 code units, as editors count.
type Place struct {
	Line   int `json:"line" doc:"From 1; lines end with LF, CR LF or CR"`
	Column int `json:"column" doc:"From 1, in UTF-16 code units; a byte order mark counts"`
	Offset int `json:"offset" doc:"UTF-16 code units from the beginning of the text, from 0"`
}

// Range is a part of a document. If only its start is known, its end is the same position.
type Range struct {
	Start Place `json:"start"`
	End   Place `json:"end" doc:"The first place behind it"`
}

// stride is the distance in bytes between the offsets for which places stores the number of code
// units before them.
const stride = 512

// places converts byte offsets in a document to positions in UTF-16 code units. A lookup costs no
// more in a document with one long line. It is immutable.
type places struct {
	text  string
	lines []int // byte offsets of line starts
	units []int // units[i] is the number of code units of the characters that start before byte i*stride
}

func placesOf(text string) *places {
	p := &places{text: text, lines: []int{0}}
	units := 0
	for i := range len(text) {
		if i%stride == 0 {
			p.units = append(p.units, units)
		}
		b := text[i]
		units += unitsOf(b)
		if b == '\n' || b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			p.lines = append(p.lines, i+1)
		}
	}
	p.units = append(p.units, units)
	return p
}

// unitsOf returns the number of code units of the character that starts with b, or 0 for a
// continuation byte.
func unitsOf(b byte) int {
	switch {
	case !utf8.RuneStart(b):
		return 0
	case b >= 0xf0: // four bytes: outside the Basic Multilingual Plane
		return 2
	}
	return 1
}

// before counts the code units of the characters that start before the byte offset at.
func (p *places) before(at int) int {
	n := p.units[at/stride]
	for i := at / stride * stride; i < at; i++ {
		n += unitsOf(p.text[i])
	}
	return n
}

// place returns the position of the byte offset at.
func (p *places) place(at int) Place {
	at = min(max(at, 0), len(p.text))
	line := sort.SearchInts(p.lines, at+1) - 1
	offset := p.before(at)
	return Place{Line: line + 1, Column: offset - p.before(p.lines[line]) + 1, Offset: offset}
}

// byteOf returns the byte offset of a position; if the position has no offset, it is counted from
// the start of its line.
func (p *places) byteOf(pos diag.Pos) int {
	if pos.Offset > 0 || pos.Line <= 1 && pos.Column <= 1 {
		return min(pos.Offset, len(p.text))
	}
	at, end := p.lines[min(pos.Line, len(p.lines))-1], len(p.text)
	for n := 1; n < pos.Column && at < end && p.text[at] != '\n' && p.text[at] != '\r'; n++ {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		at += size
	}
	return at
}

// span returns the range of a span in the document named file, or nil if the span is unknown or
// belongs to another document.
func (p *places) span(s diag.Span, file string) *Range {
	if !s.Start.IsKnown() || s.File != file {
		return nil
	}
	r := &Range{Start: p.place(p.byteOf(s.Start))}
	if r.End = r.Start; s.End.IsKnown() {
		if end := p.place(p.byteOf(s.End)); end.Offset > r.Start.Offset {
			r.End = end
		}
	}
	return r
}
