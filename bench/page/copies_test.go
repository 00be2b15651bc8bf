package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hocket-run/hocket/bench/internal/fill"
	"github.com/hocket-run/hocket/internal/journal"
)

// filled returns a store with n ended runs, each of its own workflow.
func filled(t *testing.T, n int) journal.Backend {
	t.Helper()
	s := journal.NewMemory().Open(journal.KindServe)
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		err := s.Append(t.Context(), journal.Append{
			Run: fmt.Sprintf("run%d", i), Create: &journal.NewRun{Workflow: fmt.Sprintf("w%d", i),
				Kind: journal.KindServe, Created: at},
			Record: journal.Record{First: 1, Last: 1, Data: []byte("x")}, At: at, Status: journal.StatusCompleted,
			Release: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestCopies checks that all runs of a store are copied, including those beyond the first page of
// its list, and that no copy is copied.
func TestCopies(t *testing.T) {
	t.Parallel()
	const runs = 60
	s := filled(t, runs)
	for round := range 2 {
		if err := copies(t.Context(), s, 2*runs); err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			list, _, err := s.List(t.Context(), journal.Query{Workflow: fmt.Sprintf("w%d", i)})
			if want := 1 + 2*(round+1); err != nil || len(list) != want {
				t.Errorf("round %d: workflow w%d has %d runs, want %d; %v", round, i, len(list), want, err)
			}
		}
	}
	if _, err := s.Head(t.Context(), fill.ID(4*runs-1)); err != nil {
		t.Errorf("the last copy: %v", err)
	}
	if err := copies(t.Context(), filled(t, 0), 1); err == nil {
		t.Error("a store without runs was copied")
	}
}

// failingStore is a store that fails after a number of appends.
type failingStore struct {
	journal.Backend
	after string
}

var errFull = errors.New("the disk is full")

func (f *failingStore) Append(ctx context.Context, a journal.Append) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.Run >= f.after {
		return errFull
	}
	return f.Backend.Append(ctx, a)
}

// TestCopiesFail checks that the error is the first failure, without those of the workers that it
// stopped.
func TestCopiesFail(t *testing.T) {
	t.Parallel()
	err := copies(t.Context(), &failingStore{filled(t, 1), fill.ID(700)}, 5000)
	if !errors.Is(err, errFull) || err.Error() != errFull.Error() {
		t.Errorf("the error is %q", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := copies(ctx, filled(t, 1), 5000); !errors.Is(err, context.Canceled) {
		t.Errorf("who stops it gets %v", err)
	}
}
