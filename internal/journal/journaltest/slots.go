package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// queue puts a run into the queue with the given name.
func queue(t *testing.T, s journal.Slots, name, run string, most int) {
	t.Helper()
	if _, err := s.Queue(t.Context(), journal.Slot{Name: name, Run: run, Max: most}); err != nil {
		t.Fatal(err)
	}
}

// turn checks a run's position in the queue. want is `slot` or `behind RUN/BEFORE`, then the runs
// with slots.
func turn(t *testing.T, s journal.Slots, run, want string) {
	t.Helper()
	got, err := s.Turn(t.Context(), run)
	if err != nil || turnText(got) != want {
		t.Errorf("run %s: %s, %v; want %s", run, turnText(got), err, want)
	}
}

func turnText(t journal.Turn) string {
	text := fmt.Sprintf("behind %s/%d", t.Behind, t.Before)
	if t.Admitted {
		text = "slot"
	}
	return strings.TrimSpace(text + " " + strings.Join(t.Busy, " "))
}

// admitted checks whether a run got a slot.
func admitted(t *testing.T, s journal.Slots, run string, want bool) {
	t.Helper()
	got, err := s.Admit(t.Context(), run)
	if err != nil || got.Admitted != want {
		t.Errorf("run %s: %+v, %v; want a slot: %t", run, got, err, want)
	}
}

// pending returns an append that creates a run that waits for a slot.
func pending(run string) journal.Append {
	a := create(run, 0)
	a.Status = journal.StatusPending
	return a
}

// testSlots checks that the first n runs of a queue have slots until they end; a run is skipped
// only if it cannot continue.
func testSlots(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	ctx := t.Context()
	const name = "a\x00\xff"
	for i, h := range []journal.Backend{a, b, a, b, a} {
		run := fmt.Sprintf("r%d", i)
		got, err := h.Queue(ctx, journal.Slot{Name: name, Run: run, Max: 2})
		if err != nil || got.Admitted != (i < 2) {
			t.Errorf("run %s: %+v, %v", run, got, err)
		}
		mustAppend(t, h, pending(run))
		if err := h.Confirm(ctx, run); err != nil {
			t.Fatal(err)
		}
	}
	queue(t, b, "other", "x", 1)
	admitted(t, b, "x", true)

	admitted(t, a, "r0", true)
	admitted(t, b, "r1", true)
	admitted(t, a, "r2", false)
	turn(t, b, "r0", "slot r1")
	turn(t, b, "r2", "behind /0 r0 r1")
	turn(t, b, "r4", "behind r3/2 r0 r1")

	paused := next("r0", 2)
	paused.Status = journal.StatusPaused
	mustAppend(t, a, paused)
	admitted(t, a, "r2", false)
	end := next("r2", 2)
	end.Status = journal.StatusCancelled
	mustAppend(t, a, end)
	turn(t, b, "r4", "behind r3/1 r0 r1")
	end = next("r1", 2)
	end.Status = journal.StatusFailed
	mustAppend(t, b, end)
	admitted(t, a, "r4", false)
	admitted(t, b, "r3", true)
	turn(t, a, "r4", "behind /0 r0 r3")
	if _, err := a.Admit(ctx, "r1"); err == nil {
		t.Error("a run that ended before the last that got a slot is still in line")
	}

	_, err := b.Queue(ctx, journal.Slot{Name: "another", Run: "r4", Max: 2})
	checkRejected(t, "a run that is in a line", err, journal.ErrExists)
	if got, err := b.Queue(ctx, journal.Slot{Name: name, Run: "r5", Max: 3, OnlyFree: true}); err != nil ||
		turnText(got) != "behind r4/0 r0 r3" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = a.Turn(ctx, "r5")
	checkRejected(t, "a run that found no slot free", err, journal.ErrNotFound)
	if got, err := b.Queue(ctx, journal.Slot{Name: "free", Run: "r5", Max: 1, OnlyFree: true}); err != nil ||
		!got.Admitted {
		t.Errorf("%+v, %v", got, err)
	}
	// A run that has ended queues again, as a reopened run does.
	queue(t, a, name, "r1", 2)
	turn(t, b, "r1", "behind r4/1 r0 r3")
	if err := b.Unqueue(ctx, "r5"); err != nil {
		t.Fatal(err)
	}
	if err := b.Unqueue(ctx, "r5"); err != nil {
		t.Fatal(err)
	}
	_, err = a.Turn(ctx, "r5")
	checkRejected(t, "a run that left its line", err, journal.ErrNotFound)
	_, err = a.Admit(ctx, "r5")
	checkRejected(t, "a run that left its line", err, journal.ErrNotFound)
	for _, bad := range []journal.Slot{{}, {Name: "a", Run: "r"}, {Run: "r", Max: 1}, {Name: "a", Max: 1},
		{Name: "a", Run: "r", Max: 1001}, {Name: strings.Repeat("a", 2049), Run: "r", Max: 1}} {
		if _, err := a.Queue(ctx, bad); err == nil {
			t.Errorf("the slot %+v was taken", bad)
		}
	}
	// Pruning a run also removes its slot.
	queue(t, a, "once", "r6", 1)
	mustAppend(t, a, pending("r6"))
	if err := a.Confirm(ctx, "r6"); err != nil {
		t.Fatal(err)
	}
	end = next("r6", 2)
	end.Status, end.Release = journal.StatusCancelled, true
	mustAppend(t, a, end)
	turn(t, b, "r6", "slot")
	if res, err := b.Prune(ctx, journal.PruneQuery{Runs: []string{"r6"}}); err != nil || res.Runs != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	_, err = a.Turn(ctx, "r6")
	checkRejected(t, "a run that was pruned", err, journal.ErrNotFound)
	queue(t, a, strings.Repeat("\xff", journal.MaxSlotName), "long", journal.MaxSlots)
	admitted(t, a, "long", true)
}

// testSlotsOfDead checks that a run keeps its slot when its owner dies. A waiting run is skipped
// meanwhile, unless it was released for claiming, and keeps its position. A run that was not stored
// before its process died is in no queue.
func testSlotsOfDead(t *testing.T, m Medium) {
	living := handle(t, m)
	ctx := t.Context()
	dying := m.Open(t)
	for _, run := range []string{"runs", "full", "given", "waits", "unborn"} {
		queue(t, dying, "n", run, 2)
		if run == "unborn" {
			continue
		}
		mustAppend(t, dying, pending(run))
		if err := dying.Confirm(ctx, run); err != nil {
			t.Fatal(err)
		}
	}
	admitted(t, dying, "runs", true)
	moved := next("runs", 2)
	moved.Status = journal.StatusRunning
	mustAppend(t, dying, moved)
	if err := dying.Return(ctx, "given", 1); err != nil {
		t.Fatal(err)
	}
	queue(t, living, "n", "last", 2)
	turn(t, living, "last", "behind unborn/3 runs full")
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	turn(t, living, "last", "behind given/1 runs full")
	head, err := living.Claim(ctx, "full")
	if err != nil {
		t.Fatal(err)
	}
	end := next("full", 2)
	end.Epoch, end.Status, end.Release = head.Epoch, journal.StatusCompleted, true
	mustAppend(t, living, end)
	if _, err := living.Claim(ctx, "given"); err != nil {
		t.Fatal(err)
	}
	admitted(t, living, "given", true)
	turn(t, living, "last", "behind /0 runs given")
	if _, err := living.Claim(ctx, "waits"); err != nil {
		t.Fatal(err)
	}
	turn(t, living, "last", "behind waits/1 runs given")
	head, err = living.Claim(ctx, "runs")
	if err != nil {
		t.Fatal(err)
	}
	end = next("runs", 3)
	end.Epoch, end.Status, end.Release = head.Epoch, journal.StatusCompleted, true
	mustAppend(t, living, end)
	admitted(t, living, "waits", true)
	if _, err := living.Prune(ctx, journal.PruneQuery{Runs: []string{"runs"}}); err != nil {
		t.Fatal(err)
	}
	turn(t, living, "last", "behind /0 given waits")
}

// testSlotsAtOnce checks that if 50 runs queue simultaneously from three handles, never more than n
// have a slot, and each gets one in order.
func testSlotsAtOnce(t *testing.T, m Medium) {
	handles := []journal.Backend{handle(t, m), handle(t, m), handle(t, m)}
	const most = 3
	var mu sync.Mutex
	now, peak := 0, 0
	var order []string
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			h, run := handles[i%3], fmt.Sprintf("r%d", i)
			got, err := h.Queue(t.Context(), journal.Slot{Name: "n", Run: run, Max: most})
			for err == nil && !got.Admitted {
				got, err = h.Admit(t.Context(), run)
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			now++
			peak = max(peak, now)
			order = append(order, run)
			mu.Unlock()
			mu.Lock()
			now--
			mu.Unlock()
			if err := h.Unqueue(t.Context(), run); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak > most {
		t.Errorf("%d runs had slots at once, want at most %d", peak, most)
	}
	slices.Sort(order)
	if n := len(slices.Compact(order)); n != 50 {
		t.Errorf("%d runs got slots, want 50", n)
	}
}
