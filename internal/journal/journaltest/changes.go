package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// signalTime is how long a test waits for an expected signal before it fails. It is not a
// measurement.
const signalTime = time.Minute

// signalled receives signals until holds returns true, as waiters do, but without their safety
// poll. It calls holds before the first receive, because the caller has already subscribed.
func signalled(t *testing.T, c <-chan struct{}, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(signalTime)
	defer limit.Stop()
	for !holds() {
		select {
		case <-c:
		case <-limit.C:
			t.Fatalf("%s: no signal", what)
		}
	}
}

func subscribe(t *testing.T, s journal.Changes, topics ...journal.Topic) chan struct{} {
	t.Helper()
	c := make(chan struct{}, 1)
	t.Cleanup(s.Subscribe(c, topics...))
	return c
}

func exists(t *testing.T, s journal.Lists, run string) bool {
	t.Helper()
	_, err := s.Head(t.Context(), run)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// testChanges checks that each change is signaled to the subscribers of its topic: on the handle
// that stored it, before the call returns; on other handles, once they can read it.
func testChanges(t *testing.T, m Medium) {
	owner, other := handle(t, m), handle(t, m)
	mustAppend(t, owner, create("r1", 0), create("r2", 0))
	ctx := t.Context()
	noticed := next("r1", 3)
	noticed.Notices = []journal.Notice{{Seq: 3, Type: "wait.opened"}}
	var request uint64
	for _, c := range []struct {
		name  string
		topic journal.Topic
		do    func() error
		seen  func() bool // on the other handle
	}{
		{"append", journal.OfRun("r1"), func() error { return owner.Append(ctx, next("r1", 2)) }, func() bool {
			return head(t, other, "r1").LastSeq == 2
		}},
		{"notice", journal.OfNotices(), func() error { return owner.Append(ctx, noticed) }, func() bool {
			n, err := other.LastNotice(ctx)
			return n > 0 && err == nil
		}},
		{"start", journal.OfStarts(), func() error { return owner.Append(ctx, create("r4", 1)) }, func() bool {
			return exists(t, other, "r4")
		}},
		{"new run", journal.OfRun("r3"), func() error { return owner.Append(ctx, create("r3", 1)) }, func() bool {
			return exists(t, other, "r3")
		}},
		{"post", journal.OfRequests(), func() (err error) {
			request, err = owner.Post(ctx, journal.Request{Run: "r1", Kind: "cancel"})
			return err
		}, func() bool {
			_, _, err := other.Result(ctx, request)
			return err == nil
		}},
		{"settle", journal.OfRequests(), func() error { return owner.Settle(ctx, request, []byte("done")) },
			func() bool {
				_, done, err := other.Result(ctx, request)
				return done && err == nil
			}},
		{"release", journal.OfRun("r2"), func() error { return owner.Release(ctx, "r2", 1) }, func() bool {
			return head(t, other, "r2").Owner == ""
		}},
		{"claim", journal.OfRun("r2"), func() error {
			_, err := owner.Claim(ctx, "r2")
			return err
		}, func() bool { return head(t, other, "r2").Owner != "" }},
		{"prune", journal.OfRun("r2"), func() error {
			if err := owner.Evict(ctx, "r2", owner.Owner().ID); err != nil {
				return err
			}
			_, err := owner.Prune(ctx, journal.PruneQuery{Runs: []string{"r2"}})
			return err
		}, func() bool { return !exists(t, other, "r2") }},
	} {
		own, others := subscribe(t, owner, c.topic), subscribe(t, other, c.topic)
		if c.seen() {
			t.Errorf("%s: seen before it was stored", c.name)
		}
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(own) != 1 {
			t.Errorf("%s: not signalled on the handle that stored it", c.name)
		}
		signalled(t, others, c.name, c.seen)
	}
}

// testChangesNotMissed checks that a waiter that subscribes, reads and receives sees everything
// stored meanwhile, whenever it subscribes.
func testChangesNotMissed(t *testing.T, m Medium) {
	const events = 100
	owner, other := handle(t, m), handle(t, m)
	var wg sync.WaitGroup
	for i := range 4 {
		run := fmt.Sprintf("r%d", i)
		mustAppend(t, owner, create(run, 0))
		for _, s := range []journal.Backend{owner, other} {
			wg.Go(func() {
				for seq := uint64(2); seq <= events; seq = head(t, s, run).LastSeq + 1 {
					c := make(chan struct{}, 1)
					stop := s.Subscribe(c, journal.OfRun(run))
					signalled(t, c, "append", func() bool { return head(t, s, run).LastSeq >= seq })
					stop()
				}
			})
		}
		wg.Go(func() {
			for seq := uint64(2); seq <= events; seq++ {
				if err := owner.Append(t.Context(), next(run, seq)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// testChangesJoined checks that a subscriber that does not receive blocks nothing, and finds one
// signal for all changes.
func testChangesJoined(t *testing.T, m Medium) {
	s := handle(t, m)
	mustAppend(t, s, create("r1", 0), create("r2", 0))
	c := make(chan struct{}, 1)
	stops := []func(){s.Subscribe(c, journal.OfRun("r1"), journal.OfNotices()), s.Subscribe(c, journal.OfRun("r2"))}
	full := make(chan struct{}) // no room for a signal
	stops = append(stops, s.Subscribe(full, journal.OfRun("r1")))
	for seq := uint64(2); seq < 12; seq++ {
		mustAppend(t, s, next("r1", seq), next("r2", seq))
	}
	if len(c) != 1 {
		t.Error("not signalled")
	}
	for _, stop := range stops {
		stop()
		stop()
	}
	<-c
	mustAppend(t, s, next("r1", 12), next("r2", 12))
	signalled(t, subscribe(t, s, journal.OfRun("r1")), "append", func() bool { return head(t, s, "r1").LastSeq == 12 })
	if len(c) != 0 {
		t.Error("signalled after stop")
	}
}

// testChangesDeath checks that the death of an owner is signaled to those waiting for its runs, if
// the store can detect it.
func testChangesDeath(t *testing.T, m Medium) {
	owner, other := m.Open(t), handle(t, m)
	mustAppend(t, owner, create("r1", 0))
	c := subscribe(t, other, journal.OfRun("r1"))
	if head(t, other, "r1").Interrupted {
		t.Error("interrupted while its owner lives")
	}
	mustClose(t, owner)
	signalled(t, c, "death of the owner", func() bool { return head(t, other, "r1").Interrupted })
}

// testChangesClose checks that subscribers of a closed handle are signaled, and that its reads
// return the reason.
func testChangesClose(t *testing.T, m Medium) {
	s := m.Open(t)
	mustAppend(t, s, create("r1", 0))
	var channels []chan struct{}
	for _, topic := range []journal.Topic{journal.OfRun("r1"), journal.OfRequests(), journal.OfNotices()} {
		channels = append(channels, subscribe(t, s, topic))
	}
	mustClose(t, s)
	for i, c := range channels {
		if len(c) != 1 {
			t.Errorf("subscriber %d is not signalled", i)
		}
	}
	_, err := s.Head(t.Context(), "r1")
	checkRejected(t, "read after close", err, journal.ErrClosed)
	s.Subscribe(make(chan struct{}, 1), journal.OfRun("r1"))()
}
