package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestBudget_SessionCalls checks that whatever model calls functions and tools make themselves,
// concurrently, answered in any order or never, across crashes and reopenings, the budgets of run
// and nodes hold, what is reserved is kept, nothing waits forever, and with enough budget the run
// completes (P20).
func TestBudget_SessionCalls(t *testing.T) {
	t.Parallel()
	rate := chat.Rate{Input: 1_000_000, Output: 5_000_000}
	rapid.Check(t, func(rt *rapid.T) {
		list := []any{workflow.Node{ID: "s", Kind: workflow.KindStart}}
		edges, own := "", map[string]int64{}
		for i := range rapid.IntRange(1, 4).Draw(rt, "nodes") {
			n := toolNode(fmt.Sprint("n", i), "session")
			if rapid.Bool().Draw(rt, "own") {
				own[n.ID] = rapid.Int64Range(1, 3000).Draw(rt, "own budget")
				n.Budget = &workflow.Budget{MaxTokens: own[n.ID]}
			}
			if rapid.Bool().Draw(rt, "retries") {
				n.Retry = &workflow.Retry{MaxRetries: 2}
			}
			list, edges = append(list, n), edges+fmt.Sprintf("s -> n%d; ", i)
		}
		g := enginetest.Graph(nodes(list...), edges)
		g.Limits = workflow.Limits{
			MaxTokens:  max(0, rapid.Int64Range(-1000, 8000).Draw(rt, "tokens")),
			MaxCalls:   max(0, rapid.Int64Range(-3, 8).Draw(rt, "calls")),
			MaxCostUSD: float64(max(0, rapid.Int64Range(-5, 20).Draw(rt, "cost"))) / 1000,
		}
		w := enginetest.New(failRapid{t, rt}, g, nil)
		w.Start("{}")
		var used event.Spent
		byNode := map[string]int64{}
		out := map[string]int64{} // granted and not settled: tokens, by key
		nodeOf, short := map[string]string{}, map[string]string{}
		made := 0
		for step := 0; step < 60 && !w.Run.Status().Ended(); step++ {
			if len(w.Pending) == 0 {
				if len(w.Timers) == 0 {
					rt.Fatalf("nothing goes on\n%s", w.Log())
				}
				w.Fire(w.Timers[0].ID)
				continue
			}
			c := w.Pending[rapid.IntRange(0, len(w.Pending)-1).Draw(rt, "call")]
			id, node := engine.CallID(c), enginetest.Node(c)
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0, 1, 2, 3: // it asks for a model call
				made++
				key := fmt.Sprint(id, "/", made)
				q := engine.CallReserve{ID: id, Key: key, Model: "m", Rate: &rate,
					Input: rapid.Int64Range(0, 500).Draw(rt, "in"), Output: rapid.Int64Range(1, 2000).Draw(rt, "out")}
				q.Tool = rapid.IntRange(0, 4).Draw(rt, "tool") == 0
				err := w.Try(q)
				var no *engine.BudgetError
				switch output, _, ok := w.Run.ReservedFor(key); {
				case errors.As(err, &no):
					short[id] = no.Detail
				case errors.Is(err, engine.ErrNoRoom):
					if len(out) == 0 {
						rt.Fatalf("it waits, and nothing is reserved\n%s", w.Log())
					}
				case errors.Is(err, engine.ErrCallLate): // the run is ending
				case err != nil:
					rt.Fatal(err)
				case ok && !q.Tool:
					if output > q.Output || output < 1 {
						rt.Fatalf("%d of %d tokens are granted", output, q.Output)
					}
					out[key], nodeOf[key] = q.Input+output, node
				case ok:
					out[key], nodeOf[key] = 0, node
				}
			case 4, 5, 6: // a model call is answered
				for _, key := range slices.Sorted(maps.Keys(out)) {
					tokens := rapid.Int64Range(0, out[key]).Draw(rt, "used")
					u := event.Spent{Tokens: tokens, Calls: 1,
						CostUSD: rate.Cost(chat.Usage{InputTokens: tokens}).USD()}
					if w.Try(engine.CallUse{ID: callOf(t, w, nodeOf[key]), Key: key, Ended: true,
						Used: event.Used{Borne: u}}) == nil {
						used.Tokens, used.Calls, used.CostUSD = used.Tokens+u.Tokens, used.Calls+1,
							used.CostUSD+u.CostUSD
						byNode[nodeOf[key]] += tokens
					}
					delete(out, key)
					break
				}
			case 7: // the process dies: what was in flight is requested again
				w.Crash()
				clear(out)
				clear(short)
			default: // the call ends; what it left open counts in full
				for key, most := range out {
					if nodeOf[key] == node {
						used.Tokens, used.Calls, byNode[node] = used.Tokens+most, used.Calls+1, byNode[node]+most
						delete(out, key)
					}
				}
				if detail := short[id]; detail != "" {
					delete(short, id)
					w.Finish(node, &engine.ToolResult{Failure: &event.Failure{Code: "failed", Message: "withheld"},
						Budget: detail})
				} else {
					w.Finish(node, &engine.ToolResult{Text: "done"})
				}
			}
			if most := g.Limits.MaxTokens; most > 0 && used.Tokens > most {
				rt.Fatalf("%d of %d tokens are used\n%s", used.Tokens, most, w.Log())
			}
			if most := g.Limits.MaxCostUSD; most > 0 && used.CostUSD > most+1e-9 {
				rt.Fatalf("%v of %v USD are used\n%s", used.CostUSD, most, w.Log())
			}
			if most := g.Limits.MaxCalls; most > 0 && used.Calls > most {
				rt.Fatalf("%d of %d calls are made\n%s", used.Calls, most, w.Log())
			}
			for node, most := range own {
				if byNode[node] > most {
					rt.Fatalf("%s used %d of %d tokens\n%s", node, byNode[node], most, w.Log())
				}
			}
		}
	})
}
