package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
)

// readFields finds the fields of the first state of a Go graph, which is the run's input, if the
// input is a token.
func (r *Reader) readFields(ctx context.Context, input event.Value) error {
	of := r.table.lone(input)
	if of == nil || r.Workflow.Format != formatGraph || r.table.fields != nil {
		return nil
	}
	var content bytes.Buffer
	if err := r.content(ctx, &content, of); err != nil {
		return err
	}
	fields := map[string]event.Value{}
	r.table.fields = map[*Ref]map[string]event.Value{of: fields}
	dec := json.NewDecoder(&content)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil //nolint:nilerr // such a graph begins with an empty state
	}
	for dec.More() {
		name, err := dec.Token()
		var v json.RawMessage
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return &journal.CorruptError{Run: r.run, Reason: "the input is not JSON"}
		}
		if end := dec.InputOffset(); len(v) > shortBytes {
			v = r.table.add(&Ref{Bytes: int64(len(v)), from: part, of: of, start: end - int64(len(v)), end: end}).
				quoted()
		}
		if name, ok := name.(string); ok {
			fields[name] = v
		}
	}
	return nil
}

// isShown reports whether a view may show a value that occurs in no event in this form.
func (v *Ref) isShown() bool {
	switch v.from {
	case made, fromText, part:
		return true
	case edited:
		return !v.isReplaced
	}
	return false
}

// Fields implements project.Values.
func (t *Table) Fields(input event.Value) (map[string]event.Value, bool) {
	if of := t.lone(input); of != nil {
		fields, ok := t.fields[of]
		return fields, ok
	}
	return project.Fields(input)
}

// JSONOf implements project.Values: the JSON in a string that is a token is itself a token.
func (t *Table) JSONOf(text string) (event.Value, bool) {
	at, of := t.next(text, 0)
	if of == nil {
		return event.JSONOf(text)
	}
	if at != 0 || len(of.token) != len(text) {
		return nil, false
	}
	key := "json " + text
	v := t.made[key]
	if v == nil {
		v = t.add(&Ref{Bytes: -1, from: fromText, of: of})
		t.made[key] = v
	}
	return v.quoted(), true
}

// taken writes the JSON in a text.
func (r *Reader) taken(ctx context.Context, w io.Writer, v *Ref) error {
	var text bytes.Buffer
	if err := r.content(ctx, &text, v.of); err != nil {
		return err
	}
	out, ok := event.JSONOf(text.String())
	if !ok {
		return &journal.CorruptError{Run: r.run, Reason: "a reply is not JSON"}
	}
	_, err := w.Write(out)
	return err
}

// Edited implements project.Values: a value that is a token, or that becomes long through
// additions, is a token.
func (t *Table) Edited(v *typed.Value, e *typed.Edit, step int) (*typed.Value, error) {
	before := v.JSON()
	of := t.lone(before)
	if _, text := t.next(e.Text, 0); of == nil && text == nil {
		return v.Edited(e, step)
	}
	if v.Step() != e.Base || e.From < 0 || e.From > e.To || e.To > e.Size || of == nil && len(before) != e.Size {
		return nil, fmt.Errorf("%w: field %q", typed.ErrEdit, e.Field)
	}
	if of != nil && of.IsText {
		of = t.add(&Ref{Bytes: -1, from: quoted, of: of})
	}
	after := t.add(&Ref{Bytes: -1, from: edited, of: of, parts: string(before), edit: e})
	if of != nil {
		after.parts, of.isReplaced = "", true
	}
	return typed.Of(after.quoted(), step), nil
}

// piece is a part of a value: a byte range of the content of a Ref, or a string.
type piece struct {
	of       *Ref
	text     string
	from, to int64
}

// edited writes a value that results from edits of another one.
func (r *Reader) edited(ctx context.Context, w io.Writer, v *Ref) error {
	pieces, err := r.pieces(ctx, v)
	if err != nil {
		return err
	}
	queue := r.queue
	defer func() { r.queue = queue }()
	r.queue = make([]*Ref, 0, len(pieces)+len(queue))
	for _, p := range pieces {
		if p.of != nil {
			r.queue = append(r.queue, p.of)
		}
	}
	r.queue = append(r.queue, queue...)
	for _, p := range pieces {
		if p.of == nil {
			_, err = io.WriteString(w, p.text[p.from:p.to])
		} else {
			err = r.content(ctx, &rangeWriter{w, p.from, p.to}, p.of)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pieces returns the parts of a value that results from edits. Each edit takes time proportional to
// what follows its position.
func (r *Reader) pieces(ctx context.Context, v *Ref) ([]piece, error) {
	var edits []*Ref
	for ; v != nil && v.from == edited; v = v.of {
		edits = append(edits, v)
	}
	first := piece{of: v}
	if v == nil {
		first.text = edits[len(edits)-1].parts
	}
	list, err := r.measured(ctx, []piece{first})
	if err != nil {
		return nil, err
	}
	size := list[0].to
	for _, one := range slices.Backward(edits) {
		e := one.edit
		if size != int64(e.Size) {
			return nil, &journal.CorruptError{Run: r.run,
				Reason: fmt.Sprintf("a change of the field %q belongs to another value", e.Field)}
		}
		added, err := r.measured(ctx, r.textPieces(e.Text))
		if err != nil {
			return nil, err
		}
		list, size = splice(list, size, int64(e.From), int64(e.To), added)
	}
	return list, nil
}

// textPieces splits a text into its tokens and the strings between them.
func (r *Reader) textPieces(text string) []piece {
	var out []piece
	for i := 0; ; {
		at, v := r.table.next(text, i)
		if v == nil {
			return append(out, piece{text: text[i:]})
		}
		out = append(out, piece{text: text[i:at]}, piece{of: v})
		i = at + len(v.token)
	}
}

// measured sets the ends of whole pieces.
func (r *Reader) measured(ctx context.Context, list []piece) ([]piece, error) {
	for i := range list {
		p := &list[i]
		if p.to = int64(len(p.text)); p.of != nil {
			var err error
			if p.to, err = r.size(ctx, p.of); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// splice replaces the bytes from from to to in a list of pieces with the given total size by the
// pieces in added. It returns the list and its new size.
func splice(list []piece, size, from, to int64, added []piece) ([]piece, int64) {
	list, n := cutAt(list, size, to)
	rest := slices.Clone(list[n:])
	list, n = cutAt(list[:n], to, from)
	list = append(append(list[:n], added...), rest...)
	size -= to - from
	for _, p := range added {
		size += p.to - p.from
	}
	return list, size
}

// cutAt splits a list with the given total size at an offset. It returns the list and the number of
// pieces before the offset.
func cutAt(list []piece, size, at int64) ([]piece, int) {
	for i, p := range slices.Backward(list) {
		if size == at {
			return list, i + 1
		}
		if size -= p.to - p.from; size < at {
			left, right := p, p
			left.to = p.from + at - size
			right.from = left.to
			list[i] = left
			return slices.Insert(list, i+1, right), i + 1
		}
	}
	return list, 0
}

// rangeWriter writes a byte range of a stream.
type rangeWriter struct {
	w        io.Writer
	from, to int64
}

// Write implements io.Writer.
func (s *rangeWriter) Write(p []byte) (int, error) {
	n := int64(len(p))
	from, to := min(max(s.from, 0), n), min(max(s.to, 0), n)
	s.from, s.to = s.from-n, s.to-n
	if from >= to {
		return len(p), nil
	}
	if m, err := s.w.Write(p[from:to]); err != nil {
		return m, err
	}
	return len(p), nil
}
