package engine_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
)

// TestNothingIsLeft: what can go on follows from the state alone. A run that is folded after an activation, and looked at as a whole, has nothing that the activation, which
// looks at candidates, left out.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := scene(t, rt)
		if len(w.Events) == 0 {
			return
		}
		if left := w.Fold(len(w.Events)).GoOn(); len(left) > 0 {
			w.T.Fatalf("the fold goes on by itself:\n%s\nafter\n%s", enginetest.Print(left), enginetest.Print(w.Events))
		}
	})
}
