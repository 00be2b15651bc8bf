package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// used returns the size of the file after folding its log into it.
func used(t testing.TB, s journal.Lists, path string) int64 {
	t.Helper()
	if _, err := s.Prune(context.Background(), journal.PruneQuery{}); err != nil { // prunes nothing, but folds the log
		t.Fatal(err)
	}
	return size(t, path)
}

// TestPausedRun_Size checks that a paused run takes at most 1.5 KB in addition to its data.
func TestPausedRun_Size(t *testing.T) {
	t.Parallel()
	const runs, steps, most = 2000 / testScale, 4, 1500
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	definition := journal.NewBlob(bytes.Repeat([]byte("nodes\n"), 500))
	before := used(t, s, path)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			a := benchCreate(i)
			a.Create.Definition = definition.Hash
			a.Create.Meta = map[string]string{"version": "3"}
			a.Blobs = []journal.Blob{definition}
			for n := range steps {
				if n == steps-1 {
					a.Status, a.Waiting, a.Release = journal.StatusPaused, 1, true
				}
				if err := s.Append(t.Context(), a); err != nil {
					t.Error(err)
					return
				}
				a = benchNext(i, a.Record.Last+1, a.Record.Data)
			}
		})
	}
	wg.Wait()
	beyond := (used(t, s, path)-before-int64(len(definition.Data)))/runs - steps*benchRecord
	t.Logf("%d bytes beyond the data", beyond)
	if beyond > most {
		t.Errorf("a paused run takes %d bytes beyond its data, at most %d are allowed", beyond, most)
	}
}

// TestConversation_LinearGrowth checks that the growth of the file with each step does not depend
// on how many steps came before (P6): 100 turns of 5 KB take at most 1.3 times their bytes, and the
// second fifty as much as the first.
func TestConversation_LinearGrowth(t *testing.T) {
	t.Parallel()
	const runs, turns, turn = 20, 100, 5000
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	for i := range runs {
		if err := s.Append(t.Context(), benchCreate(i)); err != nil {
			t.Fatal(err)
		}
	}
	half := func(from uint64) int64 {
		before := used(t, s, path)
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				for n := from; n < from+turns/2; n++ {
					a := benchNext(i, 4+3*n, bytes.Repeat([]byte{byte(i), byte(n)}, turn/2))
					if err := s.Append(t.Context(), a); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return used(t, s, path) - before
	}
	first, second := half(0), half(turns/2)
	t.Logf("first fifty turns %d bytes, second fifty %d", first, second)
	unique := int64(runs * turns * turn)
	if first+second > unique*13/10 {
		t.Errorf("%d bytes for %d unique ones", first+second, unique)
	}
	if second > first*11/10 {
		t.Errorf("the first fifty turns take %d bytes, the second %d", first, second)
	}
}

// TestWrite_ContextDone checks that a caller that leaves while another process locks the store has
// written nothing, and that others continue to write once the lock is free.
func TestWrite_ContextDone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	free := lock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 5 { // the first leads, the others are queued
		wg.Go(func() {
			a := benchNext(0, 4, fmt.Appendf(nil, "by %d", i))
			if err := s.Append(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("append while the store is locked: %v", err)
			}
		})
	}
	wg.Wait()
	patient := make(chan error)
	go func() { patient <- s.Append(t.Context(), benchNext(0, 4, []byte("patient"))) }()
	if _, err := s.Read(t.Context(), benchRun(0), 0); err != nil {
		t.Errorf("read while the store is locked: %v", err)
	}
	free()
	if err := <-patient; err != nil {
		t.Error(err)
	}
	records, err := s.Read(t.Context(), benchRun(0), 3)
	if err != nil || len(records) != 1 || string(records[0].Data) != "patient" {
		t.Errorf("stored: %v, %v", records, err)
	}
}

// TestCloseWhileLocked checks that Close does not wait forever for another process, and notifies
// waiting callers.
func TestCloseWhileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	s.LosePatience()
	free := lock(t, path)
	defer free()
	waiting := make(chan error)
	go func() { waiting <- s.Append(t.Context(), benchNext(0, 4, []byte("x"))) }()
	for !s.IsWriting() {
		runtime.Gosched()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, journal.ErrClosed) {
		t.Errorf("got error %v", err)
	}
}
