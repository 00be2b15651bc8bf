package graph

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestStepList_StableAddresses checks that steps stay in place while more are added.
func TestStepList_StableAddresses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 600).Draw(t, "steps")
		var l Steps[int]
		if rapid.Bool().Draw(t, "expected") {
			l.Expect(rapid.IntRange(0, 100).Draw(t, "nodes"))
		}
		places := make([]*Step[int], n)
		for i := range n {
			l.add(Step[int]{Node: i})
			places[i] = l.At(i)
		}
		for i, p := range places {
			if l.At(i) != p || p.Node != i {
				t.Fatalf("step %d moved", i)
			}
		}
	})
}
