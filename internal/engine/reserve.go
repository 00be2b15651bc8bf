package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// Model calls that a function or a tool makes itself, in a session, are withheld like those of agents: each has a reservation from before it is made until its use is
// reported, so that parallel sessions cannot overspend together (P20, ADR 35).

// reservation is what a model call of a function or a tool may use.
type reservation struct {
	Call   string
	Step   int
	Part   spending
	Output int64
	Bound  string
	Detail string
}

// ReservedFor gives the tokens of output that are granted to the model call of this key, and what the budget bounds that left no more, as in BudgetError; "" where the call's own
// bound is met first. False: nothing is reserved for it.
func (r *Run) ReservedFor(key string) (output int64, short string, ok bool) {
	v := r.s.Reservations[key]
	if v == nil {
		return 0, "", false
	}
	return v.Output, v.Detail, true
}

func (r *Run) checkReserve(d CallReserve) error {
	if err := r.checkCall(d.ID); err != nil {
		return err
	}
	key, c := r.openWork(d.ID, false)
	if c == nil {
		return fmt.Errorf("%w: %q", ErrCallLate, d.ID)
	}
	_, err := r.grant(key, c, d)
	return err
}

func (r *Run) handleReserve(d CallReserve) {
	key, c := r.openWork(d.ID, false)
	if v, err := r.grant(key, c, d); err == nil && v != nil {
		r.emitStep(c.Step, &CallReserved{Call: key, Attempt: c.Attempt, Key: d.Key, Model: d.Model, Output: v.Output, Bound: v.Bound, Detail: v.Detail, Part: v.Part.budget()})
	}
}

// grant decides what a model call may use. Nil without error: nothing is to be recorded.
func (r *Run) grant(key string, c *call, d CallReserve) (*reservation, error) {
	if old := r.s.Reservations[d.Key]; old != nil {
		if old.Call != key {
			return nil, fmt.Errorf("%w: model call %q belongs to another call", ErrCallLate, d.Key)
		}
		return nil, nil
	}
	purses := r.purses(c.Step)
	if len(purses) == 0 {
		return nil, nil
	}
	if d.Key == "" {
		return nil, uncounted(purses)
	}
	switch {
	case r.s.Ending != nil && r.s.Ending.Limit && isBudget(r.s.Limit):
		return nil, &BudgetError{Detail: tightest(purses)}
	case r.s.Ending == nil && r.askedForBudget():
		return nil, ErrNoRoom
	}
	return r.fit(purses, key, c.Step, d)
}

// fit gives a model call as much as all budgets leave.
func (r *Run) fit(purses []purse, key string, step int, d CallReserve) (*reservation, error) {
	if d.Tool {
		return r.fitTool(purses, key, step)
	}
	input, output := max(d.Input, 0), max(d.Output, 1)
	least := min(minOutput, output)
	var rate chat.Rate
	if d.Rate != nil {
		rate = *d.Rate
	}
	v := &reservation{Call: key, Step: step, Output: output}
	for i := range purses {
		p := &purses[i]
		if p.budget.MaxCostUSD > 0 && d.Rate == nil {
			return nil, fmt.Errorf("%w: %q", ErrPrice, d.Model)
		}
		if room, detail, _ := p.room(input, p.spent, rate, d.Rate != nil); room < least {
			return nil, &BudgetError{Detail: detail}
		}
		room, detail, _ := p.room(input, p.spent.plus(p.reserved), rate, d.Rate != nil)
		if room < least {
			return nil, ErrNoRoom
		}
		if room < v.Output {
			v.Output, v.Bound, v.Detail = room, p.bound, detail
		}
	}
	v.Part = spending{Tokens: chat.AddTokens(input, v.Output), Cost: rate.Most(input, v.Output), Calls: 1}
	return v, nil
}

// fitTool is fit for a tool call, which uses a call and nothing else that is known before. Nil without error: no budget bounds calls.
func (r *Run) fitTool(purses []purse, key string, step int) (v *reservation, err error) {
	for i := range purses {
		p := &purses[i]
		switch most := p.budget.MaxCalls; {
		case most <= 0:
			continue
		case p.spent.Calls >= most:
			return nil, &BudgetError{Detail: detailCalls}
		case p.spent.plus(p.reserved).Calls >= most:
			return nil, ErrNoRoom
		}
		v = &reservation{Call: key, Step: step, Part: spending{Calls: 1}}
	}
	return v, nil
}

// boundsUse tells whether a budget is of tokens or money, which only reported use can be compared with.
func boundsUse(b *workflow.Budget) bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 }

// uncounted refuses work whose use is never reported, where a budget of tokens or money does not allow it.
func uncounted(purses []purse) error {
	for i := range purses {
		if b := &purses[i].budget; boundsUse(b) && b.Uncounted != workflow.UncountedAllow {
			return &UncountedError{Bound: purses[i].bound}
		}
	}
	return nil
}

func (r *Run) applyReserved(ev *Event, d *CallReserved) error {
	c := r.s.Calls[d.Call]
	if c == nil || c.Kind == callModel || c.Step != ev.Step || c.State != callOpen {
		return r.diverge(ev, "call %s is not open", d.Call)
	}
	if r.s.Reservations == nil {
		r.s.Reservations = map[string]*reservation{}
	}
	r.s.Reservations[d.Key] = &reservation{Call: d.Call, Step: ev.Step, Part: spendingOf(d.Part), Output: d.Output, Bound: d.Bound, Detail: d.Detail}
	return nil
}

// leaveReserved counts what was reserved for the model calls of a call that has its result: their use is not reported any more.
func (r *Run) leaveReserved(key string) {
	for name, v := range r.s.Reservations {
		if v.Call == key {
			r.chargeStep(v.Step, v.Part)
			delete(r.s.Reservations, name)
		}
	}
}

// oddReserved looks at a stored reservation.
func (r *Run) oddReserved(ev *Event, d *CallReserved) string {
	c, b := r.s.Calls[d.Call], d.Part
	switch {
	case c == nil || c.Kind == callModel || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != callOpen:
		return "call " + d.Call + " is not open"
	case d.Key == "" || r.s.Reservations[d.Key] != nil:
		return "model call " + d.Key + " has a reservation"
	case b == nil || b.MaxTokens < 0 || b.MaxCostUSD < 0 || b.MaxCalls < 0 || d.Output < 0:
		return "it reserves a negative amount"
	case d.Bound != "" && !slices.Contains([]string{boundByRun, boundByNode, boundByAbove}, d.Bound):
		return "it names the budget " + d.Bound
	case d.Detail != "" && !slices.Contains(amountNames[:], d.Detail):
		return "it names the amount " + d.Detail
	}
	return ""
}
