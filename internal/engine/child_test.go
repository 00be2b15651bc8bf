package engine_test

import (
	"encoding/json"
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

// family is a run whose calls start runs, together with everything that acts on it: those runs,
// people who answer, and a caller who reopens it.
type family struct {
	*enginetest.World
	rt   *rapid.T
	kids *childRuns
	// limits and above are the current limits of the run; nodes are those of its nodes, in tokens.
	limits workflow.Limits
	above  *workflow.Budget
	nodes  map[string]int64
	prices []event.Price
	// own is what its own calls used; reserved is the reservation of each; seen is the number of
	// events counted so far.
	own      event.Spent
	cost     chat.Money
	reserved map[string]event.Reserved
	seen     int
	// asked and reopened count how often the run got more budget; stuck counts
	// consecutive calls that found no room since something happened.
	asked, reopened, stuck int
	// unlimited means that the run has more than it can use, unless more than untold was not
	// reported.
	unlimited bool
	untold    int
}

// newFamily generates a run of parallel branches: agents and tool nodes, some of them in sequence.
func newFamily(t *testing.T, rt *rapid.T) *family {
	t.Helper()
	f := &family{rt: rt, nodes: map[string]int64{}, reserved: map[string]event.Reserved{}}
	g := wide(rapid.IntRange(1, 5).Draw(rt, "branches"), func(n *workflow.Node, a *workflow.Agent) {
		a.Params.MaxTokens = new(rapid.Int64Range(1, 1000).Draw(rt, "bound"))
		if rapid.Bool().Draw(rt, "is a tool") {
			f.tool(n)
		}
		if rapid.IntRange(0, 3).Draw(rt, "own") == 0 {
			n.Budget = &workflow.Budget{MaxTokens: rapid.Int64Range(1, 5000).Draw(rt, "own budget")}
			f.nodes[n.ID] = n.Budget.MaxTokens
		}
	})
	for i, e := range g.Edges {
		if e.To == "f/join" && rapid.IntRange(0, 2).Draw(rt, "goes on") == 0 {
			next := enginetest.In("f", workflow.Node{ID: e.From + "b"})
			f.tool(&next)
			g.Nodes, g.Edges[i].To = append(g.Nodes, next), next.ID
			g.Edges = append(g.Edges, workflow.Edge{From: next.ID, To: e.To})
		}
	}
	fork := g.Nodes[0].Fork
	fork.MaxConcurrency = max(0, rapid.IntRange(-3, 2).Draw(rt, "branches at once"))
	if rapid.IntRange(0, 4).Draw(rt, "fails fast") == 0 {
		fork.OnFailure = ""
	}
	g.Limits = workflow.Limits{
		MaxTokens:      max(0, rapid.Int64Range(-5000, 20_000).Draw(rt, "tokens")),
		MaxCostUSD:     float64(max(0, rapid.IntRange(-50, 100).Draw(rt, "cents"))) / 100,
		MaxCalls:       max(0, rapid.Int64Range(-15, 30).Draw(rt, "calls")),
		MaxConcurrency: rapid.IntRange(0, 3).Draw(rt, "at once"),
	}
	if rapid.Bool().Draw(rt, "steps bound it") {
		g.Limits.MaxSteps = new(rapid.IntRange(1, len(g.Nodes)).Draw(rt, "steps"))
	}
	if rapid.Bool().Draw(rt, "pauses") {
		g.Limits.OnBudget = workflow.OnBudgetPause
	}
	f.limits, f.prices = g.Limits, []event.Price{{Rate: chat.Rate{Input: 1_000_000, Output: 5_000_000}}}
	if rapid.IntRange(0, 2).Draw(rt, "above") == 0 {
		f.above = &workflow.Budget{MaxTokens: rapid.Int64Range(1, 9000).Draw(rt, "above tokens"),
			MaxCalls: rapid.Int64Range(0, 20).Draw(rt, "above calls")}
	}
	f.World = enginetest.New(failRapid{t, rt}, g, nil)
	f.Model = f.model
	f.kids = &childRuns{w: f.World, rt: rt, used: map[string]event.Spent{}, ended: map[string]bool{},
		by: map[string]int64{}, held: map[string]int{}, short: map[string]string{}}
	f.StartWith(event.RunCreated{Input: enginetest.Text("go"), Prices: f.prices, Above: f.above})
	return f
}

// tool changes a node into a tool node whose call starts a run and may be repeated.
func (f *family) tool(n *workflow.Node) {
	n.Kind, n.Agent, n.Tool = workflow.KindTool, nil, &workflow.ToolNode{Tool: "child"}
	if tries := rapid.IntRange(0, 2).Draw(f.rt, "retries"); tries > 0 {
		n.Retry = &workflow.Retry{MaxRetries: tries, Delay: workflow.Duration(time.Second)}
	}
}

// model answers a model call, using no more than was reserved for it.
func (f *family) model(c *engine.CallModel) *engine.ModelResult {
	res := enginetest.Say("done")
	if len(c.Messages) < 6 && rapid.Bool().Draw(f.rt, "asks") {
		var tools []chat.ToolCall
		for i := range rapid.IntRange(1, 3).Draw(f.rt, "tools") {
			tools = append(tools, enginetest.Call(fmt.Sprintf("%d.%d", len(c.Messages), i), "child",
				fmt.Sprintf(`{"n":%d}`, len(c.Messages))))
		}
		res = enginetest.Asks(tools...)
	}
	v := f.reserved[c.ID]
	u := chat.Usage{InputTokens: rapid.Int64Range(0, max(v.Input, 1)).Draw(f.rt, "in"),
		OutputTokens: rapid.Int64Range(0, max(c.MaxOutput, 1)).Draw(f.rt, "out")}
	if rapid.Bool().Draw(f.rt, "all of it") {
		u = chat.Usage{InputTokens: v.Input, OutputTokens: v.Output}
	}
	if c.MaxOutput == 0 {
		u = chat.Usage{InputTokens: 1}
	}
	res.Usage = &u
	f.own.Tokens, f.cost = f.own.Tokens+u.InputTokens+u.OutputTokens, f.cost.Plus(f.prices[0].Rate.Cost(u))
	f.kids.by[c.Node] += u.InputTokens + u.OutputTokens
	return res
}

// countCalls counts the calls that were made since the last count.
func (f *family) countCalls() {
	for _, e := range f.Events[f.seen:] {
		switch d := e.Data.(type) {
		case *event.ModelCalled:
			f.own.Calls++
			if d.Reserved != nil {
				f.reserved[fmt.Sprintf("%s#%d", d.Call, d.Attempt)] = *d.Reserved
			}
		case *event.ToolCalled:
			f.own.Calls++
		case *event.WaitOpened:
			if d.Binding != "" { // it has not been made yet
				f.own.Calls--
			}
		case *event.ToolFailed:
			if d.Late {
				f.kids.untold++
			}
		case *event.ModelFailed, *event.StepFailed, *event.StepCancelled:
			// work in flight counts as all that it might use
			f.kids.untold++
		}
	}
	f.seen = len(f.Events)
}

// step makes one thing happen. It returns false if nothing more can happen.
func (f *family) step() bool {
	if f.Run.Status().Ended() {
		return f.reopen()
	}
	waits, timer := f.Run.Waits(), slices.IndexFunc(f.Timers, func(t *engine.StartTimer) bool {
		return !t.Deadline && t.ID != "settle"
	})
	if n := len(slices.DeleteFunc(slices.Clone(waits), func(w engine.WaitInfo) bool {
		return !asksForMore(w)
	})); n > 1 {
		f.rt.Fatalf("%d questions for a larger budget are open\n%s", n, f.Log())
	}
	free, ending := f.stuck < len(f.Pending), f.isEnding()
	switch {
	case len(waits) > 0 && !ending && (!free || rapid.IntRange(0, 4).Draw(f.rt, "a person answers") == 0):
		f.answer(waits[rapid.IntRange(0, len(waits)-1).Draw(f.rt, "wait")])
	case timer >= 0 && !ending && (!free || rapid.IntRange(0, 4).Draw(f.rt, "time comes") == 0):
		f.Fire(f.Timers[timer].ID)
	case free:
		i := f.stuck
		if i == 0 {
			i = rapid.IntRange(0, len(f.Pending)-1).Draw(f.rt, "next")
		}
		c := f.Pending[i]
		if tool, ok := c.(*engine.CallTool); !ok || f.Cancelled[engine.CallID(c)] {
			f.Pending = slices.Delete(f.Pending, i, i+1)
			f.Feed(f.Answer(c))
		} else if !f.kids.call(tool) {
			f.Pending = append([]engine.Command{c}, slices.Delete(f.Pending, i, i+1)...)
			f.stuck++
			return true
		}
	case len(f.Pending) > 0:
		f.rt.Fatalf("%d calls wait for ever\n%s", len(f.Pending), f.Log())
	default:
		f.rt.Fatalf("the run is %s with nothing out\n%s", f.Run.Status(), f.Log())
	}
	f.stuck = 0
	if rapid.IntRange(0, 20).Draw(f.rt, "crash") == 0 && f.Run.Status() == event.StatusRunning {
		f.crash()
	}
	return true
}

// isEnding reports whether the run ends because of a limit as soon as its calls have returned: no
// wait keeps it open.
func (f *family) isEnding() bool {
	for _, e := range slices.Backward(f.Events) {
		switch d := e.Data.(type) {
		case *event.LimitReached:
			if d.Limit != event.CodeNodeBudget {
				return true
			}
		case *event.RunResumed:
			if d.Limits != nil {
				return false
			}
		}
	}
	return false
}

// shortOf returns what the last reached limit restricts, and the node that reached it.
func (f *family) shortOf() (detail, node string) {
	for _, e := range slices.Backward(f.Events) {
		if d, ok := e.Data.(*event.LimitReached); ok {
			return d.Detail, e.Node
		}
	}
	return "", ""
}

// asksForMore reports whether a wait asks a person for a larger budget.
func asksForMore(w engine.WaitInfo) bool { return w.Call == "" }

// answer answers for a person: about a call, or with a larger budget, which is granted twice.
func (f *family) answer(wait engine.WaitInfo) {
	answer := workflow.BudgetStop
	switch {
	case !asksForMore(wait):
		answer = rapid.SampledFrom([]string{"approve", "approve", "reject"}).Draw(f.rt, "decision")
		if answer == "reject" {
			f.kids.untold++
		}
	case f.asked == 2:
	case strings.Contains(wait.Prompt, "micro-USD"):
		f.limits.MaxCostUSD *= 2
		answer = fmt.Sprintf("%gUSD", f.limits.MaxCostUSD)
	case strings.Contains(wait.Prompt, "calls is"):
		f.limits.MaxCalls *= 2
		answer = fmt.Sprintf("%dcalls", f.limits.MaxCalls)
	default:
		f.limits.MaxTokens *= 2
		answer = fmt.Sprint(f.limits.MaxTokens)
	}
	if answer != workflow.BudgetStop && asksForMore(wait) {
		f.asked++
	}
	f.Feed(engine.Answer{Wait: wait.ID, Value: enginetest.Text(answer)})
}

// crash loses everything in flight.
func (f *family) crash() {
	f.kids.untold++
	var lost []engine.Lost
	for _, c := range f.Pending {
		f.Calls[engine.CallID(c)]--
		if _, ok := c.(*engine.CallTool); ok {
			lost = append(lost, engine.Lost{ID: engine.CallID(c),
				Policy: rapid.SampledFrom([]string{"retry", "retry", "retry", "skip", "fail"}).Draw(f.rt, "policy")})
		}
	}
	f.Crash(lost...)
}

// reopen raises the limits of a run that was ended by a limit: a few times slightly, then beyond
// what it can use. It returns false if the run has ended permanently.
func (f *family) reopen() bool {
	f.keepsNothing()
	if f.Run.EndedByLimit() == "" {
		return false
	}
	short, node := f.shortOf()
	if f.unlimited && (f.kids.untold > f.untold || f.nodes[node] > 0) { // no reopening raises a node's budget
		return false
	} else if f.unlimited && (short != "calls" || f.reopened > 20) {
		// a child run may hold every call, even the one that restarts it
		f.rt.Fatalf("the run ended by %s although it has more than it can use\n%s", f.Run.EndedByLimit(), f.Log())
	}
	if f.reopened == 0 && rapid.IntRange(0, 2).Draw(f.rt, "stays ended") == 0 {
		return false
	}
	times := int64(2)
	if f.reopened++; f.reopened == 3 {
		f.unlimited, f.untold, times = true, f.kids.untold, 1<<20
	}
	l := &f.limits
	if f.reopened > 3 {
		times = 2
	}
	l.MaxTokens, l.MaxCalls, l.MaxCostUSD = l.MaxTokens*times, l.MaxCalls*times, l.MaxCostUSD*float64(times)
	if l.MaxSteps != nil {
		l.MaxSteps = new(*l.MaxSteps * int(times))
	}
	if f.above != nil {
		f.above = &workflow.Budget{MaxTokens: f.above.MaxTokens * times, MaxCalls: f.above.MaxCalls * times}
	}
	f.Feed(engine.Reopen{Limits: *l, Above: f.above})
	return true
}

// keepsNothing checks that a run that has ended keeps allotments only for the runs that a reopening
// continues.
func (f *family) keepsNothing() {
	raw := enginetest.State(f.Run)
	var state struct {
		Loop   struct{ Calls map[string]json.RawMessage }
		Ledger struct {
			Children map[string]struct {
				Call  string
				Ended bool
			}
		}
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		f.rt.Fatalf("state: %v", err)
	}
	if len(state.Ledger.Children) == 0 && len(f.kids.used) > 0 {
		f.rt.Fatalf("the state holds no runs below: %s", raw)
	}
	for run, c := range state.Ledger.Children {
		if !c.Ended && (f.Run.EndedByLimit() == "" || state.Loop.Calls[c.Call] == nil) {
			f.rt.Fatalf("a part is kept for %s, which never continues\n%s", run, f.Log())
		}
	}
}

// TestBudget_ChildRuns checks that model calls and the runs started by parallel branches
// together never exceed the budgets of the run, of a node and of the parent run, however often
// usage is reported, whatever is never reported, across crashes and calls that are held or
// repeated, and however the run ends and is reopened (P20). The usage of each run counts once.
// Nothing waits forever, an ended run keeps nothing, and a run with enough budget ends.
func TestBudget_ChildRuns(t *testing.T) {
	t.Parallel()
	randtest.Check(t, 30, func(rt *rapid.T) {
		f := newFamily(t, rt)
		for f.countCalls(); f.step(); f.countCalls() {
		}
		below := f.kids.total()
		all := event.Spent{Tokens: f.own.Tokens + below.Tokens, Calls: f.own.Calls + below.Calls,
			CostUSD: f.cost.USD() + below.CostUSD}
		check := func(what string, b workflow.Budget) {
			if exceeds(all, b) {
				rt.Fatalf("%s: %+v of %+v\n%s", what, all, b, f.Log())
			}
		}
		check("the run", workflow.Budget{MaxTokens: f.limits.MaxTokens, MaxCostUSD: f.limits.MaxCostUSD,
			MaxCalls: f.limits.MaxCalls})
		if f.above != nil {
			check("the run above", *f.above)
		}
		for node, most := range f.nodes {
			if f.kids.by[node] > most {
				rt.Fatalf("node %s: %d of %d\n%s", node, f.kids.by[node], most, f.Log())
			}
		}
		// runs that continue later may not have reported their usage
		got, live := f.Run.Spent(), f.Run.EndedByLimit() != ""
		if !live && (got.Tokens < all.Tokens || got.Calls < all.Calls) {
			rt.Fatalf("%+v counts, %+v was used\n%s", got, all, f.Log())
		} else if f.kids.untold == 0 && (got.Tokens > all.Tokens || got.Calls > all.Calls) {
			rt.Fatalf("%+v counts, but %+v was used, and told\n%s", got, all, f.Log())
		}
		if rapid.IntRange(0, 7).Draw(rt, "prefixes") == 0 {
			f.CheckPrefixes()
		}
	})
}
