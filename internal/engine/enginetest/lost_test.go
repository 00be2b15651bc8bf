package enginetest_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/workflow"
)

// P12, D17: a call whose outcome was lost, retried by a person and lost again is asked about anew, under an id of its own.
func TestLostTwice(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph([]workflow.Node{{ID: "t", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "act"}}}, "")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	ids := map[string]bool{}
	for range 3 {
		call := enginetest.ID(w.Pending[0])
		w.Crash(engine.Lost{ID: call, Policy: "ask"})
		wantStatus(t, w, engine.StatusPaused)
		id := w.Run.Waits()[0].ID
		if ids[id] {
			t.Fatalf("wait id %s was used before\n%s", id, w.Log())
		}
		ids[id] = true
		w.Feed(engine.Answer{Wait: id, Value: enginetest.Text("retry")})
		wantStatus(t, w, engine.StatusRunning)
	}
	w.Finish("t", &engine.ToolResult{Text: "done"})
	wantStatus(t, w, engine.StatusCompleted)
}
