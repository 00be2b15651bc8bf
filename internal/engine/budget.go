package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// A budget holds because every model call reserves, before it is made, what it can use at most: an estimate of its input, and an output at which its
// provider is asked to stop. Reservations of calls that are out count as spent until the calls settle (P20).
const (
	// defaultOutput is reserved for the answer of an agent that sets no bound of its own: what current models take as a bound.
	defaultOutput = 16_384
	// minOutput is the least that is worth a call.
	minOutput = 16
	// bytesPerToken and tokensPerMessage estimate input.
	bytesPerToken, tokensPerMessage, tokensPerCall = 3, 4, 16
	// stopLength is the word for an answer that was cut at its bound.
	stopLength = "length"
	// stopRefusal is the word for a model that declined.
	stopRefusal = "refusal"
)

// Details of LimitReached that name what a budget bounds.
const (
	detailTokens = "tokens"
	detailMoney  = "micro-USD"
	detailCalls  = "calls"
)

// Which budget bounds a reservation.
const (
	boundByRun   = "run"
	boundByNode  = "node"
	boundByAbove = "above"
	// BoundByWorkflow is the budget of all runs of a workflow, which drivers keep.
	BoundByWorkflow = "workflow"
)

// spending is what was used, or is reserved.
type spending struct {
	Tokens int64
	Cost   chat.Money
	Calls  int64
}

func (s spending) plus(o spending) spending {
	return spending{chat.AddTokens(s.Tokens, o.Tokens), s.Cost.Plus(max(o.Cost, 0)), addCalls(s.Calls, o.Calls)}
}

// addCalls adds calls; a call that was counted and is not made is taken back by -1.
func addCalls(a, b int64) int64 {
	if b < 0 {
		return max(a+b, 0)
	}
	return chat.AddTokens(a, b)
}

// rate gives the price of a model; false where it is not known.
func (r *Run) rate(model string) (chat.Rate, bool) {
	for i := range r.s.Created.Prices {
		if p := &r.s.Created.Prices[i]; p.Model == model {
			return p.Rate, true
		}
	}
	return chat.Rate{}, false
}

// most is what a reservation stands for.
func (r *Run) most(model string, v *Reserved) spending {
	s := spending{Tokens: chat.AddTokens(v.Input, v.Output)}
	if rate, ok := r.rate(model); ok {
		s.Cost = rate.Most(v.Input, v.Output)
	}
	return s
}

func microUSD(usd float64) int64 { return int64(usd * 1e6) }

// reserve asks the budgets for a model call. False: the call is not made now. Then either the limit was met, or the call waits for others to free
// what they reserved, or for a person. Nil and true: no budget bounds it.
func (r *Run) reserve(id, fr int, model string, added []chat.Message) (*Reserved, bool) {
	if r.s.Ending != nil && r.s.Ending.Limit && isBudget(r.s.Limit) || r.full(id) {
		return nil, false
	}
	purses := r.purses(id)
	if len(purses) == 0 {
		return nil, true
	}
	if r.askedForBudget() {
		r.held = true
		return nil, false
	}
	v := &Reserved{Input: r.inputTokens(id, fr, added), Output: outputBound(r.agent(id, fr))}
	rate, priced := r.rate(model)
	least := min(minOutput, v.Output)
	for i := range purses {
		p := &purses[i]
		if room, detail, limit := p.room(v.Input, p.spent, rate, priced); room < least { // it does not fit whatever the others leave
			r.meet(id, p, detail, limit)
			return nil, false
		}
		room, _, _ := p.room(v.Input, p.spent.plus(p.reserved), rate, priced)
		if room < least {
			r.held = true
			return nil, false
		}
		if room < v.Output {
			v.Output, v.Bound = room, p.bound
		}
	}
	return v, true
}

// mayCallTool asks the budgets for a tool call, which uses up nothing but a call. key is that of one that is made again, or empty.
func (r *Run) mayCallTool(id int, key string) bool {
	if r.s.Ending != nil && r.s.Ending.Limit && isBudget(r.s.Limit) || r.full(id) {
		return false
	}
	own := r.keptCall(key, r.s.Calls[key]).Calls
	for _, p := range r.purses(id) {
		if p.budget.MaxCalls <= 0 {
			continue
		}
		if r.askedForBudget() {
			r.held = true
			return false
		}
		if p.spent.plus(r.keptIdle(key)).Calls >= p.budget.MaxCalls {
			r.meet(id, &p, detailCalls, p.budget.MaxCalls)
			return false
		}
		if p.spent.Calls+p.reserved.Calls-own >= p.budget.MaxCalls { // runs below hold what is left
			r.held = true
			return false
		}
	}
	return true
}

// inputTokens estimates the input of a frame's next call: by its bytes, and by what its last call had and what came since.
func (r *Run) inputTokens(id, fr int, added []chat.Message) int64 {
	f, a := r.frame(id, fr), r.agent(id, fr)
	msgs := r.s.Convs[f.Conv]
	size := len(r.system(id, fr))
	for _, d := range r.toolDefs(id, fr) {
		size += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	if a.Output != nil {
		size += len(a.Output.Schema)
	}
	est := tokensPerCall + int64(size/bytesPerToken) + messageTokens(msgs) + messageTokens(added)
	if f.Input > 0 {
		est = max(est, chat.AddTokens(f.Input, messageTokens(msgs[min(f.Seen, len(msgs)):])+messageTokens(added)))
	}
	return est
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
func outputBound(a *agent) int64 {
	most := int64(defaultOutput)
	if m := a.Params.MaxTokens; m != nil && *m > 0 {
		most = *m
	}
	if t := a.Params.ThinkingBudget; t != nil {
		most = chat.AddTokens(most, *t)
	}
	return most
}

// meet says that a budget is used up: the node fails, the run ends, or a person is asked for more.
func (r *Run) meet(id int, p *purse, detail string, limit int64) {
	switch {
	case p.bound == boundByNode:
		r.emitStep(id, &LimitReached{Limit: CodeNodeBudget, Max: limit, Detail: detail})
		r.failStep(id, Failure{Code: CodeNodeBudget, Limit: detail, Max: limit, Message: fmt.Sprintf("the budget of %q of %d %s is used up", p.node, limit, detail)})
	case r.s.Ending != nil: // the call waits for the reopening
	case p.bound == boundByAbove:
		r.emitStep(id, &LimitReached{Limit: CodeParentBudget, Max: limit, Detail: detail})
	case r.askedForBudget():
		r.held = true
	case r.s.Limits.OnBudget == workflow.OnBudgetPause:
		d := &LimitReached{Limit: CodeBudget, Max: limit, Detail: detail}
		r.held = true
		r.emitStep(id, &WaitOpened{
			Wait: fmt.Sprintf("b%d", len(r.s.Waits)+1), Kind: workflow.WaitQuestion, Limit: d, Remind: r.remindAt(0),
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
	case detailTokens:
		return strconv.FormatInt(chat.AddTokens(d.Max, d.Max), 10)
	case detailCalls:
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
	if r.s.Open == 0 {
		return false
	}
	for i := range r.s.Waits {
		if w := &r.s.Waits[i]; w.Limit != nil && w.open() {
			return true
		}
	}
	return false
}

// largerBudget reads an answer to the question for more: limits, or nil where the run is to end. A mere number is of what the budget bounds.
func (r *Run) largerBudget(met *LimitReached, text string) (*workflow.Limits, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, workflow.BudgetStop) {
		return nil, nil //nolint:nilnil // the run is to end
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += map[string]string{detailCalls: "calls", detailMoney: "USD"}[met.Detail]
	}
	l, err := workflow.ParseBudget(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w, or %s", ErrAnswer, err, workflow.BudgetStop)
	}
	more := map[string]int64{detailTokens: l.MaxTokens, detailCalls: l.MaxCalls, detailMoney: microUSD(l.MaxCostUSD)}[met.Detail]
	if more <= met.Max {
		return nil, fmt.Errorf("%w: the run used up its budget of %d %s; answer with a larger one", ErrAnswer, met.Max, met.Detail)
	}
	l = MergeLimits(r.s.Limits, l)
	return &l, nil
}

// answeredBudget goes on with a run that asked for more, or ends it.
func (r *Run) answeredBudget(w *wait, ans *WaitAnswered) {
	step, met := w.Step, *w.Limit
	if r.s.Status == StatusPaused {
		r.emit(0, "", &RunResumed{Reason: "answer"})
	}
	r.emitStep(step, ans)
	if ans.Limits == nil {
		r.emitStep(step, &met)
	}
	r.held = true
}

// cutShort takes an answer that ended where the budget said: it is paid for, and it is no answer (P30).
func (r *Run) cutShort(key string, c *call, d ModelResult) {
	step, bound := c.Step, c.Reserved.Bound
	f := Failure{Code: CodeBudget, Message: fmt.Sprintf("the answer was cut off after %d tokens, the rest of the budget", c.Reserved.Output), Node: r.nodeID(step)}
	model := c.Model
	r.emitStep(step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage, CostUSD: d.CostUSD, UsageEstimated: clean(d.UsageEstimated), Source: d.Source, Details: cleanDetails(d.Details)})
	for _, p := range r.purses(step) {
		if p.bound != bound || r.broken != nil {
			continue
		}
		rate, priced := r.rate(model)
		_, detail, limit := p.room(0, p.spent.plus(p.reserved), rate, priced)
		r.meet(step, &p, detail, limit)
	}
}

// spend counts what a call used. A call of which nobody knows counts as what was reserved for it, unless it was turned away.
func (r *Run) spend(ev *Event, key string, u *chat.Usage, costUSD *float64, free, withheld bool) {
	c := r.s.Calls[key]
	if c == nil {
		return // endCall says what is wrong
	}
	var s spending
	switch {
	case withheld:
		s.Calls = -1 // it was counted when it was asked for, and was never made
	case u != nil:
		s.Tokens = chat.AddTokens(u.InputTokens, u.OutputTokens)
		if rate, ok := r.rate(c.Model); ok {
			s.Cost = rate.Cost(*u)
		}
	case !free && c.Reserved != nil:
		s = r.most(c.Model, c.Reserved)
	}
	if costUSD != nil {
		s.Cost = max(0, chat.ToMoney(*costUSD))
	}
	r.charge(ev, s)
}

// charge adds to what the run and the node of an event have used.
func (r *Run) charge(ev *Event, s spending) { r.chargeStep(ev.Step, s) }

func (r *Run) chargeStep(step int, s spending) {
	r.s.Spent = r.s.Spent.plus(s)
	for id := range r.around(step) {
		if r.stepNode(id).Budget == nil {
			continue
		}
		if r.s.NodeSpent == nil {
			r.s.NodeSpent = map[string]spending{}
		}
		node := r.nodeID(id)
		r.s.NodeSpent[node] = r.s.NodeSpent[node].plus(s)
	}
}

// isFree tells whether a model call that failed with this code was turned away before it cost anything. The codes are those of package model.
func isFree(code string) bool {
	switch code {
	case "rate_limit", "overloaded", "auth", "quota_exceeded", "invalid_request", "context_length_exceeded", "no_reply", CodeWorkflowBudget:
		return true
	}
	return false
}
