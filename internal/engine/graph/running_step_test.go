package graph

import (
	"testing"
	"unsafe"
)

// TestSteps_RetainedMemory checks that a run keeps little memory for each step, and that the work
// of ended steps is reused by later ones.
func TestSteps_RetainedMemory(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Step[int]{}); size > 128 {
		t.Errorf("a step takes %d bytes, want 128 at most", size)
	}
	var all workPool[int]
	first := all.begin(work[int]{Iter: 1, Wait: "w1"})
	if none := all.end(first, false); none == first {
		t.Error("an ended step keeps a work that holds nothing")
	}
	if again := all.begin(work[int]{Iter: 2}); again != first || again.Iter != 2 || again.Wait != "" {
		t.Errorf("got %+v, want the work of the step before, without what it held", again)
	}
}
