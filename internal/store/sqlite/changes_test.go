package sqlite

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// looking returns a handle that polls only when a test calls poll.
func looking(t *testing.T, path string, topics ...journal.Topic) (s *Store, signals func() []journal.Topic) {
	t.Helper()
	s, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.changes.probed = time.Now().Add(time.Hour) // owners are not probed
	channels := map[journal.Topic]chan struct{}{}
	for _, topic := range topics {
		channels[topic] = make(chan struct{}, 1)
		t.Cleanup(s.changes.hub.Subscribe(channels[topic], topic))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, func() (found []journal.Topic) {
		for _, topic := range topics {
			select {
			case <-channels[topic]:
				found = append(found, topic)
			default:
			}
		}
		return found
	}
}

func changeAppend(run string, seq uint64, notices ...journal.Notice) journal.Append {
	a := journal.Append{Run: run, Epoch: 1, Record: journal.Record{First: seq, Last: seq, Data: []byte("data")},
		Status: journal.StatusRunning, Notices: notices}
	if seq == 1 {
		a.Create = &journal.NewRun{Kind: journal.KindRun}
	}
	return a
}

// TestPoll checks that a poll signals the topics that another handle changed, and no others, that
// it takes one statement if nothing was stored, and that everything is signalled after an error.
func TestPoll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	one, two, requests, notices := journal.OfRun("r1"), journal.OfRun("r2"), journal.OfRequests(), journal.OfNotices()
	starts := journal.OfStarts()
	all := []journal.Topic{one, two, requests, notices, starts}
	s, signals := looking(t, path, all...)
	other, err := Open(t.Context(), path, Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx := t.Context()
	rename := func(q tables.Text) error {
		return other.Write(ctx, 0, func(tx tables.Tx) error {
			_, err := tx.Exec(q)
			return err
		})
	}
	var request uint64
	for _, step := range []struct {
		name string
		do   func() error
		want []journal.Topic
		none bool // whether there was nothing to signal
	}{
		{"first look", func() error { return nil }, all, false},
		{"nothing", func() error { return nil }, nil, true},
		{"create", func() error { return other.Append(ctx, changeAppend("r1", 1)) }, []journal.Topic{one, starts},
			false},
		{"create another", func() error {
			return other.Append(ctx, changeAppend("r2", 1))
		}, []journal.Topic{two, starts}, false},
		{"append", func() error { return other.Append(ctx, changeAppend("r1", 2)) }, []journal.Topic{one}, false},
		{"append with a notice", func() error {
			return other.Append(ctx, changeAppend("r1", 3, journal.Notice{Seq: 3, Type: "run.completed"}))
		}, []journal.Topic{one, notices}, false},
		{"nothing again", func() error { return nil }, nil, true},
		{"heartbeat", func() error { return other.Sign(ctx, time.Unix(1, 0)) }, nil, true},
		{"post", func() (err error) {
			request, err = other.Post(ctx, journal.Request{Run: "r1", Kind: "cancel"})
			return err
		}, []journal.Topic{requests}, false},
		{"settle", func() error { return other.Settle(ctx, request, nil) }, []journal.Topic{requests}, false},
		{"release", func() error { return other.Release(ctx, "r1", 1) }, []journal.Topic{one, two, requests}, false},
		{"prune", func() error {
			_, err := other.Prune(ctx, journal.PruneQuery{Runs: []string{"r1"}})
			return err
		}, []journal.Topic{one, two, notices}, false},
		{"error", func() error { return rename("ALTER TABLE changes RENAME TO gone") }, nil, true},
		{"after the error", func() error { return rename("ALTER TABLE gone RENAME TO changes") }, all, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		changed := s.changes.poll()
		if got := signals(); !slices.Equal(got, step.want) || changed == step.none {
			t.Errorf("%s: signalled %v, want %v; changed %t", step.name, got, step.want, changed)
		}
	}
}

// TestProbe checks that the death of an owner is signalled to those who wait for runs, even if it
// started and died between two probes.
func TestProbe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	one := journal.OfRun("r1")
	s, signals := looking(t, path, one, journal.OfRequests())
	probe := func(what string, want ...journal.Topic) {
		t.Helper()
		signals()
		s.changes.probed = time.Time{}
		s.changes.probe()
		if got := signals(); !slices.Equal(got, want) {
			t.Errorf("%s: signalled %v, want %v", what, got, want)
		}
		s.changes.poll()
	}
	owner := func() *Store {
		t.Helper()
		other, err := Open(t.Context(), path, Config{Kind: journal.KindRun})
		if err == nil {
			err = other.Sign(t.Context(), time.Unix(1, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	dies := func(other *Store) {
		t.Helper()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.changes.poll()
	probe("no owner")
	other := owner()
	s.changes.poll() // notices that an owner arrived
	probe("new owner", one, journal.OfRequests())
	probe("living owner")
	dies(other)
	probe("dead owner", one, journal.OfRequests())
	probe("no owner again")
	dies(owner())
	s.changes.poll()
	probe("an owner that came and died", one, journal.OfRequests())
	probe("nothing")
}

// TestPoll_ReusedSequenceNumbers checks that records appended under the numbers of pruned records
// are noticed.
func TestPoll_ReusedSequenceNumbers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	two := journal.OfRun("r2")
	s, signals := looking(t, path, two)
	other, err := Open(t.Context(), path, Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, a := range []journal.Append{changeAppend("r2", 1), changeAppend("r1", 1), changeAppend("r1", 2),
		changeAppend("r1", 3)} {
		if err := other.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Release(t.Context(), "r1", 1); err != nil {
		t.Fatal(err)
	}
	s.changes.poll()
	signals()
	if _, err := other.Prune(t.Context(), journal.PruneQuery{Runs: []string{"r1"}}); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(2); seq < 4; seq++ { // fewer than were pruned
		if err := other.Append(t.Context(), changeAppend("r2", seq)); err != nil {
			t.Fatal(err)
		}
	}
	s.changes.poll()
	if got := signals(); len(got) != 1 {
		t.Error("not signalled")
	}
}

// TestPoll_StopsWithoutSubscribers checks that the polling goroutine lives as long as there are
// subscribers, and that a store without subscribers opens no connection for it.
func TestPoll_StopsWithoutSubscribers(t *testing.T) {
	t.Parallel()
	s, _ := looking(t, filepath.Join(t.TempDir(), "hocket.db"))
	c := make(chan struct{}, 1)
	for range 3 {
		first, second := s.Subscribe(c, journal.OfRequests()), s.Subscribe(c, journal.OfNotices())
		first()
		first()
		if s.changes.stop == nil {
			t.Error("no goroutine though there is a subscriber")
		}
		second()
		if s.changes.stop != nil {
			t.Error("a goroutine without subscribers")
		}
	}
	s.changes.running.Lock()
	defer s.changes.running.Unlock()
}

// TestClose_SignalsSubscribers checks that subscribers are signalled when the handle has been
// closed, not before, because their next read must fail.
func TestClose_SignalsSubscribers(t *testing.T) {
	t.Parallel()
	s, _ := looking(t, filepath.Join(t.TempDir(), "hocket.db"))
	c := make(chan struct{}, 1)
	defer s.changes.hub.Subscribe(c, journal.OfRun("r1"))()
	closed := make(chan error, 1)
	err := s.readers.read(t.Context(), func(*conn) error {
		go func() { closed <- s.Close() }()
		for s.readers.mu.TryRLock() { // until Close waits for this reader
			s.readers.mu.RUnlock()
			runtime.Gosched()
		}
		if len(c) > 0 {
			t.Error("signalled while the handle can be read")
		}
		return nil
	})
	if err := errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if len(c) == 0 {
		t.Error("not signalled")
	}
}
