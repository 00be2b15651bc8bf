package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// randomConversation returns a random conversation of agents that route by their output, with an
// executor for their tools and, in some, a person who takes over (S3).
func randomConversation(t testing.TB, rt *rapid.T) *enginetest.World {
	t.Helper()
	ids := []string{"a", "b", "c", "x"}
	handoff := rapid.Bool().Draw(rt, "handoff")
	if handoff {
		ids = append(ids, "h")
	}
	var edges []string
	for _, from := range ids {
		ports := []string{"out"}
		switch from {
		case "a", "b", "c":
			ports = []string{"A", "B", "C", "END", "else", "calls"}
		case "x":
			ports = []string{"out", "tool:search", "tool:other"}
		case "h":
			ports = []string{"A", "out"}
		}
		for _, port := range ports {
			if rapid.IntRange(0, 2).Draw(rt, "edge") == 0 {
				continue
			}
			to := "x"
			if port != "calls" {
				to = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "to")
			}
			edges = append(edges, fmt.Sprintf("%s:%s -> %s", from, port, to))
		}
	}
	w := routes(t, strings.Join(ids, " "), strings.Join(edges, ";"), func(g *workflow.Workflow) {
		g.Rules.Conversational = rapid.Bool().Draw(rt, "conversational")
		g.Limits.MaxSteps = new(rapid.IntRange(1, 12).Draw(rt, "steps"))
		if handoff {
			g.Rules.Handoff = "h"
			g.Limits.Timeout = workflow.Duration(time.Minute)
		}
		for i := range g.Nodes {
			if g.Nodes[i].Agent != nil && rapid.IntRange(0, 2).Draw(rt, "retry") == 0 {
				g.Nodes[i].Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Second)}
			}
		}
	})
	w.Model = func(*engine.CallModel) *engine.ModelResult { return randomReply(rt) }
	w.Tool = func(*engine.CallTool) *engine.ToolResult {
		if rapid.IntRange(0, 3).Draw(rt, "tool fails") == 0 {
			return &engine.ToolResult{Failure: &event.Failure{Code: "server", Message: "boom"}}
		}
		return enginetest.Returns("found")
	}
	return w
}

// randomReply returns any possible model output.
func randomReply(rt *rapid.T) *engine.ModelResult {
	next := rapid.SampledFrom([]string{"A", "B", "C", "END", "x", "", "missing"}).Draw(rt, "next")
	switch rapid.IntRange(0, 6).Draw(rt, "says") {
	case 0:
		return enginetest.Fails("server", "boom")
	case 1:
		return enginetest.Say("%s", next)
	case 2:
		return enginetest.Say(`{"next":%q}`, next)
	case 3:
		return enginetest.Asks(route(next, "over to you"))
	case 4:
		return enginetest.Asks(enginetest.Call("e", "end", `{"message":"bye"}`))
	case 5:
		return enginetest.Asks(enginetest.Call("1", "search", `{}`))
	}
	var calls []chat.ToolCall
	for i := range rapid.IntRange(1, 4).Draw(rt, "calls") {
		id := rapid.SampledFrom([]string{"", "1", fmt.Sprint(i)}).Draw(rt, "id")
		name := rapid.SampledFrom([]string{"search", "other", "route_to", "end"}).Draw(rt, "tool")
		calls = append(calls, enginetest.Call(id, name,
			rapid.SampledFrom([]string{`{}`, `"odd"`, `{"next":"B"}`, `[]`}).Draw(rt, "arguments")))
	}
	return enginetest.Asks(calls...)
}

// talkOnce performs one possible action. It returns false if none is left.
func talkOnce(w *enginetest.World, rt *rapid.T) bool {
	w.T.Helper()
	if w.Run.Status().Ended() {
		return false
	}
	timers := slices.DeleteFunc(slices.Clone(w.Timers), func(t *engine.StartTimer) bool {
		return t.ID == "timeout" && w.Run.Status() == event.StatusPaused
	})
	waits := w.Run.Waits()
	n := len(w.Pending) + len(waits) + len(timers)
	if n == 0 {
		return false
	}
	switch i := rapid.IntRange(0, n-1).Draw(rt, "what"); {
	case i < len(w.Pending):
		c := w.Pending[i]
		in := w.Answer(c)
		w.Pending = slices.Delete(w.Pending, i, i+1)
		w.Feed(in)
	case i < len(w.Pending)+len(waits):
		w.Feed(engine.Answer{Wait: waits[i-len(w.Pending)].ID,
			Value: enginetest.Text(rapid.SampledFrom([]string{"A", "go on"}).Draw(rt, "answer"))})
	default:
		w.Fire(timers[i-len(w.Pending)-len(waits)].ID)
	}
	if rapid.IntRange(0, 14).Draw(rt, "crash") == 0 && !w.Run.Status().Ended() {
		w.Crash()
	}
	return true
}

// TestSharedConversation_Random checks that whatever agents of a shared conversation say, the run
// continues to its end or to a person, at most one call is in flight, every model sees its own
// calls with one result each, and the laws of World hold (S3-4, S3-9 to S3-16, S3-23, D30, P42).
func TestSharedConversation_Random(t *testing.T) {
	t.Parallel()
	randtest.Check(t, 30, func(rt *rapid.T) {
		w := randomConversation(failRapid{t, rt}, rt)
		for range 60 {
			if out := w.PendingNodes(); strings.Contains(out, " ") {
				w.T.Fatalf("calls of %s are out at once\n%s", out, w.Log())
			}
			for _, c := range w.Pending {
				if m, ok := c.(*engine.CallModel); ok {
					checkMessages(w, m)
				}
			}
			if !talkOnce(w, rt) {
				break
			}
		}
		if !w.Run.Status().Ended() {
			if len(w.Pending)+len(w.Timers)+len(w.Run.Waits()) == 0 {
				w.T.Fatalf("the run is %s and nothing is left to do\n%s", w.Run.Status(), w.Log())
			}
			w.Feed(engine.Cancel{})
			w.Go(nil)
			if w.Run.Status() != event.StatusCancelled {
				w.T.Fatalf("got %s after a cancellation\n%s", w.Run.Status(), w.Log())
			}
		}
		if len(w.Batches) < 40 {
			w.CheckPrefixes()
		}
	})
}

// checkMessages checks that messages are acceptable to a provider: no call without a result, no
// result without a call, and no list that ends with the model's own message (D30).
func checkMessages(w *enginetest.World, c *engine.CallModel) {
	w.T.Helper()
	open := map[string]bool{}
	for _, m := range c.Messages {
		switch m.Role {
		case chat.RoleAssistant:
			if len(open) > 0 {
				w.T.Fatalf("calls %v have no result in\n%s\n%s", open, enginetest.Conv(c.Messages), w.Log())
			}
			for _, tc := range m.ToolCalls {
				open[tc.ID] = true
			}
		case chat.RoleTool:
			if !open[m.ToolCallID] {
				w.T.Fatalf("result %s has no call in\n%s\n%s", m.ToolCallID, enginetest.Conv(c.Messages), w.Log())
			}
			delete(open, m.ToolCallID)
		}
	}
	if len(open) > 0 || len(c.Messages) == 0 || c.Messages[len(c.Messages)-1].Role == chat.RoleAssistant {
		w.T.Fatalf("the list ends badly:\n%s\n%s", enginetest.Conv(c.Messages), w.Log())
	}
}

// randomRun returns a random run at some point of its execution.
func randomRun(t *testing.T, rt *rapid.T) *enginetest.World {
	t.Helper()
	steps := rapid.IntRange(0, 30).Draw(rt, "way")
	if rapid.IntRange(0, 2).Draw(rt, "scene") == 0 {
		w := randomConversation(failRapid{t, rt}, rt)
		w.SkipLaws = true
		for range steps {
			if !talkOnce(w, rt) {
				break
			}
		}
		return w
	}
	w := newWild(t, rt, 3)
	w.SkipLaws = true
	for range steps {
		if !w.step() {
			break
		}
	}
	return w.World
}
