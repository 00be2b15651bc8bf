package view

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// budgetBytes is how much of an answer is written before every long value in it is shown as a reference.
const budgetBytes = 2 << 20

// Style says how long values are shown. The zero Style shows all whole.
type Style struct {
	// Limit is the size in bytes above which a value is shown as a reference; 0: none is, and what looks like one is data.
	Limit int
	// Whole are the names of fields of the outermost object in which values are shown whole: what looks like a reference there is data.
	Whole []string
	// Cut, if not nil, gives a text that is shown in the place of a reference.
	Cut func(v Value) string
	// Href gives where a value is.
	Href func(digest string, isText bool) string
	// Bounded bounds the answer: when it has become long, shorter values are references too, without a beginning.
	Bounded bool
}

// Address gives Style.Href of a run as servers have it: the path of the operation getValue.
func Address(run string) func(digest string, isText bool) string {
	return func(digest string, isText bool) string {
		path := "/api/v1/runs/" + url.PathEscape(run) + "/values/" + digest
		if !isText {
			path += "?type=json"
		}
		return path
	}
}

// Value is what a reference says.
type Value struct {
	// Bytes is the size of the value: of a text in UTF-8, of anything else as JSON. SHA256 is of the same bytes.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Head is the beginning of those bytes.
	Head string `json:"head"`
	// Href is where all of it is: a text as text/plain, anything else as application/json.
	Href string `json:"href"`
}

// Reference is a Value as it is written.
type Reference struct {
	Value Value `json:"$value"`
}

// Doc is a view that is ready to be written.
type Doc struct {
	reader *Reader
	text   string
	style  Style
	depth  int // of the place in JSON at which text begins
}

// Prepare makes v, a view of the run, ready to be written as JSON in one line, with references or values in the place of tokens. What is shown as a reference is
// looked up: an error that is left to WriteTo is one of reading whole values, or of the writer.
func (r *Reader) Prepare(ctx context.Context, v any, s Style) (*Doc, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return r.prepare(ctx, string(bytes.TrimSuffix(doc.Bytes(), []byte("\n"))), s)
}

// PrepareLines is Prepare of several views, a line each.
func (r *Reader) PrepareLines(ctx context.Context, lines []json.RawMessage, s Style) (*Doc, error) {
	var text strings.Builder
	for _, l := range lines {
		text.Write(l)
		text.WriteByte('\n')
	}
	return r.prepare(ctx, text.String(), s)
}

func (r *Reader) prepare(ctx context.Context, text string, s Style) (*Doc, error) {
	r.queue = r.plan(text)
	for _, v := range r.queue {
		size, err := r.size(ctx, v)
		if err == nil && s.Limit > 0 && size > int64(s.Limit) {
			err = r.measure(ctx, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return &Doc{reader: r, text: text, style: s}, nil
}

// WriteTo writes the view. After an error it is not whole.
func (d *Doc) WriteTo(ctx context.Context, w io.Writer) error {
	r, text := d.reader, d.text
	out := &counted{w: bufio.NewWriterSize(w, min(64<<10, len(text)+1<<10))} // most views are short: an event of a stream, for one
	r.queue = r.plan(text)
	at := place{depth: d.depth}
	for i := 0; ; {
		start, v := r.table.next(text, i)
		if v == nil {
			_, _ = io.WriteString(out, text[i:])
			return out.w.Flush()
		}
		start, end, isLone := quotesOf(text, start, v)
		at.pass(text[i:start])
		if _, err := io.WriteString(out, text[i:start]); err != nil {
			return err
		}
		if err := r.one(ctx, out, v, isLone, at.name, d.style); err != nil {
			return err
		}
		i = end
	}
}

// Entries gives the view without the first byte and the last: the entries of a list without its brackets.
func (d *Doc) Entries() *Doc {
	return &Doc{d.reader, d.text[1 : len(d.text)-1], d.style, d.depth + 1}
}

// Write prepares a view and writes it.
func (r *Reader) Write(ctx context.Context, w io.Writer, v any, s Style) error {
	d, err := r.Prepare(ctx, v, s)
	if err != nil {
		return err
	}
	return d.WriteTo(ctx, w)
}

// quotesOf gives the place in JSON that a token at a place has, with its quotes where there is nothing else between them. Outside of a text there is no backslash: a
// quote behind one belongs to a text in which there is more.
func quotesOf(text string, at int, v *Ref) (start, end int, isLone bool) {
	start, end = at, at+len(v.token)
	if text[start-1] == '"' && text[end] == '"' && (start < 2 || text[start-2] != '\\') {
		return start - 1, end + 1, true
	}
	return start, end, false
}

// one writes what a token stands for.
func (r *Reader) one(ctx context.Context, out *counted, v *Ref, isLone bool, field string, s Style) error {
	isWhole := s.Limit == 0 || slices.Contains(s.Whole, field)
	size, err := r.size(ctx, v)
	if err != nil {
		return err
	}
	isFull := s.Bounded && out.n > budgetBytes && !isWhole
	if !isLone || isWhole || !v.always && size <= int64(s.Limit) && !isFull {
		return r.whole(ctx, out, v, isLone)
	}
	if err := r.measure(ctx, v); err != nil {
		return err
	}
	ref := Value{Bytes: v.Bytes, SHA256: v.Hash, Href: v.Href}
	if !isFull {
		ref.Head = beginning(v.head)
	}
	if s.Href != nil {
		ref.Href = s.Href(v.Hash, v.IsText)
	}
	var shown any = Reference{ref}
	if s.Cut != nil {
		shown = s.Cut(ref)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shown); err != nil {
		return err
	}
	_, err = out.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return err
}

// plan gives the values that text is made of, in order.
func (r *Reader) plan(text string) []*Ref {
	var out []*Ref
	for i := 0; ; {
		at, v := r.table.next(text, i)
		if v == nil {
			return out
		}
		if out, i = append(out, v), at+len(v.token); v.from == made {
			out = append(out, r.plan(v.parts)...)
		}
	}
}

// beginning cuts what is not a whole character.
func beginning(head []byte) string {
	for back := 1; back < utf8.UTFMax && back <= len(head); back++ {
		if c := head[len(head)-back:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				head = head[:len(head)-back]
			}
			break
		}
	}
	return string(bytes.ToValidUTF8(head, []byte("�")))
}

// counted counts what is written.
type counted struct {
	w *bufio.Writer
	n int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// place follows JSON to know which field of the outermost object something is in.
type place struct {
	depth    int
	inText   bool
	isEscape bool
	text     []byte // of the text at depth 1, before a colon
	name     string
}

func (p *place) pass(text string) {
	for i := range len(text) {
		c := text[i]
		if p.inText {
			switch {
			case p.isEscape:
				p.isEscape = false
			case c == '\\':
				p.isEscape = true
			case c == '"':
				p.inText = false
				continue
			}
			if p.depth == 1 && len(p.text) < 64 {
				p.text = append(p.text, c)
			}
			continue
		}
		switch c {
		case '"':
			p.inText, p.text = true, p.text[:0]
		case '{', '[':
			p.depth++
		case '}', ']':
			p.depth--
		case ':':
			if p.depth == 1 {
				p.name = string(p.text)
			}
		}
	}
}
