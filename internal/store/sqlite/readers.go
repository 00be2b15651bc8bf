package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	maxReaders = 4
	// readerIdle is how long a connection that is not needed is kept. The one used last is kept
	// for longer.
	readerIdle = time.Minute
)

// readers is a pool of connections that cannot write. One is opened when no open one is free, and
// those that are no longer needed are closed: each needs three file descriptors.
type readers struct {
	path  string
	wait  *lockWait
	slots chan struct{} // one value for each active reader
	alone *sync.Mutex   // held by the reader of a file whose disk has no space for the index of its log

	idleMu sync.Mutex
	idle   []idleReader // in the order in which they were last used

	mu     sync.RWMutex // held shared by every active reader
	closed bool
}

type idleReader struct {
	c     *conn
	since time.Time
}

func newReaders(path string, wait *lockWait, alone *sync.Mutex) *readers {
	return &readers{path: path, wait: wait, alone: alone, slots: make(chan struct{}, maxReaders)}
}

// take returns the connection that was used last, or nil if none is free.
func (r *readers) take() *conn {
	r.idleMu.Lock()
	defer r.idleMu.Unlock()
	n := len(r.idle)
	if n == 0 {
		return nil
	}
	c := r.idle[n-1].c
	r.idle = r.idle[:n-1]
	return c
}

// put frees a connection, unless it is nil, and closes one that was not needed for too long.
func (r *readers) put(c *conn, now time.Time) {
	r.idleMu.Lock()
	defer r.idleMu.Unlock()
	if c != nil {
		r.idle = append(r.idle, idleReader{c, now})
	}
	if len(r.idle) > 1 && now.Sub(r.idle[0].since) >= readerIdle {
		_ = r.idle[0].c.close() // it has only read
		r.idle = slices.Delete(r.idle, 0, 1)
	}
}

// read runs do on a connection of the pool, inside one transaction, so that do sees one state of
// the store. do may run again from the start if another process interferes.
func (r *readers) read(ctx context.Context, do func(c *conn) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return journal.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := r.readRetrying(ctx, r.take(), do)
	r.put(c, time.Now())
	return explain(err)
}

// readRetrying reads on c, which is opened if it is nil, until nothing interferes. It returns the
// connection to keep.
func (r *readers) readRetrying(ctx context.Context, c *conn, do func(c *conn) error) (*conn, error) {
	for {
		var err error
		if c == nil {
			c, err = r.dial(ctx, sqlBusyReader, sqlReadOnly, sqlTemp)
		}
		if err == nil {
			err = inside(c, do)
		}
		if isFull(err) && c != nil {
			_ = c.close() // it could not map the index of the log, and would not retry
			c, err = nil, r.readExclusive(ctx, do)
		}
		switch {
		case !isBusy(err):
			r.wait.free()
			return c, err
		case ctx.Err() != nil:
			return c, ctx.Err()
		}
		// Another process is recovering a large log, or holds the file exclusively.
		if late := r.wait.busy(); late != nil {
			return c, late
		}
	}
}

// readExclusive reads if the disk has no space for the file with the index of the log, which the
// first process has to create:
//
//  1. The disk is full, and no process has the store open. Its log is empty, or was left by a
//     killed process.
//  2. SQLite tries to create the index, about 32 KB, and cannot: not even to read.
//  3. A connection that holds the file exclusively keeps the index in its own memory.
//
// Such a connection lives for one read only, so that others get their turn. If it is in the way of
// another process, that process waits as for a writer; if another process came first, there is an
// index, and the usual way works again.
func (r *readers) readExclusive(ctx context.Context, do func(c *conn) error) error {
	r.alone.Lock()
	defer r.alone.Unlock()
	c, err := r.dial(ctx, sqlBusyReader, sqlAlone, sqlReadOnly, sqlTemp)
	if err != nil {
		return err
	}
	return errors.Join(inside(c, do), c.close())
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

func (r *readers) dial(ctx context.Context, settings ...sqlText) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := dial(ctx, r.path)
	if err != nil {
		return nil, err
	}
	for _, q := range settings {
		if _, err := c.exec(q); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// close waits for the active readers.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for c := r.take(); c != nil; c = r.take() {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
