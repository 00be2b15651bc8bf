package adapter

import (
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/text"
)

// minShared is the minimum length of a string that is shared with its creator. Shorter strings are
// copied into the surrounding JSON.
const minShared = 512

// part is a section of JSON: s verbatim, or the content between the quotes of the JSON string s.
type part struct {
	s string
	// size is the length in JSON. It differs from len(s) if s must be escaped.
	size int
}

// Parts is append-only JSON, stored as a list of parts. Long strings in it are not copied: they are
// escaped each time that they are sent. Added parts never change, so the JSON so far can be read
// while more is added. Otherwise it is not safe for concurrent use.
type Parts struct {
	esc  *escaping
	list []part
	size int64
	tail []byte // JSON after the last part
	err  error
}

// NewParts returns empty Parts. escapeHTML has the meaning of SetEscapeHTML in encoding/json.
func NewParts(escapeHTML bool) *Parts {
	if escapeHTML {
		return &Parts{esc: html}
	}
	return &Parts{esc: plain}
}

// Raw adds JSON verbatim.
func (p *Parts) Raw(s string) { p.tail = append(p.tail, s...) }

// JSON adds a value as encoding/json writes it, without white space. If the value cannot be
// encoded, the request fails.
func (p *Parts) JSON(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		p.err = err
		return
	}
	p.tail = append(p.tail, raw...)
}

// String adds a JSON string.
func (p *Parts) String(s string) { p.Text(text.Of(s)) }

// Text adds a JSON string. Long pieces of t are shared.
func (p *Parts) Text(t text.Text) {
	p.tail = append(p.tail, '"')
	if valid(t) {
		for s := range t.Chunks() {
			p.piece(s)
		}
	} else {
		p.tail = p.esc.append(p.tail, t.String()) // a character may be split between two pieces
	}
	p.tail = append(p.tail, '"')
}

// valid reports whether each piece of t is UTF-8.
func valid(t text.Text) bool {
	for s := range t.Chunks() {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// piece adds the content between the quotes of a JSON string.
func (p *Parts) piece(s string) {
	if len(s) >= minShared {
		if size, direct := p.esc.length(s); direct {
			p.flush()
			p.add(part{s, size})
			return
		}
	}
	p.tail = p.esc.append(p.tail, s)
}

func (p *Parts) add(q part) {
	p.list = append(p.list, q)
	p.size += int64(q.size)
}

// flush turns the contents of the tail into a part.
func (p *Parts) flush() {
	if len(p.tail) > 0 {
		p.add(part{string(p.tail), len(p.tail)})
		p.tail = p.tail[:0]
	}
}

// body returns the JSON so far. It does not change when more is added to p.
func (p *Parts) body() body {
	p.flush()
	return body{esc: p.esc, list: slices.Clip(p.list), size: p.size}
}

// body is immutable JSON. It is safe for concurrent use.
type body struct {
	esc  *escaping
	list []part
	size int64
}

// reader reads bodies one after the other.
type reader struct {
	rest []body
	i    int // the current part of rest[0]
	at   int // bytes of that part already read
	// room holds output for a caller whose buffer is too small; left is the part not yet delivered.
	room [4 * slack]byte
	left []byte
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (n int, err error) {
	switch {
	case len(b) == 0:
		return 0, nil
	case len(r.left) > 0:
	case len(b) >= len(r.room):
		if n = r.fill(b); n == 0 {
			return 0, io.EOF
		}
		return n, nil
	default:
		if r.left = r.room[:r.fill(r.room[:])]; len(r.left) == 0 {
			return 0, io.EOF
		}
	}
	n = copy(b, r.left)
	r.left = r.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *reader) Close() error { return nil }

// fill fills b except for the slack at its end. It returns 0 if nothing is left. b must be longer
// than the slack.
func (r *reader) fill(b []byte) (n int) {
	for len(r.rest) > 0 {
		list := r.rest[0].list
		if r.i == len(list) {
			r.rest, r.i = r.rest[1:], 0
			continue
		}
		p := list[r.i]
		var read, wrote int
		if p.size == len(p.s) {
			wrote = copy(b[n:], p.s[r.at:])
			read = wrote
		} else {
			read, wrote = r.rest[0].esc.write(b[n:], p.s[r.at:])
		}
		n += wrote
		if r.at += read; r.at < len(p.s) {
			return n
		}
		r.i, r.at = r.i+1, 0
		if n == len(b) {
			return n
		}
	}
	return n
}
