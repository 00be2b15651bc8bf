package engine

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestSlab_EventsIsolated checks that events of one activation never overwrite those of another,
// however many there are and whatever happens to the list.
func TestSlab_EventsIsolated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m slabs
		var lists [][]event.Event
		for i := range rapid.IntRange(1, 60).Draw(t, "activations") {
			out := m.room()
			for range rapid.IntRange(0, 100).Draw(t, "events") {
				out = append(out, event.Event{Step: i})
			}
			if rapid.Bool().Draw(t, "fails") {
				continue
			}
			out = m.commitEvents(out)
			lists = append(lists, out)
			_ = append(out, event.Event{Step: -1})
		}
		at := 0
		for _, list := range lists {
			for _, ev := range list {
				if ev.Step != list[0].Step || ev.Step < at {
					t.Fatalf("an event of activation %d in a list of activation %d", ev.Step, list[0].Step)
				}
			}
			if len(list) > 0 {
				at = list[0].Step
			}
		}
	})
}

// TestSlab_ValuesIsolated checks that values from a slab do not overlap.
func TestSlab_ValuesIsolated(t *testing.T) {
	t.Parallel()
	s := slab[int]{want: 70}
	var all []*int
	var lists [][]int
	for i := range 200 {
		all = append(all, s.alloc(i))
		lists = append(lists, append(s.allocSlice(-i), i)) // growing a list must not reach the next value
	}
	for i := range all {
		if *all[i] != i || lists[i][0] != -i || lists[i][1] != i {
			t.Fatalf("value %d became %d, list %v", i, *all[i], lists[i])
		}
	}
}

// TestRunSize checks that a run in memory fits in one object of 2,048 bytes, 8 of which the
// allocator uses itself, on platforms with 8-byte pointers.
func TestRunSize(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Run{}); unsafe.Sizeof(size) == 8 && size > 2048-8 {
		t.Errorf("a run takes %d bytes", size)
	}
}
