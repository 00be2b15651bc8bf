package view

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// Found is the value that a reference names.
type Found struct {
	Bytes  int64
	IsText bool

	reader *Reader
	ref    *Ref
}

// WriteTo writes all of the value: a string as it is, anything else as JSON. If it returns an
// error, what was written is not the complete value.
func (f *Found) WriteTo(ctx context.Context, w io.Writer) error {
	return f.reader.content(ctx, w, f.ref)
}

// Find returns the value with the given digest that occurs in the run's events, or in views of it.
// isText distinguishes a string from JSON. It returns an error that wraps journal.ErrNotFound if
// there is none.
func (r *Reader) Find(ctx context.Context, digest string, isText bool) (*Found, error) {
	missing := fmt.Errorf("value %s of run %s: %w", digest, r.run, journal.ErrNotFound)
	if _, err := journal.ParseHash(digest); err != nil {
		return nil, missing
	}
	logs, err := r.wholeLogFolder(ctx)
	if err != nil {
		return nil, err
	}
	err = r.Each(ctx, 0, func(e event.Event) error {
		if isFound(r.table, digest, isText) {
			return errFilled
		}
		// A value composed of several values is found by its own digest.
		if _, err := r.Event(logs.Expand(e)); err != nil {
			return err
		}
		for _, one := range logs.Add(e) {
			r.Log(one)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFilled) {
		return nil, err
	}
	if !isFound(r.table, digest, isText) {
		o := logs.Run()
		r.seal(&o)
	}
	v := r.table.index[journal.Long{Hash: digest, IsText: isText}]
	for _, one := range r.table.refs {
		if v == nil && one.isShown() && one.IsText == isText {
			r.queue = r.plan(one.parts)
			if err := r.measure(ctx, one); err != nil {
				return nil, err
			}
			if one.Hash == digest {
				v = one
			}
		}
	}
	if v == nil {
		return nil, missing
	}
	size, err := r.size(ctx, v)
	return &Found{Bytes: size, IsText: isText, reader: r, ref: v}, err
}

func isFound(t *Table, digest string, isText bool) bool {
	return t.index[journal.Long{Hash: digest, IsText: isText}] != nil
}
