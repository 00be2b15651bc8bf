package sqlite

import (
	"errors"
	"sync"
	"sync/atomic"
)

const (
	checkWAL = 1 << 20  // of data between two looks at the log
	foldWAL  = 16 << 20 // from here on the log is folded into the file
	foldRest = 2 << 20  // the writer itself folds as much: with nothing left to fold the log begins anew
	maxWAL   = 40 << 20 // from here on the writer waits for readers until the log begins anew (P10: under 64 MB)

	opBytes     = 512       // what an operation costs the log beside its data, about
	commitBytes = 8 << 10   // what a commit costs it
	frameBytes  = 4096 + 24 // a page in the log
)

// folder folds the log into the file while others write, with a connection of its own. The writer alone starts it.
type folder struct {
	conn   *conn // of the goroutine that folds
	isBusy atomic.Bool
	wg     sync.WaitGroup
}

// limitLog keeps the log under its bound:
//
//  1. Once it is long, another goroutine copies what it holds into the file. Writing goes on.
//  2. The writer copies the little that came meanwhile. The next commit then begins the log anew, unless a reader needs it.
//  3. Where readers that overlap, or a disk that is too slow, let the log grow on, the writer waits: while it does, new readers need nothing of the log, and the old ones
//     end.
func (w *writer) limitLog() {
	if w.wrote < checkWAL {
		return
	}
	w.wrote = 0
	r, err := w.conn.lookUp(sqlLookAtWAL)
	if err != nil || r == nil {
		return // asked again a little later
	}
	frames, folded := r.int(1), r.int(2)
	switch size, rest := frames*frameBytes, (frames-folded)*frameBytes; {
	case size > maxWAL:
		w.folder.wg.Wait()
		_ = checkpoint(w.conn, sqlRestartWAL)
	case size < foldWAL || w.folder.isBusy.Load():
	case rest > foldRest:
		w.folder.isBusy.Store(true)
		w.folder.wg.Go(w.fold)
	default:
		_, _ = w.conn.exec(sqlFoldWAL)
	}
}

// fold folds what the log holds now into the file, as far as no reader needs it. What fails is done later, at last by the writer.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) fold() {
	f := &w.folder
	defer f.isBusy.Store(false)
	if f.conn == nil {
		w.alone.Lock()
		c, err := dial(always, w.path)
		w.alone.Unlock()
		if err != nil {
			return
		}
		f.conn = c
	}
	for _, q := range []sqlText{sqlBusyNow, sqlSync, sqlFoldWAL} {
		if _, err := f.conn.exec(q); err != nil {
			_ = f.conn.close() // the next time has a new one
			f.conn = nil
			return
		}
	}
}

// close waits for the goroutine that folds, and closes its connection.
func (f *folder) close() error {
	f.wg.Wait()
	if f.conn == nil {
		return nil
	}
	return f.conn.close()
}

// checkpoint folds the log into the file, and waits a moment for readers that need it. Statements after it do not wait, whatever comes of it.
func checkpoint(c *conn, text sqlText) error {
	_, err := c.exec(sqlBusyWriter)
	if err == nil {
		_, err = c.exec(text)
	}
	if isBusy(err) {
		err = nil
	}
	_, nerr := c.exec(sqlBusyNow)
	return errors.Join(err, nerr)
}
