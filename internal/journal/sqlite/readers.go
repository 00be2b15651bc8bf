package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/hocket-run/hocket/internal/journal"
)

const maxReaders = 4

// readers is a pool of connections that cannot write. They are opened when they are needed first.
type readers struct {
	path string
	free chan *conn // holds maxReaders places; nil is a connection that is not open yet

	mu     sync.RWMutex // held shared by every reader that is out
	closed bool
}

func newReaders(path string) *readers {
	r := &readers{path: path, free: make(chan *conn, maxReaders)}
	for range maxReaders {
		r.free <- nil
	}
	return r
}

// read runs do on a connection of the pool, inside one transaction: do sees one state of the store. do may run again from its beginning
// where another process was in the way.
func (r *readers) read(ctx context.Context, do func(c *conn) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return journal.ErrClosed
	}
	var c *conn
	select {
	case c = <-r.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c == nil {
		var err error
		if c, err = r.dial(ctx); err != nil {
			r.free <- nil
			return explain(err)
		}
	}
	for {
		err := inside(c, do)
		if isBusy(err) {
			if ctx.Err() == nil {
				continue // busy_timeout has passed: somebody recovers a large log
			}
			err = ctx.Err()
		}
		r.free <- c
		return explain(err)
	}
}

func inside(c *conn, do func(c *conn) error) error {
	if _, err := c.exec(sqlBegin); err != nil {
		return err
	}
	err := do(c)
	_, rerr := c.exec(sqlRollback) // there is nothing to commit
	if err != nil {
		return err
	}
	return rerr
}

func (r *readers) dial(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := dial(ctx, r.path)
	if err != nil {
		return nil, err
	}
	for _, q := range []sqlText{sqlBusyReader, sqlReadOnly, sqlTemp} {
		if _, err := c.exec(q); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// close waits for the readers that are out.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for range maxReaders {
		if c := <-r.free; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
