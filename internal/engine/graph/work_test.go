package graph

import (
	"testing"
	"unsafe"
)

// What a run keeps of each of its steps is small; what a running step needs is used again by those that start after it.
func TestStepsKeepLittle(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Step[int]{}); size > 128 {
		t.Errorf("a step takes %d bytes, want 128 at most", size)
	}
	var all works[int]
	first := all.begin(work[int]{Iter: 1, Wait: "w1"})
	if none := all.end(first, false); none == first {
		t.Error("an ended step keeps a work that holds nothing")
	}
	if again := all.begin(work[int]{Iter: 2}); again != first || again.Iter != 2 || again.Wait != "" {
		t.Errorf("got %+v, want the work of the step before, without what it held", again)
	}
}
