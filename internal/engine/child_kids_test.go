package engine_test

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// childRuns simulates the child runs of a world, as a driver would start them: each uses any part
// of its allotment.
type childRuns struct {
	w    *enginetest.World
	rt   *rapid.T
	used map[string]event.Spent // total, by run
	// ended holds the children that do nothing more until they get more budget.
	ended map[string]bool
	by    map[string]int64 // tokens, by node
	// held counts how often a call waited for a person; untold counts usage and reservations that
	// are never reported.
	held   map[string]int
	untold int
	// short is the budget that was too small for a run, by command.
	short map[string]string
}

// appetite is the most that a child uses; a child with that much does not request more.
var appetite = workflow.Budget{MaxTokens: 20_000, MaxCostUSD: 1, MaxCalls: 30}

// part returns the recorded total budget of a child.
func (k *childRuns) part(run string) *workflow.Budget { return k.w.Run.Allotment(run) }

// call executes a tool call that starts a run. It returns false if the call waits for budget.
func (k *childRuns) call(c *engine.CallTool) bool {
	run := c.Key
	short := func(err error) bool {
		e, ok := errors.AsType[*engine.BudgetError](err)
		if !ok {
			return false
		}
		k.short[c.ID] = e.Detail
		return true
	}
	if detail, ok := k.short[c.ID]; ok { // reported later: others got the same answer meanwhile
		k.finish(engine.ToolResult{ID: c.ID, Failure: &event.Failure{Code: "failed", Message: "no budget"},
			Budget: detail})
		return true
	}
	if k.hold(c) {
		return true
	}
	var more *workflow.Budget
	for {
		err := k.w.Try(engine.ChildStart{ID: c.ID, Run: run, Shares: rapid.IntRange(0, 3).Draw(k.rt, "shares"),
			More: more})
		if errors.Is(err, engine.ErrNoRoom) {
			return false
		}
		if err != nil {
			if !short(err) {
				k.rt.Fatalf("start of a run: %v\n%s", err, k.w.Log())
			}
			return true
		}
		// a run that used nothing may never have been stored: it is started again
		if more != nil || k.used[run] == (event.Spent{}) {
			k.ended[run] = false
		}
		if rapid.IntRange(0, 2).Draw(k.rt, "at work") > 0 { // others continue meanwhile
			return true
		}
		if k.hold(c) {
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
			add(&used.Tokens, min(part.MaxTokens, appetite.MaxTokens))
			add(&used.Calls, min(part.MaxCalls, appetite.MaxCalls))
			if part.MaxCostUSD > 0 {
				cost := int64(chat.ToMoney(used.CostUSD))
				add(&cost, int64(chat.ToMoney(min(part.MaxCostUSD, appetite.MaxCostUSD))))
				used.CostUSD = chat.Money(cost).USD()
			}
			k.used[run] = used
			k.by[c.Node] += used.Tokens - before
		}
		way := rapid.IntRange(0, 9).Draw(k.rt, "end of the run")
		if way == 0 { // its usage is not reported
			k.untold++
			k.finish(engine.ToolResult{ID: c.ID, Failure: &event.Failure{Code: "cancelled", Message: "given up"}})
			return true
		}
		k.ended[run] = true
		for range rapid.IntRange(1, 2).Draw(k.rt, "times told") {
			k.w.Feed(engine.CallUse{ID: c.ID, Run: run, Ended: true,
				Used: event.Used{InputTokens: used.Tokens, Borne: used}})
		}
		if way == 9 { // the call fails anyway
			k.finish(
				engine.ToolResult{ID: c.ID, Failure: &event.Failure{Code: "failed", Message: "the store is away"}})
			return true
		}
		more = part
		if way > 2 || part == nil || !exceeds(event.Spent{Tokens: appetite.MaxTokens, Calls: appetite.MaxCalls,
			CostUSD: appetite.MaxCostUSD}, *part) {
			k.finish(engine.ToolResult{ID: c.ID, Text: "done"})
			return true
		}
	}
}

// hold occasionally makes a call wait for a person: for permission to be made, or because the run
// that it started asks a person.
func (k *childRuns) hold(c *engine.CallTool) bool {
	if k.held[c.Key] == 2 || rapid.IntRange(0, 5).Draw(k.rt, "held") > 0 {
		return false
	}
	k.held[c.Key]++
	k.finish(engine.ToolHeld{ID: c.ID, Hold: enginetest.Held("bound", `{}`).Hold})
	return true
}

// finish reports the result of a call.
func (k *childRuns) finish(res engine.InputData) {
	id := ""
	switch d := res.(type) {
	case engine.ToolResult:
		id = d.ID
	case engine.ToolHeld:
		id = d.ID
	}
	k.w.Pending = slices.DeleteFunc(k.w.Pending, func(c engine.Command) bool { return engine.CallID(c) == id })
	k.w.Feed(res)
}

func exceeds(s event.Spent, b workflow.Budget) bool {
	return b.MaxTokens > 0 && s.Tokens > b.MaxTokens || b.MaxCalls > 0 && s.Calls > b.MaxCalls || b.MaxCostUSD > 0 &&
		s.CostUSD > b.MaxCostUSD+1e-9
}

// total returns the sum of what the children used.
func (k *childRuns) total() (s event.Spent) {
	for _, u := range k.used {
		s.Tokens, s.Calls, s.CostUSD = s.Tokens+u.Tokens, s.Calls+u.Calls, s.CostUSD+u.CostUSD
	}
	return s
}
