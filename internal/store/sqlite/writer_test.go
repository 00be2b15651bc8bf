package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "hocket.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// together runs operations in one transaction.
func together(t *testing.T, w *writer, do ...func(c *conn) error) []error {
	t.Helper()
	ops := make([]*op, len(do))
	for i := range ops {
		ops[i] = newOp(0, do[i])
	}
	return togetherOps(t, w, ops...)
}

// togetherOps runs operations in one transaction: a first one blocks the writer until all of them
// are queued.
func togetherOps(t *testing.T, w *writer, ops ...*op) []error {
	t.Helper()
	var (
		wg   sync.WaitGroup
		errs = make([]error, len(ops))
		held = make(chan struct{})
		free = make(chan struct{})
	)
	wg.Go(func() {
		if err := w.runOutsideTx(t.Context(), func(*conn) error {
			close(held)
			<-free
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-held
	for i, o := range ops {
		w.mu.Lock() // in this order
		w.queue = append(w.queue, o)
		w.mu.Unlock()
		wg.Go(func() {
			<-o.done
			errs[i] = o.err
		})
	}
	close(free)
	wg.Wait()
	return errs
}

func newRun(s *Store, run string) func(c *conn) error {
	p := &pendingAppend{Append: journal.Append{
		Run: run, Create: &journal.NewRun{}, Record: journal.Record{First: 1, Last: 1, Version: 1, Data: []byte("x")},
		At: time.Unix(1, 0), Status: journal.StatusRunning,
	}, owner: 1}
	return func(c *conn) error { return s.writer.append(c, p) }
}

// TestBatchRefusal checks that a rejected append is dropped alone (D7).
func TestBatchRefusal(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	errs := together(t, s.writer, newRun(s, "a"), newRun(s, "a"), newRun(s, "b"))
	if errs[0] != nil || !errors.Is(errs[1], journal.ErrExists) || errs[2] != nil {
		t.Errorf("got errors %v", errs)
	}
	stored(t, s, "b a")
}

// TestBatchFault checks that an operation that cannot be run does not affect the others, and leaves
// nothing behind.
func TestBatchFault(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	fault := errors.New("fault")
	half := newRun(s, "half")
	errs := together(t, s.writer, newRun(s, "a"), func(c *conn) error {
		if err := half(c); err != nil {
			return err
		}
		return fault
	}, newRun(s, "b"))
	if errs[0] != nil || !errors.Is(errs[1], fault) || errs[2] != nil {
		t.Errorf("got errors %v", errs)
	}
	stored(t, s, "b a")
}

// TestBatchCommit checks that if the commit fails, it fails for every caller, and nothing is stored
// or remembered.
func TestBatchCommit(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	errs := together(t, s.writer, newRun(s, "a"), newRun(s, "b"), func(c *conn) error {
		_, err := c.exec(sqlRollback) // as SQLite does by itself on a full disk
		return err
	})
	for i, err := range errs {
		if err == nil {
			t.Errorf("operation %d succeeded without a commit", i)
		}
	}
	stored(t, s, "")
	if errs := together(t, s.writer, newRun(s, "a")); errs[0] != nil {
		t.Error(errs[0])
	}
	stored(t, s, "a")
}

func stored(t *testing.T, s *Store, want string) {
	t.Helper()
	page, _, err := s.List(context.Background(), journal.Query{})
	got := ""
	for i, h := range page {
		if i > 0 {
			got += " "
		}
		got += h.Run
	}
	if err != nil || got != want {
		t.Errorf("stored: %s, %v, want %s", got, err, want)
	}
}
