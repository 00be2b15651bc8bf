package definition_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/workflow"
)

// TestRaisesOwn_Steps checks which limits of steps are larger than those of a workflow without a
// limit of its own: its default depends on its loops (S4-9).
func TestRaisesOwn_Steps(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes  int
		isLoop bool
		most   int // the largest limit that is not larger than the workflow's
	}{
		"no loop":    {20, false, 1000},
		"short loop": {3, true, 1000},
		"loop":       {20, true, 2020},
	} {
		w := &workflow.Workflow{Nodes: make([]workflow.Node, tc.nodes), Edges: []workflow.Edge{{Loop: tc.isLoop}}}
		for steps, want := range map[int]bool{tc.most: false, tc.most + 1: true} {
			if got := definition.RaisesOwn(workflow.Limits{MaxSteps: &steps}, w); got != want {
				t.Errorf("%s: %d steps are more: %t, want %t", name, steps, got, want)
			}
		}
	}
}
