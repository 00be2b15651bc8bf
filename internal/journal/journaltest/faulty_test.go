package journaltest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/journaltest"
)

// script creates a run and writes to it until a write fails, and returns the number of events that
// it believes are stored. After a fault it reads again, once.
func script(t *testing.T, f *journaltest.Faulty) (believed uint64) {
	t.Helper()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	a := journal.Append{
		Run: "r", Create: &journal.NewRun{Created: at}, Record: journal.Record{First: 1, Last: 1, Data: []byte("x")},
		At: at, Status: journal.StatusRunning,
	}
	for range 6 {
		if err := f.Append(t.Context(), a); err != nil {
			if !errors.Is(err, journaltest.ErrInjected) {
				t.Fatal(err)
			}
			return a.Record.First - 1
		}
		a.Create, a.Epoch = nil, 1
		a.Record.First, a.Record.Last = a.Record.Last+1, a.Record.Last+1
	}
	return a.Record.First - 1
}

func TestFaulty(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		plan     func(f *journaltest.Faulty)
		believed uint64
		stored   uint64
		isDead   bool
	}{
		{"nothing", func(*journaltest.Faulty) {}, 6, 6, false},
		{"fail before", func(f *journaltest.Faulty) { f.FailBefore(3) }, 2, 2, false},
		{"fail after", func(f *journaltest.Faulty) { f.FailAfter(3) }, 2, 3, false},
		{"die before", func(f *journaltest.Faulty) { f.DieBefore(1) }, 0, 0, true},
		{"die after", func(f *journaltest.Faulty) { f.DieAfter(6) }, 5, 6, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := journal.NewMemory()
			f := journaltest.NewFaulty(m.Open(journal.KindRun))
			tt.plan(f)
			if got := script(t, f); got != tt.believed {
				t.Errorf("believed to be stored: %d, want %d", got, tt.believed)
			}
			if f.IsDead() != tt.isDead {
				t.Errorf("dead: %v", f.IsDead())
			}
			h, err := m.Open(journal.KindRun).Head(t.Context(), "r")
			if h.LastSeq != tt.stored || (err == nil) != (tt.stored > 0) {
				t.Errorf("stored: %d, want %d, %v", h.LastSeq, tt.stored, err)
			}
		})
	}
}

// TestFaultyDead checks that a dead handle does nothing at all until it is revived.
func TestFaultyDead(t *testing.T) {
	t.Parallel()
	m := journal.NewMemory()
	f := journaltest.NewFaulty(m.Open(journal.KindRun))
	f.DieAfter(2)
	script(t, f)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"append":  func() error { return f.Append(ctx, journal.Append{}) },
		"read":    func() error { _, err := f.Read(ctx, "r", 0); return err },
		"blob":    func() error { _, err := f.Blob(ctx, ""); return err },
		"head":    func() error { _, err := f.Head(ctx, "r"); return err },
		"list":    func() error { _, _, err := f.List(ctx, journal.Query{}); return err },
		"prune":   func() error { _, err := f.Prune(ctx, journal.PruneQuery{}); return err },
		"claim":   func() error { _, err := f.Claim(ctx, "r"); return err },
		"release": func() error { return f.Release(ctx, "r", 1) },
		"alive":   func() error { _, err := f.Alive(ctx, ""); return err },
		"post":    func() error { _, err := f.Post(ctx, journal.Request{Run: "r"}); return err },
		"take":    func() error { _, err := f.Take(ctx); return err },
		"settle":  func() error { return f.Settle(ctx, 1, nil) },
		"result":  func() error { _, _, err := f.Result(ctx, 1); return err },
	} {
		if err := call(); !errors.Is(err, journaltest.ErrInjected) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if n := f.Writes(); n != 2 {
		t.Errorf("%d writes were counted, want 2", n)
	}
	f.Revive()
	if h, err := f.Head(ctx, "r"); err != nil || h.LastSeq != 2 {
		t.Errorf("revived: %+v, %v", h, err)
	}
}

// TestFaultyInbox checks that a request that was taken when the owner died goes to the next owner.
func TestFaultyInbox(t *testing.T) {
	t.Parallel()
	m := journal.NewMemory()
	inner := m.Open(journal.KindRun)
	f := journaltest.NewFaulty(inner)
	script(t, f)
	if _, err := f.Post(t.Context(), journal.Request{Run: "r", Kind: "cancel"}); err != nil {
		t.Fatal(err)
	}
	f.DieAfter(f.Writes() + 1)
	if got, err := f.Take(t.Context()); got != nil || !errors.Is(err, journaltest.ErrInjected) {
		t.Errorf("take: %v, %v", got, err)
	}
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	next := m.Open(journal.KindRun)
	if _, err := next.Claim(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if got, err := next.Take(t.Context()); err != nil || len(got) != 1 || got[0].Kind != "cancel" {
		t.Errorf("next owner: %v, %v", got, err)
	}
}
