package engine

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// What follows from budgets: package ledger says what fits, and here is decided what becomes of the run (P20).
const (
	// defaultOutput is reserved for the answer of an agent that sets no bound of its own: what current models take as a bound.
	defaultOutput = 16_384
	// bytesPerToken and tokensPerMessage estimate input.
	bytesPerToken, tokensPerMessage, tokensPerCall = 3, 4, 16
)

// BoundByWorkflow is the budget of all runs of a workflow, which drivers keep.
const BoundByWorkflow = "workflow"

// world is the run as its ledger sees it.
type world struct{ r *Run }

// Around implements ledger.World.
func (w world) Around(step int) iter.Seq2[string, *workflow.Budget] {
	return func(yield func(string, *workflow.Budget) bool) {
		for ; step > 0; step = w.r.stepScope(step).Owner {
			if b := w.r.stepNode(step).Budget; b != nil && !yield(w.r.nodeID(step), b) {
				return
			}
		}
	}
}

// Calls implements ledger.World.
func (w world) Calls() iter.Seq[ledger.Call] {
	return func(yield func(ledger.Call) bool) {
		for key, c := range w.r.s.Loop.All() {
			if c.Kind != loop.Model && !yield(ledger.Call{Key: key, Step: c.Step, State: w.r.ledgerState(c)}) {
				return
			}
		}
	}
}

// ledgerState is the state of a tool or function call as the ledger distinguishes it. A call that waits for its retry timer is none of them.
func (r *Run) ledgerState(c *loop.Call) ledger.CallState {
	switch {
	case c.State == loop.Open:
		return ledger.CallOut
	case c.State == loop.Asking && c.Kind == loop.Tool:
		return ledger.CallHeld
	case c.State == loop.Due && c.Kind == loop.Tool && c.Approved != "":
		return ledger.CallApproved
	case c.State == loop.Due || c.State == loop.Failed:
		return ledger.CallIdle
	}
	return ledger.CallOther
}

// balances gives the budgets that a step's calls must fit.
func (r *Run) balances(step int) []ledger.Balance { return r.s.Ledger.Balances(world{r}, step) }

// endedByBudget tells whether the run ends by a limit after which nothing is called that uses something.
func (r *Run) endedByBudget() bool {
	return r.s.Ending != nil && r.s.Ending.Limit && isBudget(r.s.Limit)
}

// reserve asks the budgets for a model call. False: the call is not made now. Then either the limit was met, or the call waits for others to free
// what they reserved, or for a person. Nil and true: no budget bounds it.
func (r *Run) reserve(id, fr int, model string, added []chat.Message) (*Reserved, bool) {
	if r.endedByBudget() || r.full(id) {
		return nil, false
	}
	balances := r.balances(id)
	if len(balances) == 0 {
		return nil, true
	}
	if r.askedForBudget() {
		r.withheld = true
		return nil, false
	}
	rate, priced := r.s.Ledger.Rate(model)
	v := &Reserved{Input: r.agents.inputTokens(id, fr, added)}
	fit := ledger.FitModel(balances, v.Input, outputBound(r.agents.agent(id, fr)), rate, priced, false)
	if !r.fitsBudget(id, fit) {
		return nil, false
	}
	v.Output, v.Bound = fit.Output, fit.Bound
	return v, true
}

// fitsBudget tells whether a call fits the budgets of its step. Where it does not, the budget is met or the call waits.
func (r *Run) fitsBudget(id int, fit ledger.Fit) bool {
	switch {
	case fit.Met != nil:
		r.budgetMet(id, fit.Met, fit.MetDetail, fit.MetLimit)
		return false
	case fit.Waits:
		r.withheld = true
		return false
	}
	return true
}

// mayCallTool asks the budgets for a tool call, which uses up nothing but a call. key is that of one that is made again, or empty.
func (r *Run) mayCallTool(id int, key string) bool {
	if r.endedByBudget() || r.full(id) {
		return false
	}
	balances := r.balances(id)
	if !ledger.BoundsCalls(balances) {
		return true
	}
	if r.askedForBudget() {
		r.withheld = true
		return false
	}
	own, idle := r.s.Ledger.Own(world{r}, key)
	return r.fitsBudget(id, ledger.FitCalls(balances, own, idle))
}

// maySlot tells whether a call that was out before may be out again: it needs no slot where others that have one may wait for what its runs hold.
func (r *Run) maySlot(key string, c *loop.Call) bool {
	return r.step(c.Step).Loop.Out > 0 || r.slot() || r.s.Ledger.HasReserved(key)
}

func messageTokens(msgs []chat.Message) int64 {
	n := 0
	for i := range msgs {
		m := &msgs[i]
		size := int(m.Text.Len()) + len(m.Name) + len(m.ToolName) + len(m.Extra)
		for _, tc := range m.ToolCalls {
			size += len(tc.Name) + len(tc.Arguments) + len(tc.Extra)
		}
		n += size/bytesPerToken + tokensPerMessage
	}
	return int64(n)
}

// outputBound is the most that an agent's answer may take, its reasoning included.
func outputBound(a *plan.Agent) int64 {
	most := int64(defaultOutput)
	if m := a.Params.MaxTokens; m != nil && *m > 0 {
		most = *m
	}
	if t := a.Params.ThinkingBudget; t != nil {
		most = chat.AddTokens(most, *t)
	}
	return most
}

// budgetMet says that a budget is used up: the node fails, the run ends, or a person is asked for more.
func (r *Run) budgetMet(id int, b *ledger.Balance, detail string, limit int64) {
	switch {
	case b.Bound == ledger.BoundByNode:
		r.emitStep(id, &LimitReached{Limit: CodeNodeBudget, Max: limit, Detail: detail})
		r.failStep(id, Failure{Code: CodeNodeBudget, Limit: detail, Max: limit, Message: fmt.Sprintf("the budget of %q of %d %s is used up", b.Node, limit, detail)})
	case r.s.Ending != nil: // the call waits for the reopening
	case b.Bound == ledger.BoundByParent:
		r.emitStep(id, &LimitReached{Limit: CodeParentBudget, Max: limit, Detail: detail})
	case r.askedForBudget():
		r.withheld = true
	case r.s.Limits.OnBudget == workflow.OnBudgetPause:
		d := &LimitReached{Limit: CodeBudget, Max: limit, Detail: detail}
		r.withheld = true
		r.emitStep(id, &WaitOpened{
			Wait: fmt.Sprintf("b%d", r.s.Waits.Len()+1), Kind: workflow.WaitQuestion, Limit: d, Remind: r.remindAt(0),
			Prompt: fmt.Sprintf("%s. How much may it use in total? Answer with an amount such as %s, or with %s.", sentence(r.limitFailure(d, "").Message), example(d), workflow.BudgetStop),
		})
	default:
		r.emitStep(id, &LimitReached{Limit: CodeBudget, Max: limit, Detail: detail})
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// example is twice a budget, as people write it.
func example(d *LimitReached) string {
	switch d.Detail {
	case ledger.DetailTokens:
		return strconv.FormatInt(chat.AddTokens(d.Max, d.Max), 10)
	case ledger.DetailCalls:
		return fmt.Sprintf("%dcalls", chat.AddTokens(d.Max, d.Max))
	}
	return strconv.FormatFloat(2*float64(max(d.Max, 1))/1e6, 'f', -1, 64) + "USD"
}

// metWorkflow ends the run by the budget of its workflow, which its driver keeps. The call that met it waits for the reopening; false: the run ends anyway, and nothing is reopened.
func (r *Run) metWorkflow(step int, text string) bool {
	if r.s.Ending == nil {
		r.emitStep(step, &LimitReached{Limit: CodeWorkflowBudget, Detail: text})
		return true
	}
	return r.s.Ending.Limit
}

// askedForBudget tells whether a person is being asked for more.
func (r *Run) askedForBudget() bool {
	return len(r.s.Waits.Open(func(w *waits.Wait) bool { return w.Limit != nil })) > 0
}

// largerBudget reads an answer to the question for more: limits, or nil where the run is to end. A mere number is of what the budget bounds.
func (r *Run) largerBudget(met *LimitReached, text string) (*workflow.Limits, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, workflow.BudgetStop) {
		return nil, nil //nolint:nilnil // the run is to end
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += map[string]string{ledger.DetailCalls: "calls", ledger.DetailMoney: "USD"}[met.Detail]
	}
	l, err := workflow.ParseBudget(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w, or %s", ErrAnswer, err, workflow.BudgetStop)
	}
	more := map[string]int64{ledger.DetailTokens: l.MaxTokens, ledger.DetailCalls: l.MaxCalls, ledger.DetailMoney: ledger.MicroUSD(l.MaxCostUSD)}[met.Detail]
	if more <= met.Max {
		return nil, fmt.Errorf("%w: the run used up its budget of %d %s; answer with a larger one", ErrAnswer, met.Max, met.Detail)
	}
	l = MergeLimits(r.s.Limits, l)
	return &l, nil
}

// answeredBudget goes on with a run that asked for more, or ends it.
func (r *Run) answeredBudget(w *waits.Wait, ans *WaitAnswered) {
	step, met := w.Step, *w.Limit
	if r.s.Status == StatusPaused {
		r.emit(0, "", &RunResumed{Reason: "answer"})
	}
	r.emitStep(step, ans)
	if ans.Limits == nil {
		r.emitStep(step, &met)
	}
}

// cutShort takes an answer that ended where the budget said: it is paid for, and it is no answer (P30).
func (r *Run) cutShort(key string, c *loop.Call, d ModelResult) {
	step, bound := c.Step, c.Reserved.Bound
	f := Failure{Code: CodeBudget, Message: fmt.Sprintf("the answer was cut off after %d tokens, the rest of the budget", c.Reserved.Output), Node: r.nodeID(step)}
	model := c.Model
	r.emitStep(step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage, CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Source: d.Source, Details: event.CleanDetails(d.Details)})
	balances := r.balances(step)
	for i := range balances {
		b := &balances[i]
		if b.Bound != bound {
			continue
		}
		rate, priced := r.s.Ledger.Rate(model)
		_, detail, limit := b.RoomNow(0, rate, priced)
		r.budgetMet(step, b, detail, limit)
	}
}

// spend counts what a model call used. free: it was turned away before it cost anything; unmade: its driver did not make it.
func (r *Run) spend(ev *Event, key string, u *chat.Usage, costUSD *float64, free, unmade bool) {
	c := r.s.Loop.Call(key)
	if c == nil {
		return // endCall says what is wrong
	}
	used := r.s.Ledger.UseOfModel(key, c.Model, u, costUSD, free || unmade)
	if unmade {
		used.Calls = -1 // it was counted when it was asked for
	}
	r.charge(ev, used)
}

// charge adds to what the run and the nodes around the step of an event have used.
func (r *Run) charge(ev *Event, a ledger.Amount) { r.s.Ledger.Charge(world{r}, ev.Step, a) }

// openLedger begins the account of a run.
func (r *Run) openLedger(d *RunCreated) {
	r.s.Ledger.SetBudget(d.Limits.Budget())
	r.s.Ledger.SetParentBudget(d.Above)
	for i := range d.Prices {
		r.s.Ledger.SetRate(d.Prices[i].Model, d.Prices[i].Rate)
	}
}

// setLimits puts other limits into force.
func (r *Run) setLimits(l workflow.Limits) {
	r.s.Limits = l
	r.s.Ledger.SetBudget(l.Budget())
}

// isBudget tells whether a run that ended by this limit makes no calls any more that use something.
func isBudget(limit string) bool {
	return limit == CodeBudget || limit == CodeParentBudget || limit == CodeMaxBytes
}

// budgetMetBelow says that the budget of a step is used up by what its call started: the one that has least left of what is asked about.
func (r *Run) budgetMetBelow(step int, detail string) {
	if r.s.Ending != nil {
		return // it waits for the reopening
	}
	if b, limit := ledger.LeastLeft(r.balances(step), detail); b != nil {
		r.budgetMet(step, b, detail, limit)
	}
}

// waitsForBudget tells whether a failed call that had too little budget stays, to be made again under a larger one.
func (r *Run) waitsForBudget(step int, f *Failure, detail string, late bool) bool {
	if f == nil || detail == "" || late || r.s.Ending != nil && !r.s.Ending.Limit {
		return false
	}
	return ledger.BoundsDetail(r.balances(step), detail)
}

// isFree tells whether a model call that failed with this code was turned away before it cost anything. The codes are those of package model.
func isFree(code string) bool {
	switch code {
	case "rate_limit", "overloaded", "auth", "quota_exceeded", "invalid_request", "context_length_exceeded", "no_reply", CodeWorkflowBudget:
		return true
	}
	return false
}
