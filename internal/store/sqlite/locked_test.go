package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// TestOpenWhileLocked checks that a store that is up to date can be opened, read and closed while
// another program holds its write lock. A writer is told who holds the lock, gets an error that
// names the holder when the timeout expires, and writes when the lock is free.
func TestOpenWhileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	first := open(t, path)
	if err := first.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	free := lock(t, path)
	var (
		mu    sync.Mutex
		waits []journal.LockWait
	)
	s, err := sqlite.Open(t.Context(), path, sqlite.Config{LockTimeout: 20 * time.Millisecond,
		Locked: func(w journal.LockWait) {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, w)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Read(t.Context(), benchRun(0), 0); err != nil {
		t.Error(err)
	}
	if list, _, err := s.List(t.Context(), journal.Query{}); err != nil || len(list) != 1 {
		t.Errorf("%d runs, %v", len(list), err)
	}
	for range 2 { // the second caller does not wait as long again
		var locked *journal.LockedError
		if _, err := s.Claim(t.Context(), benchRun(0)); !errors.As(err, &locked) ||
			locked.Holder != "another program" || !errors.Is(err, journal.ErrUnavailable) {
			t.Fatalf("claim while the store is locked: %v", err)
		}
	}
	mu.Lock()
	if n := len(waits); n == 0 || !waits[n-1].Over || waits[n-1].Holder != "another program" {
		t.Errorf("told: %+v", waits)
	}
	mu.Unlock()
	free()
	if _, err := s.Claim(t.Context(), benchRun(0)); err != nil {
		t.Error(err)
	}
}

// TestLockHolder checks that a waiting caller learns which Hocket process is writing.
func TestLockHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	writer, err := sqlite.Open(t.Context(), path, sqlite.Config{Kind: journal.KindServe})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	waiter, err := sqlite.Open(t.Context(), path, sqlite.Config{LockTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close()
	holds, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- writer.Write(context.Background(), 0, func(tables.Tx) error {
			close(holds)
			<-release
			return nil
		})
	}()
	<-holds
	err = waiter.Write(t.Context(), 0, func(tables.Tx) error { return nil })
	var locked *journal.LockedError
	if !errors.As(err, &locked) || locked.Holder != writer.Owner().String() {
		t.Errorf("got %v, want that %s holds the store", err, writer.Owner())
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := waiter.Write(t.Context(), 0, func(tables.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestRejected checks that what SQLite rejects permanently results in a typed error, at each port,
// harms no other run, and is not reported as a temporarily unavailable store.
func TestRejected(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	for i := range 2 {
		if err := s.Append(t.Context(), benchCreate(i)); err != nil {
			t.Fatal(err)
		}
	}
	behind(t, path, `CREATE TRIGGER no BEFORE INSERT ON records WHEN new.run = 1 BEGIN SELECT RAISE(ABORT, 'this run `+
		`takes nothing'); END`)
	rejected := func(what string, err error) {
		t.Helper()
		var r *journal.RejectedError
		if !errors.As(err, &r) || errors.Is(err, journal.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	rejected("SQLITE_CONSTRAINT", s.Append(t.Context(), benchNext(0, 4, []byte("x"))))
	if err := s.Append(t.Context(), benchNext(1, 4, []byte("x"))); err != nil {
		t.Errorf("another run: %v", err)
	}
	behind(t, path, `ALTER TABLE blobs RENAME TO elsewhere`)
	_, err := s.Blob(t.Context(), journal.HashOf(nil))
	rejected("SQLITE_ERROR by a reader", err)
	rejected("SQLITE_ERROR by a lent transaction", s.Write(t.Context(), 0, func(tx tables.Tx) error {
		_, err := tx.Exec(`INSERT INTO blobs VALUES (1)`)
		return err
	}))
	rejected("SQLITE_ERROR by a lent view", s.View(t.Context(), func(tx tables.Tx) error {
		return tx.Query(`SELECT 1 FROM blobs`, func([]any) error { return nil })
	}))
}

// behind changes a store the way another program would.
func behind(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestRead_DiskFull checks that a store whose log was left by a killed process can be read
// without an index file for the log, for which a full disk has no space.
func TestRead_DiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "hocket.db"))
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	// Create what a kill leaves: the file and its log, and an index that a new process does not
	// trust.
	left := filepath.Join(t.TempDir(), "hocket.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, "hocket.db") + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	n, err := sqlite.CountWithoutRoom(t.Context(), left)
	if n != 1 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	entries, err := os.ReadDir(filepath.Dir(left))
	for _, e := range entries {
		if err != nil || strings.HasSuffix(e.Name(), "-shm") {
			t.Errorf("%s was made, %v", e.Name(), err)
		}
	}
}
