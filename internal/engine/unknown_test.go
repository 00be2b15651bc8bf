package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestUnknownOutcome checks that if a tool itself reports an unknown outcome, its policy applies as
// after a crash, and that nodes of Go graphs then fail (P12, S2-46).
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	timeout := &event.Failure{Code: "timeout", Message: "Tool timed out"}
	skipped := "tool! 1: The outcome of this call is unknown; it was not repeated.\n"
	for name, tc := range map[string]struct {
		policy, answer string
		calls          int
		status         event.Status
		code, conv     string
	}{
		"known": {"", "", 1, event.StatusRunning, "", "tool! 1: Tool timed out\n"},
		// no answer to the second attempt either
		"retry":          {"retry", "", 2, event.StatusRunning, "", "tool! 1: Tool timed out\n"},
		"skip":           {"skip", "", 1, event.StatusRunning, "", skipped},
		"fail":           {"fail", "", 1, event.StatusFailed, event.CodeOutcomeUnknown, ""},
		"ask, then skip": {"ask", "skip", 1, event.StatusRunning, "", skipped},
		"ask, then fail": {"ask", "fail", 1, event.StatusFailed, event.CodeOutcomeUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(nodes("a"), ""), nil)
			w.Start("go")
			w.Finish("a", enginetest.Asks(enginetest.Call("1", "act", `{}`)))
			key := w.Pending[0].(*engine.CallTool).Key
			calls := 0
			for len(w.Pending) > 0 {
				c, ok := w.Pending[0].(*engine.CallTool)
				if !ok {
					break
				}
				if calls++; c.Key != key {
					t.Errorf("called as %s, want %s", c.Key, key)
				}
				w.FinishAt(0, &engine.ToolResult{Failure: timeout, Unknown: tc.policy})
			}
			if calls != tc.calls {
				t.Errorf("%d calls, want %d", calls, tc.calls)
			}
			if tc.answer != "" {
				wantStatus(t, w, event.StatusPaused)
				w.Crash()
				if p := waitOf(t, w, "").Prompt; !strings.Contains(p, "unknown: Tool timed out. Retry it") {
					t.Errorf("the person is asked %q", p)
				}
				w.Feed(engine.Answer{Value: enginetest.Text(tc.answer)})
			}
			wantStatus(t, w, tc.status)
			if tc.conv != "" {
				if got := enginetest.Conv(w.Asked("a").Messages[2:]); got != tc.conv {
					t.Errorf("the agent reads %q, want %q", got, tc.conv)
				}
			}
			w.CheckPrefixes()
		})
	}
	t.Run("ask, then retry", func(t *testing.T) {
		t.Parallel()
		w := enginetest.New(t, enginetest.Graph(nodes(toolNode("t", "act")), ""), nil)
		w.Start("go")
		w.FinishAt(0, &engine.ToolResult{Failure: timeout, Unknown: "ask"})
		w.Feed(engine.Answer{Value: enginetest.Text("retry")})
		w.FinishAt(0, enginetest.Returns("done"))
		wantTrace(t, w, 0, "+t, ?t, paused t, resumed, .t, completed")
	})
	t.Run("Go graph", func(t *testing.T) {
		t.Parallel()
		g := enginetest.Graph(nodes(toolNode("t", "act")), "")
		g.Rules = workflow.TypedRules()
		w := enginetest.New(t, g, enginetest.Host{})
		w.StartWith(event.RunCreated{Input: event.Value(`{}`)})
		w.FinishAt(0, &engine.ToolResult{Failure: timeout, Unknown: "ask"})
		wantTrace(t, w, 0, "+t, !t timeout, failed timeout")
	})
}

// TestPins_Recorded checks that pins are recorded with the result that reports them, even if it
// is late, and that nothing is recorded after the end of the run (SEC14).
func TestPins_Recorded(t *testing.T) {
	t.Parallel()
	pins := func(w *enginetest.World) (out []string) {
		for _, e := range w.Events {
			if d, ok := e.Data.(*event.ToolsPinned); ok {
				out = append(out, string(d.Pins))
			}
		}
		return out
	}
	w := enginetest.New(t, enginetest.Graph(nodes("a"), ""), nil)
	w.Start("go")
	reply := enginetest.Asks(enginetest.Call("1", "act", `{}`))
	reply.Pins = event.Value(`{"a": 1}`)
	w.Finish("a", reply)
	held := enginetest.Held("x", `{}`)
	held.Pins = event.Value(`{"b":2}`)
	w.Finish("a", held)
	if err := w.Try(engine.ModelResult{ID: "1.0.1#1", Pins: event.Value(`{`)}); !errors.Is(err, engine.ErrInput) {
		t.Errorf("pins that are no JSON: %v, want ErrInput", err)
	}
	w.Feed(engine.ModelResult{ID: "1.0.1#1", Pins: event.Value(`{"c":3}`)})
	w.Feed(engine.Cancel{})
	w.Feed(engine.ModelResult{ID: "1.0.1#1", Pins: event.Value(`{"d":4}`)})
	if got := pins(w); !slices.Equal(got, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}) {
		t.Errorf("pinned %s", got)
	}
}
