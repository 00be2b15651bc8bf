package sqlite

import (
	"errors"
	"sync"
	"sync/atomic"
)

const (
	checkWAL = 1 << 20  // bytes of data between two checks of the log
	foldWAL  = 16 << 20 // log size from which the log is folded into the file
	foldRest = 2 << 20  // the writer itself folds this much: with nothing left to fold, the log restarts
	maxWAL   = 40 << 20 // log size from which the writer waits for readers until the log restarts (P10: under 64 MB)

	opBytes     = 512       // approximate cost of an operation in the log, in addition to its data
	commitBytes = 8 << 10   // cost of a commit in the log
	frameBytes  = 4096 + 24 // a page in the log
)

// folder folds the log into the file while others write, with a connection of its own. Only the
// writer starts it.
type folder struct {
	conn   *conn // of the folding goroutine
	isBusy atomic.Bool
	wg     sync.WaitGroup
}

// limitLog keeps the log below its limit:
//
//  1. Once it is long, another goroutine copies its contents into the file. Writing continues.
//  2. The writer copies the little that was added meanwhile. The next commit then restarts the log,
//     unless a reader needs it.
//  3. If overlapping readers, or a disk that is too slow, let the log keep growing, the writer
//     waits: while it does, new readers need nothing from the log, and the old ones end.
func (w *writer) limitLog() {
	if w.bytesSinceCheck < checkWAL {
		return
	}
	w.bytesSinceCheck = 0
	r, err := w.conn.lookUp(sqlLookAtWAL)
	if err != nil || r == nil {
		return // it is called again a little later
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

// fold folds the current contents of the log into the file, as far as no reader needs them. What
// fails is done later, finally by the writer.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) fold() {
	f := &w.folder
	defer f.isBusy.Store(false)
	if f.conn == nil {
		w.alone.Lock()
		c, err := dial(background, w.path)
		w.alone.Unlock()
		if err != nil {
			return
		}
		f.conn = c
	}
	for _, q := range []sqlText{sqlBusyNow, sqlSync, sqlFoldWAL} {
		if _, err := f.conn.exec(q); err != nil {
			_ = f.conn.close() // the next call opens a new one
			f.conn = nil
			return
		}
	}
}

// close waits for the folding goroutine, and closes its connection.
func (f *folder) close() error {
	f.wg.Wait()
	if f.conn == nil {
		return nil
	}
	return f.conn.close()
}

// checkpoint folds the log into the file, and waits briefly for readers that need it. Statements
// after it do not wait, whatever its result.
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
