package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/jsontext"
)

const (
	// fillBytes is how many bytes of values that the table did not keep are read at a time, unless
	// Reader.Room sets more.
	fillBytes = 3 << 20
	// headBytes is the number of bytes of a long value that a reference shows.
	headBytes = 256
)

// size returns the number of bytes of a value's content.
func (r *Reader) size(ctx context.Context, v *Ref) (int64, error) {
	if v.Bytes >= 0 {
		return v.Bytes, nil
	}
	return v.Bytes, r.measure(ctx, v)
}

// measure determines the size, digest and first bytes of a value.
func (r *Reader) measure(ctx context.Context, v *Ref) error {
	switch {
	case v.Bytes >= 0 && v.head != nil:
		return nil
	case v.from == stored:
		head, size, err := r.src.Beginning(ctx, r.run, v, headBytes)
		if err != nil {
			return r.missingError(ctx, v, err)
		}
		v.head, v.Bytes = head, size
		return nil
	}
	m := meter{sum: sha256.New()}
	if v.from == fromRecipe { // the rest comes from its recipe
		m.limit = headBytes
	}
	if err := r.content(ctx, &m, v); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if v.head = m.head; v.from == fromRecipe {
		return nil
	}
	v.Bytes = m.n
	if v.from != inline {
		v.Hash = hex.EncodeToString(m.sum.Sum(nil))
	}
	return nil
}

// missingError returns the error for data that an event refers to and that is missing: either the
// run was deleted in the meantime, or its journal is damaged (P17).
func (r *Reader) missingError(ctx context.Context, v *Ref, err error) error {
	if errors.Is(err, journal.ErrNotFound) {
		if _, _, err := r.src.RunDefinition(ctx, r.run); err != nil {
			return err
		}
		return &journal.CorruptError{Run: r.run, Reason: "missing stored value: " + v.Hash}
	}
	return fmt.Errorf("read value %s of run %s: %w", v.Hash, r.run, err)
}

// meter consumes content and keeps its size, digest and first bytes.
type meter struct {
	sum interface {
		io.Writer
		Sum(b []byte) []byte
	}
	n    int64
	head []byte
	// limit is the number of bytes to consume; 0 means all.
	limit int64
}

var errEnough = errors.New("enough was read")

// Write implements io.Writer.
func (m *meter) Write(p []byte) (int, error) {
	m.head = append(m.head, p[:min(len(p), headBytes-len(m.head))]...)
	m.n += int64(len(p))
	if m.limit > 0 && m.n >= m.limit {
		return len(p), errEnough
	}
	return m.sum.Write(p)
}

// content writes all of a value: a string as it is, anything else as JSON.
func (r *Reader) content(ctx context.Context, w io.Writer, v *Ref) error {
	switch {
	case v.from == fromRecipe:
		return r.assembled(ctx, w, v)
	case v.from == made && v.IsText:
		return r.text(ctx, w, v.parts)
	case v.from == made:
		return r.json(ctx, w, v.parts)
	case v.from == part:
		return r.content(ctx, &rangeWriter{w, v.start, v.end}, v.of)
	case v.from == quoted:
		return r.whole(ctx, w, v.of, true)
	case v.from == fromText:
		return r.taken(ctx, w, v)
	case v.from == edited:
		return r.edited(ctx, w, v)
	case v.from == escaped:
		q := quoter{w: w}
		if err := r.content(ctx, &q, v.of); err != nil {
			return err
		}
		return q.end(false)
	case v.from == inline:
		if v.content == nil {
			if err := r.fill(ctx, v); err != nil {
				return err
			}
		}
		_, err := w.Write(v.content)
		return err
	}
	body, err := r.src.Open(ctx, r.run, v)
	if err != nil {
		return r.missingError(ctx, v, err)
	}
	_, err = io.Copy(w, body)
	return errors.Join(err, body.Close())
}

// assembled writes the text of a recipe, and verifies it against the recipe.
func (r *Reader) assembled(ctx context.Context, w io.Writer, v *Ref) error {
	queue := r.queue
	r.queue = nil
	for chunk := range v.rope.Chunks() {
		r.queue = append(r.queue, r.plan(chunk)...)
	}
	defer func() { r.queue = queue }()
	sum := sha256.New()
	to := &atMost{io.MultiWriter(w, sum), v.Bytes}
	for chunk := range v.rope.Chunks() {
		if err := r.text(ctx, to, chunk); errors.Is(err, errTooLong) {
			return &journal.CorruptError{Run: r.run, Reason: "the text of a recipe is longer than it says: " + v.Hash}
		} else if err != nil {
			return err
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != v.Hash {
		return &journal.CorruptError{Run: r.run, Reason: "the text of a recipe has different content: " + v.Hash}
	}
	return nil
}

// atMost writes up to left bytes.
type atMost struct {
	w    io.Writer
	left int64
}

var errTooLong = errors.New("more bytes than expected")

// Write implements io.Writer. It returns errTooLong if the limit is exceeded.
func (a *atMost) Write(p []byte) (int, error) {
	if a.left -= int64(len(p)); a.left < 0 {
		return 0, errTooLong
	}
	return a.w.Write(p)
}

// text writes text with its tokens replaced by their content.
func (r *Reader) text(ctx context.Context, w io.Writer, text string) error {
	for i := 0; ; {
		at, v := r.table.next(text, i)
		if v == nil {
			_, err := io.WriteString(w, text[i:])
			return err
		}
		if _, err := io.WriteString(w, text[i:at]); err != nil {
			return err
		}
		if err := r.content(ctx, w, v); err != nil {
			return err
		}
		i = at + len(v.token)
	}
}

// json writes JSON with its tokens replaced by their values.
func (r *Reader) json(ctx context.Context, w io.Writer, text string) error {
	for i := 0; ; {
		at, v := r.table.next(text, i)
		if v == nil {
			_, err := io.WriteString(w, text[i:])
			return err
		}
		at, end, isOnly := quotesOf(text, at, v)
		if _, err := io.WriteString(w, text[i:at]); err != nil {
			return err
		}
		if err := r.whole(ctx, w, v, isOnly); err != nil {
			return err
		}
		i = end
	}
}

// whole writes a value as JSON on one line; if it is part of a string, without quotes.
func (r *Reader) whole(ctx context.Context, w io.Writer, v *Ref, isOnly bool) error {
	if !v.IsText && isOnly {
		return r.content(ctx, oneLine{w}, v)
	}
	q := quoter{w: w}
	if isOnly {
		q.buf = append(q.buf, '"')
	}
	if err := r.content(ctx, &q, v); err != nil {
		return err
	}
	return q.end(isOnly)
}

// oneLine replaces line ends, which in JSON occur only between values, by blanks.
type oneLine struct{ w io.Writer }

// Write implements io.Writer.
func (o oneLine) Write(p []byte) (int, error) {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return o.w.Write(p)
	}
	flat := bytes.Clone(p)
	for i, c := range flat {
		if c == '\n' || c == '\r' {
			flat[i] = ' '
		}
	}
	return o.w.Write(flat)
}

// quoter writes text as the inside of a JSON string.
type quoter struct {
	w    io.Writer
	buf  []byte
	rest []byte // first bytes of an incomplete character
}

// Write implements io.Writer.
func (q *quoter) Write(p []byte) (int, error) {
	n := len(p)
	if len(q.rest) > 0 {
		p = append(bytes.Clone(q.rest), p...)
	}
	cut := len(p)
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if utf8.RuneStart(p[len(p)-back]) {
			if !utf8.FullRune(p[len(p)-back:]) {
				cut = len(p) - back
			}
			break
		}
	}
	q.rest = bytes.Clone(p[cut:])
	return n, q.put(p[:cut])
}

func (q *quoter) put(p []byte) error {
	at := len(q.buf)
	q.buf, _ = jsontext.AppendString(q.buf, string(p))
	copy(q.buf[at:], q.buf[at+1:])
	q.buf = q.buf[:len(q.buf)-2] // without the quotes
	_, err := q.w.Write(q.buf)
	q.buf = q.buf[:0]
	return err
}

func (q *quoter) end(isOnly bool) error {
	if err := q.put(q.rest); err != nil {
		return err
	}
	if !isOnly {
		return nil
	}
	_, err := io.WriteString(q.w, `"`)
	return err
}

// fill reads content that the table did not keep: that of v, and of the values that are written
// next.
func (r *Reader) fill(ctx context.Context, v *Ref) error {
	for _, old := range r.filled {
		old.content = nil
	}
	r.filled = r.filled[:0]
	want, sizes, from, size, smallest := map[journal.Long]*Ref{}, map[int]bool{}, v.seq, 0, int(v.Bytes)
	if i := slices.Index(r.queue, v); i > 0 { // earlier ones have been written
		r.queue = r.queue[i:]
	}
	for _, one := range append([]*Ref{v}, r.queue...) {
		if one.from != inline || one.content != nil || want[one.Long] != nil {
			continue
		}
		if size += int(one.Bytes); size > r.room && one != v {
			break
		}
		want[one.Long], sizes[int(one.Bytes)], from = one, true, min(from, one.seq)
		smallest = min(smallest, int(one.Bytes))
	}
	err := r.src.EachShort(ctx, r.run, from-1, r.table, func(e event.Event) error {
		if err := journal.Rewrite(e, func(l journal.Leaf) (journal.Leaf, bool) {
			if len(l.Text)+len(l.Value) < smallest {
				return l, false
			}
			if content, isText := l.Content(); sizes[len(content)] {
				if one := want[journal.Long{Hash: journal.HashOf(content), IsText: isText}]; one != nil &&
					one.content == nil {
					one.content = content
					r.filled = append(r.filled, one)
				}
			}
			return l, false
		}); err != nil {
			return err
		}
		if len(r.filled) == len(want) {
			return errFilled
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFilled) {
		return err
	}
	if v.content == nil {
		return &journal.CorruptError{Run: r.run, Seq: v.seq, Reason: "a stored value is missing"}
	}
	return nil
}

var errFilled = errors.New("all values were found")
