package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// enter takes a position in a queue.
func enter(t *testing.T, s journal.Lines, line journal.Line) uint64 {
	t.Helper()
	place, err := s.Enter(t.Context(), line)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// checkStanding checks the position of a place in its queue.
func checkStanding(t *testing.T, s journal.Lines, line journal.Line, place uint64, before, all int) {
	t.Helper()
	got, err := s.Position(t.Context(), line, place)
	if want := (journal.Position{Before: before, All: all}); err != nil || got != want {
		t.Errorf("place %d of %q: %+v, %v; want %+v", place, line.Name, got, err, want)
	}
}

// testLines checks that places are ordered by when they were taken, across handles; that a released
// place is gone; and that queues are independent of each other.
func testLines(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	for _, kind := range []journal.LineKind{journal.LineSession, journal.LineKey} {
		line := journal.Line{Kind: kind, Name: "a\x00\xff"}
		one := enter(t, a, line)
		two := enter(t, b, line)
		checkStanding(t, a, line, one, 0, 2)
		checkStanding(t, a, line, two, 1, 2)
		checkStanding(t, b, line, 0, 2, 2)
		other := journal.Line{Kind: kind, Name: "b"}
		checkStanding(t, b, other, 0, 0, 0)
		last := enter(t, b, other)
		checkStanding(t, a, other, last, 0, 1)
		if err := a.Leave(t.Context(), line, one); err != nil {
			t.Fatal(err)
		}
		checkStanding(t, b, line, two, 0, 1)
		_, err := a.Position(t.Context(), line, one)
		checkRejected(t, "a place that was given up", err, journal.ErrNotFound)
		again := enter(t, a, line)
		checkStanding(t, a, line, again, 1, 2)
		if kind == journal.LineSession {
			last := enter(t, a, line)
			checkStanding(t, a, line, last, 2, 3)
			if err := a.Leave(t.Context(), line, last); err != nil {
				t.Fatal(err)
			}
		} else { // a process has one place
			checkStanding(t, a, line, enter(t, a, line), 1, 2)
			_, err := b.Position(t.Context(), line, again)
			checkRejected(t, "the place before", err, journal.ErrNotFound)
		}
		for _, place := range []uint64{one, two, two, 1 << 63} {
			if err := b.Leave(t.Context(), line, place); err != nil {
				t.Fatal(err)
			}
		}
		checkStanding(t, a, line, 0, 1, 1)
	}
	for _, bad := range []journal.Line{{}, {Kind: journal.LineSession}, {Name: "a"}, {Kind: 9, Name: "a"}} {
		if _, err := a.Enter(t.Context(), bad); err == nil {
			t.Errorf("the line %+v was entered", bad)
		}
	}
}

// testLinesAtOnce checks that 60 simultaneous entries from three handles each get their own place,
// and that all see the same order.
func testLinesAtOnce(t *testing.T, m Medium) {
	line := journal.Line{Kind: journal.LineSession, Name: "s"}
	handles := []journal.Backend{handle(t, m), handle(t, m), handle(t, m)}
	places := make([]uint64, 60)
	var wg sync.WaitGroup
	for i := range places {
		wg.Go(func() {
			place, err := handles[i%3].Enter(t.Context(), line)
			if err != nil {
				t.Error(err)
			}
			// After a place is taken, the number of places before it can only decrease.
			st, err := handles[(i+1)%3].Position(t.Context(), line, place)
			if err != nil || st.Before >= 60 {
				t.Errorf("%+v, %v", st, err)
			}
			places[i] = place
		})
	}
	wg.Wait()
	slices.Sort(places)
	if n := len(slices.Compact(slices.Clone(places))); n != 60 {
		t.Errorf("%d places, want 60", n)
	}
	for i, place := range places {
		checkStanding(t, handles[i%3], line, place, i, 60)
	}
}

// testLinesOfDead checks that the places of a dead handle do not count.
func testLinesOfDead(t *testing.T, m Medium) {
	living := handle(t, m)
	for _, kind := range []journal.LineKind{journal.LineSession, journal.LineKey} {
		line := journal.Line{Kind: kind, Name: t.Name()} // tests share the key queues
		dying := m.Open(t)
		lost := enter(t, dying, line)
		place := enter(t, living, line)
		checkStanding(t, living, line, place, 1, 2)
		if err := dying.Close(); err != nil {
			t.Fatal(err)
		}
		checkStanding(t, living, line, place, 0, 1)
		_, err := living.Position(t.Context(), line, lost)
		checkRejected(t, "the place of a dead owner", err, journal.ErrNotFound)
		if kind == journal.LineSession {
			checkStanding(t, living, line, enter(t, living, line), 1, 2) // a dead handle's place is removed
		}
		if _, err := living.Prune(t.Context(), journal.PruneQuery{}); err != nil {
			t.Error(err)
		}
		checkStanding(t, living, line, place, 0, map[journal.LineKind]int{journal.LineSession: 2,
			journal.LineKey: 1}[kind])
	}
}

// testLinesSignalled checks that other handles are signaled when a place is taken or released.
func testLinesSignalled(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	for _, kind := range []journal.LineKind{journal.LineSession, journal.LineKey} {
		line := journal.Line{Kind: kind, Name: t.Name()} // tests share the key queues
		c := subscribe(t, b, journal.OfLines())
		all := func(want int) func() bool {
			return func() bool {
				st, err := b.Position(t.Context(), line, 0)
				if err != nil {
					t.Fatal(err)
				}
				return st.All == want
			}
		}
		place := enter(t, a, line)
		signalled(t, c, fmt.Sprintf("a place of kind %d was taken", kind), all(1))
		if err := a.Leave(t.Context(), line, place); err != nil {
			t.Fatal(err)
		}
		signalled(t, c, fmt.Sprintf("a place of kind %d was given up", kind), all(0))
	}
}
