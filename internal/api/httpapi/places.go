package httpapi

import (
	"sort"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
)

// Place is a position in a document as editors count: in UTF-16 code units.
type Place struct {
	Line   int `json:"line" doc:"From 1; lines end with LF, CR LF or CR"`
	Column int `json:"column" doc:"From 1, in UTF-16 code units; a byte order mark counts"`
	Offset int `json:"offset" doc:"UTF-16 code units from the beginning of the text, from 0"`
}

// Range is a stretch of a document. Where only its beginning is known, its end is the same place.
type Range struct {
	Start Place `json:"start"`
	End   Place `json:"end" doc:"The first place behind it"`
}

// stride is the distance of the bytes at which places knows how many code units are before.
const stride = 512

// places tells where bytes of a text are, in UTF-16 code units. A place costs no more in a document of one long line. It is immutable.
type places struct {
	text  string
	lines []int // bytes at which lines begin
	units []int // units[i] is the number of code units of the characters that begin before byte i*stride
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

// unitsOf gives the code units of the character that begins with a byte, 0 for the bytes inside of one.
func unitsOf(b byte) int {
	switch {
	case !utf8.RuneStart(b):
		return 0
	case b >= 0xf0: // four bytes: beyond the first 65,536 characters
		return 2
	}
	return 1
}

// before counts the code units of the characters that begin before a byte.
func (p *places) before(at int) int {
	n := p.units[at/stride]
	for i := at / stride * stride; i < at; i++ {
		n += unitsOf(p.text[i])
	}
	return n
}

// place gives the place of a byte.
func (p *places) place(at int) Place {
	at = min(max(at, 0), len(p.text))
	line := sort.SearchInts(p.lines, at+1) - 1
	offset := p.before(at)
	return Place{Line: line + 1, Column: offset - p.before(p.lines[line]) + 1, Offset: offset}
}

// byteOf gives the byte of a position; those that say no offset are counted from the beginning of their line.
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

// span gives the stretch of a span of the document with this name; nil: it is not known, or of another document.
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
