package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestTurn_Order checks in which order the tool calls of a reply are made: calls that may
// write are made alone, neighbouring ones that only read together. The reply is written as words: r
// reads, w may write, s is a sub-agent. Each step of want lists the calls that are in flight.
func TestTurn_Order(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		"w w w":     "1 | 2 | 3",
		"r r r":     "1 2 3 | 2 3 | 3",
		"w r":       "1 | 2",
		"r w":       "1 | 2",
		"r r w r r": "1 2 | 2 | 3 | 4 5 | 5",
		"w s s w":   "1 | 2 3 | 3 | 4",
		"s r s w":   "1 2 3 | 2 3 | 3 | 4",
	} {
		for _, mode := range []string{"", workflow.ToolCallsOrdered, workflow.ToolCallsParallel} {
			t.Run(reply+"/"+mode, func(t *testing.T) {
				t.Parallel()
				g := enginetest.Graph(nodes("a"), "", workflow.Agent{ID: "a", ToolCalls: mode,
					Subagents: []workflow.Subagent{{Agent: "k", Tool: "k"}}}, workflow.Agent{ID: "k"})
				w := enginetest.New(t, g, nil)
				w.Start("go")
				r := enginetest.AsksInOrder()
				words := strings.Fields(reply)
				for i, kind := range words {
					name := fmt.Sprint("t", i+1)
					switch kind {
					case "r":
						r.Concurrent = append(r.Concurrent, i)
					case "s":
						name = "k"
					}
					r.Message.ToolCalls = append(r.Message.ToolCalls, enginetest.Call(fmt.Sprint(i+1), name,
						fmt.Sprintf(`{"input":"%d"}`, i+1)))
				}
				w.Finish("agent a", r)
				var steps []string
				for !isNextTurn(w) {
					var out []string
					for _, c := range w.Pending {
						out = append(out, numberOf(c))
					}
					slices.Sort(out)
					steps = append(steps, strings.Join(out, " "))
					first := slices.IndexFunc(w.Pending, func(c engine.Command) bool { return numberOf(c) == out[0] })
					if _, isTool := w.Pending[first].(*engine.CallTool); isTool {
						w.FinishAt(first, enginetest.Returns("done"))
					} else {
						w.FinishAt(first, enginetest.Say("done"))
					}
					w.Crash()
				}
				got := strings.Join(steps, " | ")
				if mode == workflow.ToolCallsParallel {
					if want := strings.Count(steps[0], " ") + 1; want != len(words) {
						t.Errorf("%d calls in flight at once, want all: %s", want, got)
					}
				} else if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				w.CheckPrefixes()
			})
		}
	}
}

// isNextTurn reports whether all calls of the turn have their results.
func isNextTurn(w *enginetest.World) bool {
	return slices.ContainsFunc(w.Pending, func(c engine.Command) bool {
		m, ok := c.(*engine.CallModel)
		return ok && m.Agent.ID == "a"
	})
}

// numberOf returns the number of a call in its reply.
func numberOf(c engine.Command) string {
	switch c := c.(type) {
	case *engine.CallTool:
		return strings.TrimPrefix(c.Tool, "t")
	case *engine.CallModel:
		return c.Messages[0].Text.String()
	}
	return ""
}

// TestTurn_RandomOrder checks X-155 for random replies, whose calls read, may write, need approval
// or have invalid arguments, in any order of results and answers and with crashes: a call that may
// write is never in flight together with another one, calls are made in the order of the reply,
// everything that a person must decide is asked at once, and every call has its own result.
func TestTurn_RandomOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(rt, "calls")
		r := enginetest.AsksInOrder()
		reads, asks, held := make([]bool, n), make([]bool, n), make([]bool, n)
		for i := range n {
			args := fmt.Sprintf(`{"n":%d}`, i)
			reads[i], asks[i] = rapid.Bool().Draw(rt, "reads"), rapid.Bool().Draw(rt, "asks")
			held[i] = asks[i] && rapid.IntRange(0, 4).Draw(rt, "held") > 0
			if !asks[i] && rapid.IntRange(0, 5).Draw(rt, "bad") == 0 {
				args = `[]`
			}
			if reads[i] {
				r.Concurrent = append(r.Concurrent, i)
			}
			if asks[i] {
				r.Asks = append(r.Asks, i)
			}
			r.Message.ToolCalls = append(r.Message.ToolCalls, enginetest.Call(fmt.Sprint("c", i), fmt.Sprint("t", i),
				args))
		}
		w := enginetest.New(t, enginetest.Graph(nodes("a"), "", workflow.Agent{ID: "a"}), nil)
		w.Start("go")
		w.Finish("agent a", r)
		index := func(c engine.Command) (i int) {
			if _, err := fmt.Sscanf(c.(*engine.CallTool).Tool, "t%d", &i); err != nil {
				rt.Fatal(err)
			}
			return i
		}
		done := make([]bool, n)
		for i, tc := range r.Message.ToolCalls {
			done[i] = string(tc.Arguments) == `[]`
		}
		for step := 0; ; step++ {
			if step > 10*n {
				rt.Fatalf("the turn does not end\n%s", w.Log())
			}
			if isNextTurn(w) {
				break
			}
			checkOrder(rt, w, index, reads, done)
			waits := w.Run.Waits()
			k := rapid.IntRange(0, len(w.Pending)+len(waits)-1).Draw(rt, "next")
			if k >= len(w.Pending) {
				wait := waits[k-len(w.Pending)]
				answer := rapid.SampledFrom([]string{`"approve"`, `"reject"`}).Draw(rt, "answer")
				if answer == `"reject"` {
					done[indexOfTool(rt, wait.Tool)] = true
				}
				w.Feed(engine.Answer{Wait: wait.ID, Value: event.Value(answer)})
			} else {
				c := w.Pending[k].(*engine.CallTool)
				i := index(c)
				switch {
				case held[i] && c.Approved == "":
					w.FinishAt(k, enginetest.Held(fmt.Sprint("b", i), string(c.Arguments)))
				case c.CheckOnly:
					w.FinishAt(k, &engine.ToolResult{Permitted: true})
				default:
					done[i] = true
					w.FinishAt(k, enginetest.Returns(fmt.Sprint("r", i)))
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "crash") == 0 {
				w.Crash()
			}
		}
		results := w.Asked("a").Messages[2:]
		for i, m := range results {
			if m.Role != chat.RoleTool || m.ToolCallID != fmt.Sprint("c", i) {
				rt.Errorf("result %d is %+v", i, m)
			}
		}
		if len(results) != n {
			rt.Errorf("%d results, want %d", len(results), n)
		}
		w.CheckPrefixes()
	})
}

func indexOfTool(rt *rapid.T, tool string) (i int) {
	if _, err := fmt.Sscanf(tool, "t%d", &i); err != nil {
		rt.Fatal(err)
	}
	return i
}

// checkOrder checks that of the calls in flight, which are not only checked, those that may write
// are alone, and that no call before them is unfinished.
func checkOrder(rt *rapid.T, w *enginetest.World, index func(engine.Command) int, reads, done []bool) {
	for _, c := range w.Pending {
		c := c.(*engine.CallTool)
		if c.CheckOnly {
			continue
		}
		for j := range index(c) {
			if i := index(c); !done[j] && (!reads[i] || !reads[j]) {
				rt.Errorf("call %d is made before call %d has ended\n%s", i, j, w.Log())
			}
		}
	}
}
