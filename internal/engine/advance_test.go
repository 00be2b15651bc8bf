package engine_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
)

// TestActivation_Complete checks that what can continue follows from the state alone: a run that is
// folded after an activation and examined as a whole has nothing that the activation, which
// examines only candidates, left out.
func TestActivation_Complete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := randomRun(t, rt)
		if len(w.Events) == 0 || w.Run.IsCut() {
			return
		}
		if left := w.Fold(len(w.Events)).GoOn(); len(left) > 0 {
			w.T.Fatalf("the fold goes on by itself:\n%s\nafter\n%s", enginetest.Print(left), enginetest.Print(w.Events))
		}
	})
}
