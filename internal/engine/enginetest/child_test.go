package enginetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/workflow"
)

// kids are the child runs of a world, as a driver would make them: each uses what it likes of its part.
type kids struct {
	w    *enginetest.World
	rt   *rapid.T
	used map[string]engine.Spent // in all, by run
	// ended are those that do nothing any more before they get more.
	ended map[string]bool
	by    map[string]int64 // tokens, by node
}

// part gives what a child may use in all, as it is recorded.
func (k *kids) part(run string) *workflow.Budget { return k.w.Run.PartOf(run) }

// call carries out a tool call that starts a run. False: it waits for room.
func (k *kids) call(c *engine.CallTool) bool {
	run := c.Key
	short := func(err error) bool {
		e, ok := errors.AsType[*engine.BudgetError](err)
		if !ok {
			return false
		}
		k.finish(engine.ToolResult{ID: c.ID, Failure: &engine.Failure{Code: "failed", Message: "no budget"}, Budget: e.Detail})
		return true
	}
	var more *workflow.Budget
	for {
		err := k.w.Try(engine.ChildStart{ID: c.ID, Run: run, Shares: rapid.IntRange(0, 3).Draw(k.rt, "shares"), More: more})
		if errors.Is(err, engine.ErrNoRoom) {
			return false
		}
		if err != nil {
			if !short(err) {
				k.rt.Fatalf("start of a run: %v\n%s", err, k.w.Log())
			}
			return true
		}
		if more != nil {
			k.ended[run] = false
		}
		if rapid.IntRange(0, 2).Draw(k.rt, "at work") > 0 { // others go on meanwhile
			return true
		}
		used, part := k.used[run], k.part(run)
		if part != nil && !k.ended[run] && rapid.Bool().Draw(k.rt, "greedy") {
			add := func(of *int64, most int64) {
				switch {
				case most <= 0:
				case rapid.Bool().Draw(k.rt, "all"):
					*of = most
				default:
					*of = rapid.Int64Range(*of, most).Draw(k.rt, "use")
				}
			}
			before := used.Tokens
			add(&used.Tokens, part.MaxTokens)
			add(&used.Calls, part.MaxCalls)
			if part.MaxCostUSD > 0 {
				cost := int64(chat.ToMoney(used.CostUSD))
				add(&cost, int64(chat.ToMoney(part.MaxCostUSD)))
				used.CostUSD = chat.Money(cost).USD()
			}
			k.used[run] = used
			k.by[c.Node] += used.Tokens - before
		}
		way := rapid.IntRange(0, 9).Draw(k.rt, "end of the run")
		if way == 0 { // nobody tells what it used
			k.finish(engine.ToolResult{ID: c.ID, Failure: &engine.Failure{Code: "cancelled", Message: "given up"}})
			return true
		}
		for range rapid.IntRange(1, 2).Draw(k.rt, "times told") {
			k.w.Feed(engine.CallUse{ID: c.ID, Run: run, Ended: true, Used: engine.Used{InputTokens: used.Tokens, Borne: used}})
		}
		more, k.ended[run] = part, true
		if way > 2 || part == nil {
			k.finish(engine.ToolResult{ID: c.ID, Text: "done"})
			return true
		}
	}
}

// finish gives the result of a call.
func (k *kids) finish(res engine.ToolResult) {
	k.w.Pending = slices.DeleteFunc(k.w.Pending, func(c engine.Command) bool { return enginetest.ID(c) == res.ID })
	k.w.Feed(res)
}

func exceeds(s engine.Spent, b workflow.Budget) bool {
	return b.MaxTokens > 0 && s.Tokens > b.MaxTokens || b.MaxCalls > 0 && s.Calls > b.MaxCalls || b.MaxCostUSD > 0 && s.CostUSD > b.MaxCostUSD+1e-9
}

// total sums what the children used.
func (k *kids) total() (s engine.Spent) {
	for _, u := range k.used {
		s.Tokens, s.Calls, s.CostUSD = s.Tokens+u.Tokens, s.Calls+u.Calls, s.CostUSD+u.CostUSD
	}
	return s
}

// P20: model calls and the runs that parallel branches start never use more than the budgets of the run, of a node and of the run above together, however often what a run used
// is told, whatever is never told, over crashes, and however the run ends. What each run used counts once. Nothing waits for ever.
func TestBudgetHoldsOverChildren(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		nodeBudgets := map[string]int64{}
		g := wide(rapid.IntRange(1, 6).Draw(rt, "branches"), func(n *workflow.Node, a *workflow.Agent) {
			a.Params.MaxTokens = new(rapid.Int64Range(1, 1000).Draw(rt, "bound"))
			if rapid.IntRange(0, 3).Draw(rt, "own") == 0 {
				n.Budget = &workflow.Budget{MaxTokens: rapid.Int64Range(1, 5000).Draw(rt, "own budget")}
				nodeBudgets[n.ID] = n.Budget.MaxTokens
			}
		})
		limits := workflow.Limits{
			MaxTokens: rapid.Int64Range(0, 20_000).Draw(rt, "tokens"), MaxCostUSD: float64(rapid.IntRange(0, 100).Draw(rt, "cents")) / 100,
			MaxCalls: rapid.Int64Range(0, 30).Draw(rt, "calls"), MaxConcurrency: rapid.IntRange(0, 4).Draw(rt, "at once"),
		}
		if rapid.Bool().Draw(rt, "pauses") {
			limits.OnBudget = workflow.OnBudgetPause
		}
		g.Limits = limits
		created := engine.RunCreated{Input: enginetest.Text("go"), Prices: []engine.Price{{Rate: chat.Rate{Input: 1_000_000, Output: 5_000_000}}}}
		if rapid.IntRange(0, 2).Draw(rt, "above") == 0 {
			created.Above = &workflow.Budget{MaxTokens: rapid.Int64Range(1, 9000).Draw(rt, "above tokens"), MaxCalls: rapid.Int64Range(0, 20).Draw(rt, "above calls")}
		}
		w := enginetest.New(t, g, nil)
		k := &kids{w: w, rt: rt, used: map[string]engine.Spent{}, ended: map[string]bool{}, by: map[string]int64{}}
		var tokens, calls int64
		var cost chat.Money
		reserved := map[string]engine.Reserved{}
		w.Model = func(c *engine.CallModel) *engine.ModelResult {
			res := enginetest.Say("done")
			if len(c.Messages) < 6 && rapid.Bool().Draw(rt, "asks") {
				var tools []chat.ToolCall
				for i := range rapid.IntRange(1, 3).Draw(rt, "tools") {
					tools = append(tools, enginetest.Call(fmt.Sprintf("%d.%d", len(c.Messages), i), "child", fmt.Sprintf(`{"n":%d}`, len(c.Messages))))
				}
				res = enginetest.Asks(tools...)
			}
			v := reserved[c.ID]
			u := chat.Usage{InputTokens: rapid.Int64Range(0, max(v.Input, 1)).Draw(rt, "in"), OutputTokens: rapid.Int64Range(0, max(c.MaxOutput, 1)).Draw(rt, "out")}
			if rapid.Bool().Draw(rt, "all of it") {
				u = chat.Usage{InputTokens: v.Input, OutputTokens: v.Output}
			}
			if c.MaxOutput == 0 {
				u = chat.Usage{InputTokens: 1}
			}
			res.Usage = &u
			tokens, cost = tokens+u.InputTokens+u.OutputTokens, cost.Plus(created.Prices[0].Rate.Cost(u))
			k.by[c.Node] += u.InputTokens + u.OutputTokens
			return res
		}
		look := func(from int) int {
			for _, e := range w.Events[from:] {
				switch d := e.Data.(type) {
				case *engine.ModelCalled:
					calls++
					if d.Reserved != nil {
						reserved[fmt.Sprintf("%s#%d", d.Call, d.Attempt)] = *d.Reserved
					}
				case *engine.ToolCalled:
					calls++
				}
			}
			return len(w.Events)
		}
		w.StartWith(created)
		for seen, asked, stuck := 0, 0, 0; ; {
			seen = look(seen)
			if n := len(w.Pending); n > 0 && stuck < n {
				i := stuck
				if stuck == 0 {
					i = rapid.IntRange(0, n-1).Draw(rt, "next")
				}
				c := w.Pending[i]
				if tool, ok := c.(*engine.CallTool); ok && !w.Cancelled[enginetest.ID(c)] {
					if !k.call(tool) {
						w.Pending = append([]engine.Command{c}, slices.Delete(w.Pending, i, i+1)...)
						stuck++
						continue
					}
				} else {
					w.Pending = slices.Delete(w.Pending, i, i+1)
					w.Feed(w.Answer(c))
				}
			} else if waits := w.Run.Waits(); len(waits) > 0 && !w.Run.Status().Ended() {
				answer := workflow.BudgetStop
				if asked++; asked < 3 && strings.Contains(waits[0].Prompt, "tokens") {
					limits.MaxTokens *= 2
					answer = fmt.Sprint(limits.MaxTokens)
				}
				w.Feed(engine.Answer{Wait: waits[0].ID, Value: enginetest.Text(answer)})
			} else if n > 0 {
				rt.Fatalf("%d calls wait for ever\n%s", n, w.Log())
			} else {
				break
			}
			stuck = 0
			if rapid.IntRange(0, 20).Draw(rt, "crash") == 0 && w.Run.Status() == engine.StatusRunning {
				var lost []engine.Lost
				for _, c := range w.Pending {
					w.Calls[enginetest.ID(c)]--
					if _, ok := c.(*engine.CallTool); ok {
						lost = append(lost, engine.Lost{ID: enginetest.ID(c), Policy: "retry"})
					}
				}
				w.Crash(lost...)
			}
		}
		if !w.Run.Status().Ended() {
			rt.Fatalf("the run is %s with nothing out\n%s", w.Run.Status(), w.Log())
		}
		below := k.total()
		all := engine.Spent{Tokens: tokens + below.Tokens, Calls: calls + below.Calls, CostUSD: cost.USD() + below.CostUSD}
		check := func(what string, b workflow.Budget) {
			if exceeds(all, b) {
				rt.Fatalf("%s: %+v of %+v\n%s", what, all, b, w.Log())
			}
		}
		check("the run", workflow.Budget{MaxTokens: limits.MaxTokens, MaxCostUSD: limits.MaxCostUSD, MaxCalls: limits.MaxCalls})
		if created.Above != nil {
			check("the run above", *created.Above)
		}
		for node, most := range nodeBudgets {
			if k.by[node] > most {
				rt.Fatalf("node %s: %d of %d\n%s", node, k.by[node], most, w.Log())
			}
		}
		if got := w.Run.Spent(); got.Tokens < all.Tokens || got.Calls < all.Calls {
			rt.Fatalf("%+v counts, %+v was used\n%s", got, all, w.Log())
		}
	})
}
