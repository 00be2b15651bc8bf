package engine

import (
	"testing"

	"pgregory.net/rapid"
)

// Steps stay where they are while more are added.
func TestStepListNeverMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 600).Draw(t, "steps")
		var l stepList
		places := make([]*step, n)
		for i := range n {
			l.add(step{Iter: i})
			places[i] = l.at(i)
		}
		for i, p := range places {
			if l.at(i) != p || p.Iter != i {
				t.Fatalf("step %d moved", i)
			}
		}
	})
}

// What a slab hands out is apart from everything else that it hands out.
func TestSlabValuesAreApart(t *testing.T) {
	t.Parallel()
	var s slab[int]
	var all []*int
	var lists [][]int
	for i := range 200 {
		all = append(all, s.put(i))
		lists = append(lists, append(s.one(-i), i)) // growing a list must not reach the next value
	}
	for i := range all {
		if *all[i] != i || lists[i][0] != -i || lists[i][1] != i {
			t.Fatalf("value %d became %d, list %v", i, *all[i], lists[i])
		}
	}
}
