package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
)

var _ view.Source = (*Runner)(nil)

// View opens a run for reading one view. The errors are those of RunDefinition.
func (s *Runner) View(ctx context.Context, run string) (*view.Reader, error) {
	return view.Open(ctx, s, run)
}

// Opened returns the opening event of a wait of a run, with full values. It returns
// waits.ErrNotFound if there is none.
func (s *Runner) Opened(ctx context.Context, run, wait string) (*event.WaitOpened, error) {
	at := uint64(0)
	if err := s.EachShort(ctx, run, 0, view.NewTable(), func(e event.Event) error {
		if d, ok := e.Data.(*event.WaitOpened); ok && d.Wait == wait {
			at = e.Seq
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var found *event.WaitOpened
	if at > 0 {
		if err := s.EachEvent(ctx, run, at-1, func(e event.Event) error {
			found, _ = e.Data.(*event.WaitOpened)
			return errOne
		}); !errors.Is(err, errOne) {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("run %s, wait %q: %w", run, wait, waits.ErrNotFound)
	}
	return found, nil
}

// Judged returns the full input of the node of an open wait: the text to approve, or the text that
// the question follows. It returns nil for tool calls, and if no such wait is open.
func (s *Runner) Judged(ctx context.Context, run, wait string) (event.Value, error) {
	r, err := s.View(ctx, run)
	if err != nil {
		return nil, err
	}
	o, err := r.Run(ctx, view.Page{})
	if err != nil {
		return nil, err
	}
	for _, w := range o.Waiting {
		if w.ID != wait || len(w.Input) == 0 {
			continue
		}
		var text bytes.Buffer
		if err := r.Write(ctx, &text, w.Input, view.Style{}); err != nil {
			return nil, err
		}
		return text.Bytes(), nil
	}
	return nil, nil
}

// AskedAt returns an open or ended wait of a run as it was when it opened, with full values, and
// whether only a person may answer it. It returns waits.ErrNotFound if there is none.
func (s *Runner) AskedAt(ctx context.Context, run, wait string) (w project.Waiting, person bool, err error) {
	r, err := s.View(ctx, run)
	if err != nil {
		return w, false, err
	}
	f := r.Follow(project.NewFolder(run, r.Workflow))
	err = r.Each(ctx, 0, func(e event.Event) error {
		f.Add(e)
		if d, ok := e.Data.(*event.WaitOpened); ok && d.Wait == wait {
			person = NeedsPerson(d)
			return errOne
		}
		return nil
	})
	if err != nil && !errors.Is(err, errOne) {
		return w, false, err
	}
	for _, one := range f.Run().Waiting {
		if one.ID == wait {
			return w, person, expandInto(ctx, r, one, &w)
		}
	}
	return w, false, fmt.Errorf("run %s, wait %q: %w", run, wait, waits.ErrNotFound)
}

var errOne = errors.New("one is enough")

// EachShort implements view.Source.
func (s *Runner) EachShort(ctx context.Context, run string, after uint64, t *view.Table,
	take func(event.Event) error) error {
	return s.store.Each(ctx, run, after, func(rec journal.Record) error {
		events, err := journal.DecodeReferences(rec.Data, t.Refer)
		if err != nil {
			return fmt.Errorf("read run %s: %w", run, journal.InRun(run, err))
		}
		for _, e := range events {
			if e.Seq <= after {
				continue
			}
			if err := take(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Beginning implements view.Source.
func (s *Runner) Beginning(ctx context.Context, _ string, r *view.Ref, n int) ([]byte, int64, error) {
	return s.store.Part(ctx, r.Hash, 0, n)
}

// Open implements view.Source. The stream holds no resources of the store while no caller reads it.
func (s *Runner) Open(ctx context.Context, run string, r *view.Ref) (io.ReadCloser, error) {
	p := &blobReader{ctx: ctx, runner: s, run: run, hash: r.Hash, sum: sha256.New()}
	return p, p.next()
}

// partBytes is the amount of a value that is held in memory while it is read.
const partBytes = 2 << 20

// blobReader reads a blob in pieces.
type blobReader struct {
	ctx       context.Context
	runner    *Runner
	run, hash string
	sum       hash.Hash
	buf       bytes.Reader
	offset    int64
	size      int64
}

func (p *blobReader) next() error {
	part, size, err := p.runner.store.Part(p.ctx, p.hash, p.offset, partBytes)
	if err != nil {
		return err
	}
	p.sum.Write(part)
	p.buf.Reset(part)
	p.offset, p.size = p.offset+int64(len(part)), size
	if len(part) == 0 && p.offset < size || p.offset == size && hex.EncodeToString(p.sum.Sum(nil)) != p.hash {
		return &journal.CorruptError{Run: p.run, Reason: "stored value has different content: " + p.hash}
	}
	return nil
}

// Read implements io.Reader.
func (p *blobReader) Read(b []byte) (int, error) {
	for p.buf.Len() == 0 {
		if p.offset >= p.size {
			return 0, io.EOF
		}
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	return p.buf.Read(b)
}

// WriteTo implements io.WriterTo, so that io.Copy needs no buffer of its own.
func (p *blobReader) WriteTo(w io.Writer) (n int64, err error) {
	for {
		m, err := p.buf.WriteTo(w)
		if n += m; err != nil || p.offset >= p.size {
			return n, err
		}
		if err := p.next(); err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (p *blobReader) Close() error { return nil }
