package sqlite

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// grouped returns appends of a second record to runs, as they are in the queue.
func grouped(s *Store, runs int) []*op {
	ops := make([]*op, runs)
	for i := range ops {
		p := &pendingAppend{Append: journal.Append{
			Run: fmt.Sprint("run", i), Epoch: 1,
			Record: journal.Record{First: 2, Last: 4, Version: 1, Data: []byte{byte(i), 'y'}},
			At:     time.Unix(2, int64(i)*1000), Status: journal.StatusRunning,
		}, owner: s.owners.number.Load()}
		p.digest = p.Record.Digest()
		p.op = op{do: func(c *conn) error { return s.writer.append(c, p) }, appends: p, done: make(chan struct{}, 1)}
		ops[i] = &p.op
	}
	return ops
}

func createRuns(t *testing.T, s *Store, runs int) {
	t.Helper()
	for i := range runs {
		a := journal.Append{
			Run: fmt.Sprint("run", i), Create: &journal.NewRun{},
			Record: journal.Record{First: 1, Last: 1, Data: []byte("x")},
			At:     time.Unix(1, 0), Status: journal.StatusRunning,
		}
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGroupCommit checks that appends stored with grouped statements are the same as those stored
// alone, whatever their number.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{1, 2, 3, 31, 32, 33, 95} {
		s := openStore(t)
		createRuns(t, s, runs)
		for i, err := range togetherOps(t, s.writer, grouped(s, runs)...) {
			if err != nil {
				t.Fatalf("append %d of %d: %v", i, runs, err)
			}
		}
		for i := range runs {
			checkGrouped(t, s, i)
		}
	}
}

// checkGrouped checks what is stored of a run after the append of grouped. Read compares the sums
// too.
func checkGrouped(t *testing.T, s *Store, i int) {
	t.Helper()
	run := fmt.Sprint("run", i)
	records, err := s.Read(t.Context(), run, 0)
	if err != nil || len(records) != 2 || records[1].First != 2 || records[1].Last != 4 ||
		string(records[1].Data) != string([]byte{byte(i), 'y'}) {
		t.Errorf("run %d: got %v, %v", i, records, err)
	}
	head, err := s.Head(t.Context(), run)
	if want := time.Unix(2, int64(i)*1000); err != nil || head.LastSeq != 4 || !head.Updated.Equal(want) {
		t.Errorf("run %d: got head %+v, %v", i, head, err)
	}
}

// TestGroupChanged checks that an append to a run that another process claimed is rejected, and
// that the other appends of the group are stored.
func TestGroupChanged(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	const runs = 5
	createRuns(t, s, runs)
	other, err := Open(t.Context(), s.path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Evict(t.Context(), "run3", s.Owner().ID), other.Close()); err != nil {
		t.Fatal(err)
	}
	for i, err := range togetherOps(t, s.writer, grouped(s, runs)...) {
		if i == 3 {
			if !errors.Is(err, journal.ErrFenced) {
				t.Errorf("append to the run that was taken: got %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("append %d: %v", i, err)
		}
		checkGrouped(t, s, i)
	}
	if records, err := s.Read(t.Context(), "run3", 0); err != nil || len(records) != 1 {
		t.Errorf("the run that was taken has %d records, %v", len(records), err)
	}
}

// TestGroupRun checks that two appends to one run in one transaction follow each other, and that a
// duplicate is rejected.
func TestGroupRun(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	createRuns(t, s, 2)
	ops := append(grouped(s, 2), grouped(s, 1)...)
	third := grouped(s, 1)[0]
	third.appends.Record.First, third.appends.Record.Last = 5, 5
	errs := togetherOps(t, s.writer, append(ops, third)...)
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], journal.ErrConflict) || errs[3] != nil {
		t.Errorf("got errors %v", errs)
	}
	if records, err := s.Read(t.Context(), "run0", 0); err != nil || len(records) != 3 {
		t.Errorf("got %d records, %v", len(records), err)
	}
}

// TestWAL_ManyWriters checks that the log restarts although each process writes little and another
// one keeps the store open.
func TestWAL_ManyWriters(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	if _, _, err := s.List(t.Context(), journal.Query{}); err != nil { // its connection stays open
		t.Fatal(err)
	}
	largest := int64(0)
	for i := range 90 {
		w, err := Open(t.Context(), s.path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		a := journal.Append{
			Run: fmt.Sprint("run", i), Create: &journal.NewRun{},
			Record: journal.Record{First: 1, Last: 1, Data: make([]byte, checkWAL/2)},
			At:     time.Unix(1, 0), Status: journal.StatusCompleted, Release: true,
		}
		if err := errors.Join(w.Append(t.Context(), a), w.Close()); err != nil {
			t.Fatal(err)
		}
		log, err := os.Stat(s.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, log.Size())
	}
	if largest > maxWAL {
		t.Errorf("the log had %d bytes", largest)
	}
}
