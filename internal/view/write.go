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

// budgetBytes is how much of a response is written before every long value in it is shown as a
// reference.
const budgetBytes = 2 << 20

// Style specifies how long values are shown. The zero Style shows all values in full.
type Style struct {
	// Limit is the size in bytes above which a value is shown as a reference; 0 means that no value
	// is, and that what looks like a reference is data.
	Limit int
	// Whole lists the fields of the outermost object in which values are shown in full: what looks
	// like a reference there is data.
	Whole []string
	// Cut, if not nil, returns a string that is shown in place of a reference.
	Cut func(v Value) string
	// Href returns the address of a value.
	Href func(digest string, isText bool) string
	// Bounded limits the response: once it has become long, shorter values are references too,
	// without their first bytes.
	Bounded bool
}

// Address returns the Style.Href function of a run as servers use it: the path of the operation
// getValue.
func Address(run string) func(digest string, isText bool) string {
	return func(digest string, isText bool) string {
		path := "/api/v1/runs/" + url.PathEscape(run) + "/values/" + digest
		if !isText {
			path += "?type=json"
		}
		return path
	}
}

// Value is the content of a reference.
type Value struct {
	// Bytes is the size of the value: of a string in UTF-8, of anything else as JSON. SHA256 is the
	// hash of the same bytes.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Head holds the first of those bytes.
	Head string `json:"head"`
	// Href is where the whole value is: a string as text/plain, anything else as application/json.
	Href string `json:"href"`
}

// Reference is the encoded form of a Value.
type Reference struct {
	Value Value `json:"$value"`
}

// Doc is a view that is ready to be written.
type Doc struct {
	reader *Reader
	text   string
	style  Style
	depth  int // JSON depth at which text begins
}

// Prepare prepares v, a view of the run, for writing as JSON on one line, with tokens replaced by
// references or values. Values shown as references are looked up now, so an error from WriteTo can
// only come from reading whole values, or from the writer.
func (r *Reader) Prepare(ctx context.Context, v any, s Style) (*Doc, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return r.prepare(ctx, string(bytes.TrimSuffix(doc.Bytes(), []byte("\n"))), s)
}

// PrepareLines is Prepare for several views, one per line.
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

// WriteTo writes the view. After an error the output is incomplete.
func (d *Doc) WriteTo(ctx context.Context, w io.Writer) error {
	r, text := d.reader, d.text
	// most views are short, such as one event of a stream
	out := &counted{w: bufio.NewWriterSize(w, min(64<<10, len(text)+1<<10))}
	r.queue = r.plan(text)
	at := jsonPosition{depth: d.depth}
	for i := 0; ; {
		start, v := r.table.next(text, i)
		if v == nil {
			_, _ = io.WriteString(out, text[i:])
			return out.w.Flush()
		}
		start, end, isOnly := quotesOf(text, start, v)
		at.pass(text[i:start])
		if _, err := io.WriteString(out, text[i:start]); err != nil {
			return err
		}
		if err := r.writeToken(ctx, out, v, isOnly, at.name, d.style); err != nil {
			return err
		}
		i = end
	}
}

// Entries returns the view without its first and last byte: the entries of a list without its
// brackets.
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

// quotesOf returns the range of the token at a position in JSON, including its quotes if there is
// nothing else between them. There is no backslash outside of a string: a quote after one belongs
// to a string that contains more.
func quotesOf(text string, at int, v *Ref) (start, end int, isOnly bool) {
	start, end = at, at+len(v.token)
	if text[start-1] == '"' && text[end] == '"' && (start < 2 || text[start-2] != '\\') {
		return start - 1, end + 1, true
	}
	return start, end, false
}

// writeToken writes what a token represents.
func (r *Reader) writeToken(ctx context.Context, out *counted, v *Ref, isOnly bool, field string, s Style) error {
	isWhole := s.Limit == 0 || slices.Contains(s.Whole, field)
	size, err := r.size(ctx, v)
	if err != nil {
		return err
	}
	isFull := s.Bounded && out.n > budgetBytes && !isWhole
	if !isOnly || isWhole || !v.always && size <= int64(s.Limit) && !isFull {
		return r.whole(ctx, out, v, isOnly)
	}
	if err := r.measure(ctx, v); err != nil {
		return err
	}
	ref := Value{Bytes: v.Bytes, SHA256: v.Hash, Href: v.Href}
	if !isFull {
		ref.Head = trimPartialRune(v.head)
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

// plan returns the values that text consists of, in order.
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

// trimPartialRune removes an incomplete character at the end.
func trimPartialRune(head []byte) string {
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

// counted counts the bytes written.
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

// jsonPosition tracks a position in JSON to know which field of the outermost object it is in.
type jsonPosition struct {
	depth    int
	inText   bool
	isEscape bool
	text     []byte // of the string at depth 1, before a colon
	name     string
}

func (p *jsonPosition) pass(text string) {
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
