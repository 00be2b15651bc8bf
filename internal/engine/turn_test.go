package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestTurn_CallEndsAttempt checks that a call of a turn may end the attempt of its whole step: here
// the budget of the node leaves nothing for the first sub-agent, the error handler skips the node,
// and the guard after it fails. The step then waits for its retry: it is running, and none of the
// other calls of the turn is made. The next attempt starts a conversation of its own.
func TestTurn_CallEndsAttempt(t *testing.T) {
	t.Parallel()
	a := enginetest.Agent("a")
	a.Budget, a.OnError = &workflow.Budget{MaxTokens: 40_000}, "handle"
	a.Retry = &workflow.Retry{MaxRetries: 3, Delay: workflow.Duration(time.Second), On: []string{event.CodeCondition}}
	g := enginetest.Graph(nodes(a, "z"), "a -> z", workflow.Agent{ID: "a",
		Subagents: []workflow.Subagent{{Agent: "k", Tool: "subagent_k"}}}, workflow.Agent{ID: "k"})
	g.Edges[0].When = &workflow.Condition{Language: workflow.LangFunc, Func: "guard"}
	failing := true
	w := enginetest.New(t, g, &host{
		onError: func(_ string, f event.Failure, _ engine.View) (engine.ErrorAction, error) {
			if f.Code == event.CodeNodeBudget {
				return engine.ErrorAction{Kind: "skip"}, nil
			}
			return engine.ErrorAction{}, nil
		},
		condition: func(string, engine.View) (bool, error) {
			if failing {
				return false, errors.New("not yet")
			}
			return true, nil
		},
	})
	w.Start("go")
	reply := enginetest.Asks(
		enginetest.Call("1", "subagent_k", `{"input":"first"}`), enginetest.Call("2", "search", `{}`),
		enginetest.Call("3", "subagent_k", `{"input":"second"}`))
	reply.Usage = &chat.Usage{InputTokens: 30_000, OutputTokens: 10_000}
	w.Finish("agent a", reply)
	wantTrace(t, w, 0, "+a, (k, 1!), ra")
	if len(w.Pending) > 0 || len(w.Timers) != 1 {
		t.Fatalf("%d calls and %d timers, want one timer\n%s", len(w.Pending), len(w.Timers), w.Log())
	}
	failing = false
	w.Fire(w.Timers[0].ID)
	wantTrace(t, w, 0, "+a, (k, 1!), ra, .a, +z")
}
