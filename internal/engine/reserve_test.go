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

// wide returns a fork of n agents. Agents with an odd index have a sub-agent.
func wide(n int, each func(*workflow.Node, *workflow.Agent)) *workflow.Workflow {
	var branches, edges []string
	all := []any{}
	agents := []workflow.Agent{{ID: "helper"}}
	for i := range n {
		id := fmt.Sprintf("a%d", i)
		node, a := enginetest.In("f", enginetest.Agent(id)), workflow.Agent{ID: id}
		if i%2 == 1 {
			a.Subagents = []workflow.Subagent{{Agent: "helper", Tool: "help"}}
		}
		each(&node, &a)
		branches, edges = append(branches, id), append(edges, fmt.Sprintf("f:%s -> %s; %s -> f/join", id, id, id))
		all, agents = append(all, node), append(agents, a)
	}
	fork := enginetest.Fork("f", workflow.Fork{OnFailure: workflow.FailContinue}, branches...)
	return enginetest.Graph(nodes(append([]any{fork}, all...)...), strings.Join(edges, "; "), agents...)
}

// spent is the usage that the models of a world reported, priced at each call's rate.
type spent struct {
	tokens, calls int64
	cost          chat.Money
}

// TestBudget_ParallelBranches checks that parallel branches never jointly exceed the run's or a
// node's budget, whatever they ask for, in whatever order they are answered, and however the run
// ends, as long as models stay within what was reserved for them. Nothing waits forever, and a
// crash in the middle changes nothing (P20).
func TestBudget_ParallelBranches(t *testing.T) {
	t.Parallel()
	rates := map[string]chat.Rate{"": {Input: 1_000_000, Output: 5_000_000},
		"dear": {Input: 7_000_000, Output: 90_000_000, Cached: new(chat.Money(100_000))}}
	rapid.Check(t, func(rt *rapid.T) {
		nodeBudgets := map[string]int64{}
		g := wide(rapid.IntRange(1, 12).Draw(rt, "branches"), func(n *workflow.Node, a *workflow.Agent) {
			if rapid.Bool().Draw(rt, "bounded") {
				a.Params.MaxTokens = new(rapid.Int64Range(1, 3000).Draw(rt, "bound"))
			}
			if rapid.IntRange(0, 3).Draw(rt, "own") == 0 {
				n.Budget = &workflow.Budget{MaxTokens: rapid.Int64Range(1, 5000).Draw(rt, "own budget")}
				nodeBudgets[n.ID] = n.Budget.MaxTokens
			}
			a.Model = rapid.SampledFrom([]string{"", "dear"}).Draw(rt, "model")
		})
		g.Limits = workflow.Limits{
			MaxTokens:      rapid.Int64Range(0, 60_000).Draw(rt, "tokens"),
			MaxCostUSD:     float64(rapid.IntRange(0, 200).Draw(rt, "cents")) / 100,
			MaxCalls:       rapid.Int64Range(0, 30).Draw(rt, "calls"),
			MaxConcurrency: rapid.IntRange(0, 4).Draw(rt, "at once"),
		}
		if rapid.Bool().Draw(rt, "pauses") {
			g.Limits.OnBudget = workflow.OnBudgetPause
		}
		w := enginetest.New(t, g, nil)
		var all spent
		byNode, reserved, asked := map[string]int64{}, map[string]event.Reserved{}, 0
		w.Model = func(c *engine.CallModel) *engine.ModelResult {
			v := reserved[c.ID]
			res := enginetest.Say("done")
			if c.Agent.ID != "helper" && len(c.Agent.Subagents) > 0 && len(c.Messages) < 4 {
				res = enginetest.Asks(enginetest.Call(fmt.Sprint(len(c.Messages)), "help", `{"input":"do"}`))
			}
			budgeted := c.MaxOutput > 0
			u := chat.Usage{InputTokens: rapid.Int64Range(0, max(v.Input, 1)).Draw(rt, "in"),
				OutputTokens: rapid.Int64Range(0, max(c.MaxOutput, 1)).Draw(rt, "out")}
			if !budgeted {
				u = chat.Usage{InputTokens: 1}
			}
			res.Usage = &u
			switch rapid.IntRange(0, 9).Draw(rt, "way") {
			case 0:
				res = enginetest.Fails("server", "boom") // its cost is unknown: it counts as reserved
				u = chat.Usage{InputTokens: v.Input, OutputTokens: v.Output}
			case 1:
				res.Usage = nil
				u = chat.Usage{InputTokens: v.Input, OutputTokens: v.Output}
			case 2:
				if budgeted {
					res.Stop = "length"
				}
			}
			cost := rates[c.Model].Cost(u)
			all.tokens, all.cost = all.tokens+u.InputTokens+u.OutputTokens, all.cost.Plus(cost)
			byNode[c.Node] += u.InputTokens + u.OutputTokens
			return res
		}
		look := func(from int) int {
			for _, e := range w.Events[from:] {
				if d, ok := e.Data.(*event.ModelCalled); ok {
					all.calls++
					if d.Reserved != nil {
						reserved[fmt.Sprintf("%s#%d", d.Call, d.Attempt)] = *d.Reserved
					}
				}
			}
			return len(w.Events)
		}
		limits := g.Limits
		w.StartWith(event.RunCreated{Input: enginetest.Text("go"),
			Prices: []event.Price{{Rate: rates[""]}, {Model: "dear", Rate: rates["dear"]}}})
		for seen := 0; ; {
			seen = look(seen)
			if n := len(w.Pending); n > 0 {
				i := rapid.IntRange(0, n-1).Draw(rt, "next")
				c := w.Pending[i]
				w.Pending = slices.Delete(w.Pending, i, i+1)
				w.Feed(w.Answer(c))
			} else if waits := w.Run.Waits(); len(waits) > 0 && !w.Run.Status().Ended() {
				answer := workflow.BudgetStop
				if asked++; asked < 3 && strings.Contains(waits[0].Prompt, "tokens") {
					limits.MaxTokens *= 2
					answer = fmt.Sprint(limits.MaxTokens)
				}
				w.Feed(engine.Answer{Wait: waits[0].ID, Value: enginetest.Text(answer)})
			} else {
				break
			}
			if rapid.IntRange(0, 20).Draw(rt, "crash") == 0 && w.Run.Status() == event.StatusRunning {
				for _, c := range w.Pending { // in-flight calls are repeated, perhaps paid twice: not tested here
					w.Calls[engine.CallID(c)]--
				}
				w.Crash()
			}
		}
		if !w.Run.Status().Ended() {
			rt.Fatalf("the run is %s with nothing out\n%s", w.Run.Status(), w.Log())
		}
		for _, over := range []struct {
			what      string
			got, most int64
		}{{"tokens", all.tokens, limits.MaxTokens}, {"money", int64(all.cost), int64(chat.ToMoney(limits.MaxCostUSD))},
			{"calls", all.calls, limits.MaxCalls}} {
			if over.most > 0 && over.got > over.most {
				rt.Fatalf("%s: %d of %d\n%s", over.what, over.got, over.most, w.Log())
			}
		}
		for node, most := range nodeBudgets {
			if byNode[node] > most {
				rt.Fatalf("node %s: %d of %d\n%s", node, byNode[node], most, w.Log())
			}
		}
		w.CheckPrefixes()
	})
}
