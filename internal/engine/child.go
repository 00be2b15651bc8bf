package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// A child run is bound by a part of what its parent has left, which is kept for it from before its start until it has ended: so parallel children cannot overspend together,
// whoever drives them, and a crash loses nothing of it (P20, ADR 30).

// child is a run that a call of this one started.
type child struct {
	Call string
	Step int
	// Ended: it uses no more, and nothing is kept for it.
	Ended bool
	// Part is what it may use in all, Used what of it is counted in Spent. Uncounted is that of its part.
	Part      spending
	Used      spending
	Uncounted string
}

// kept is what the child may still use beyond what was counted.
func (c *child) kept() spending {
	if c.Ended {
		return spending{}
	}
	return c.Part.beyond(c.Used)
}

// atLeast gives the larger of both, amount by amount.
func (s spending) atLeast(o spending) spending {
	return spending{max(s.Tokens, o.Tokens), max(s.Cost, o.Cost), max(s.Calls, o.Calls)}
}

// beyond gives what of s exceeds o, amount by amount.
func (s spending) beyond(o spending) spending {
	return spending{max(s.Tokens-o.Tokens, 0), max(s.Cost-o.Cost, 0), max(s.Calls-o.Calls, 0)}
}

// Above gives what the run above leaves for this one; nil: nothing bounds it from there.
func (r *Run) Above() *workflow.Budget { return r.s.Above }

// PartOf gives what a child run may use in all; nil: no budget bounds it, or there is no such run.
func (r *Run) PartOf(run string) *workflow.Budget {
	c := r.s.Children[run]
	if c == nil {
		return nil
	}
	b := c.Part.budget()
	if b != nil {
		b.Uncounted = c.Uncounted
	}
	return b
}

// budget gives what bounds something; nil: nothing does.
func (s spending) budget() *workflow.Budget {
	if s == (spending{}) {
		return nil
	}
	return &workflow.Budget{MaxTokens: s.Tokens, MaxCostUSD: s.Cost.USD(), MaxCalls: s.Calls}
}

func spendingOf(b *workflow.Budget) spending {
	if b == nil {
		return spending{}
	}
	return spending{max(b.MaxTokens, 0), max(chat.ToMoney(b.MaxCostUSD), 0), max(b.MaxCalls, 0)}
}

// Spent gives what counts against the run's budgets so far.
func (r *Run) Spent() Spent {
	return Spent{Tokens: r.s.Spent.Tokens, CostUSD: r.s.Spent.Cost.USD(), Calls: r.s.Spent.Calls}
}

// openWork gives the tool or function call that a command asked for while it is out; a cancelled one only where late is set. Nil: it has its result, or is at
// another attempt.
func (r *Run) openWork(id string, late bool) (string, *call) {
	key, attempt, _ := parseCommandID(id)
	c := r.s.Calls[key]
	if c == nil || c.Attempt != attempt || c.Kind == callModel || r.s.Status.Ended() || c.State != callOpen && (!late || c.State != callCancelled) {
		return "", nil
	}
	return key, c
}

func (r *Run) checkChild(d ChildStart) error {
	if err := r.checkCall(d.ID); err != nil {
		return err
	}
	key, c := r.openWork(d.ID, false)
	if c == nil || d.Run == "" {
		return fmt.Errorf("%w: %q", ErrCallLate, d.ID)
	}
	_, _, err := r.part(key, c, d)
	return err
}

func (r *Run) checkUse(d CallUse) error {
	if err := r.checkCall(d.ID); err != nil {
		return err
	}
	if _, c := r.openWork(d.ID, true); c == nil || d.Run != "" && r.s.Children[d.Run] == nil {
		return fmt.Errorf("%w: %q", ErrCallLate, d.ID)
	}
	return nil
}

func (r *Run) handleChild(d ChildStart) {
	key, c := r.openWork(d.ID, false)
	if part, fresh, err := r.part(key, c, d); err == nil && fresh {
		b := part.budget()
		if purses := r.purses(c.Step); b != nil && boundsUse(b) && uncounted(purses) == nil {
			b.Uncounted = workflow.UncountedAllow
		}
		r.emitStep(c.Step, &ChildStarted{Call: key, Attempt: c.Attempt, Run: d.Run, Part: b})
	}
}

func (r *Run) handleUse(d CallUse) {
	key, c := r.openWork(d.ID, true)
	r.emitStep(c.Step, &CallUsed{
		Call: key, Attempt: c.Attempt, Run: d.Run, Ended: d.Ended, Used: d.Used, Key: d.Key, Model: clean(d.Model), UsageEstimated: clean(d.UsageEstimated), Warning: clean(d.Warning),
	})
	r.held = true
}

// part decides what a child run may use in all. fresh: it is not what is recorded already.
func (r *Run) part(key string, c *call, d ChildStart) (part spending, fresh bool, err error) {
	old := r.s.Children[d.Run]
	if old != nil && (!old.Ended || d.More == nil && !old.unborn()) {
		return spending{}, false, nil
	}
	purses := r.purses(c.Step)
	switch {
	case len(purses) == 0:
		return spending{}, true, nil
	case r.s.Ending != nil && r.s.Ending.Limit && isBudget(r.s.Limit):
		return spending{}, false, &BudgetError{Detail: tightest(purses)}
	case r.s.Ending == nil && r.askedForBudget():
		return spending{}, false, ErrNoRoom
	}
	shares := int64(max(d.Shares, 1) + r.rivals(key))
	if d.More != nil {
		shares = 1
	}
	part, noRoom, err := allot(purses, shares)
	if err != nil {
		return spending{}, false, err
	}
	switch {
	case noRoom:
	case d.More == nil || old == nil:
		return part, true, nil
	default:
		if raised, more := raised(part, old.Used, spendingOf(d.More)); more {
			return raised, true, nil
		}
	}
	if r.s.Ending == nil && slices.ContainsFunc(purses, func(p purse) bool { return p.reserved != spending{} }) {
		return spending{}, false, ErrNoRoom
	}
	return spending{}, false, &BudgetError{Detail: tightest(purses)}
}

// isBudget tells whether a run that ended by this limit makes no calls any more that use something.
func isBudget(limit string) bool {
	return limit == CodeBudget || limit == CodeParentBudget || limit == CodeMaxBytes
}

// amounts are tokens, money and calls, in this order, and amountNames what events call them.
type amounts [3]int64

var amountNames = [3]string{detailTokens, detailMoney, detailCalls}

// leastPart is what a run must get at least.
var leastPart = amounts{minOutput, 1, 1}

func (s spending) amounts() amounts { return amounts{s.Tokens, int64(s.Cost), s.Calls} }

func (a amounts) spending() spending { return spending{a[0], chat.Money(a[1]), a[2]} }

// allot gives one share of what the purses have neither spent nor keep for others; what they do not bound is 0. noRoom: there is too little of something before others
// have settled.
//
// Errors: *BudgetError where there is too little whatever others leave.
func allot(purses []purse, shares int64) (part spending, noRoom bool, err error) {
	var all amounts
	for i := range purses {
		most, spent, kept := spendingOf(&purses[i].budget).amounts(), purses[i].spent.amounts(), purses[i].reserved.amounts()
		for d, b := range most {
			if b <= 0 {
				continue
			}
			left := b - spent[d]
			free := left - kept[d]
			switch {
			case left < leastPart[d]:
				return spending{}, false, &BudgetError{Detail: amountNames[d]}
			case free < leastPart[d]:
				noRoom = true
				continue
			}
			if share := max(free/shares, leastPart[d]); all[d] == 0 || share < all[d] {
				all[d] = share
			}
		}
	}
	return all.spending(), noRoom, nil
}

// raised gives a part for a run that has used its own: what there is now, on top of what it used. False: it is nowhere more than it had.
func raised(free, used, had spending) (spending, bool) {
	more := false
	all, before, old := free.amounts(), used.amounts(), had.amounts()
	for d, have := range all {
		if have > 0 {
			all[d] += before[d]
			more = more || all[d] > old[d]
		}
	}
	return all.spending(), more
}

// tightest names what of the budgets has the smallest share left.
func tightest(purses []purse) string {
	detail, least := detailTokens, 2.0
	for i := range purses {
		spent := purses[i].spent.amounts()
		for d, b := range spendingOf(&purses[i].budget).amounts() {
			if b <= 0 {
				continue
			}
			if share := float64(b-spent[d]) / float64(b); share < least {
				detail, least = amountNames[d], share
			}
		}
	}
	return detail
}

// metBelow says that the budget of a step is used up by what its call started: the one that has least left of what is asked about.
func (r *Run) metBelow(step int, detail string) {
	if r.s.Ending != nil {
		return // it waits for the reopening
	}
	d := slices.Index(amountNames[:], detail)
	var met *purse
	var most, left int64
	for _, p := range r.purses(step) {
		if d < 0 {
			break
		}
		b := spendingOf(&p.budget).amounts()[d]
		if rest := b - p.spent.amounts()[d]; b > 0 && (met == nil || rest < left) {
			met, most, left = &p, b, rest
		}
	}
	if met == nil {
		return // keptForMore found one
	}
	if detail == detailMoney {
		most = microUSD(met.budget.MaxCostUSD)
	}
	r.meet(step, met, detail, most)
}

// keptForMore tells whether a failed call that had too little budget stays, to be made again under a larger one.
func (r *Run) keptForMore(step int, f *Failure, detail string, late bool) bool {
	if f == nil || detail == "" || late || r.s.Ending != nil && !r.s.Ending.Limit {
		return false
	}
	return slices.ContainsFunc(r.purses(step), func(p purse) bool {
		d := slices.Index(amountNames[:], detail)
		return d >= 0 && spendingOf(&p.budget).amounts()[d] > 0
	})
}

func (r *Run) applyChildStarted(ev *Event, d *ChildStarted) error {
	c := r.s.Calls[d.Call]
	if c == nil || c.Kind == callModel || c.Step != ev.Step || c.State != callOpen {
		return r.diverge(ev, "call %s is not open", d.Call)
	}
	if r.s.Children == nil {
		r.s.Children = map[string]*child{}
	}
	ch := r.s.Children[d.Run]
	if ch == nil {
		ch = &child{}
		r.s.Children[d.Run] = ch
	}
	ch.Call, ch.Step, ch.Ended, ch.Part, ch.Uncounted = d.Call, ev.Step, false, spendingOf(d.Part), ""
	if d.Part != nil {
		ch.Uncounted = d.Part.Uncounted
	}
	return nil
}

func (r *Run) applyCallUsed(ev *Event, d *CallUsed) error {
	c := r.s.Calls[d.Call]
	if c == nil || c.Kind == callModel || c.Step != ev.Step {
		return r.diverge(ev, "call %s does not exist", d.Call)
	}
	used := d.Used.Borne.spending()
	if d.Run == "" {
		r.charge(ev, used)
		if v := r.s.Reservations[d.Key]; v != nil && v.Call == d.Call {
			delete(r.s.Reservations, d.Key)
		}
		return nil
	}
	ch := r.s.Children[d.Run]
	if ch == nil {
		return r.diverge(ev, "run %s was not started", d.Run)
	}
	r.charge(ev, used.beyond(ch.Used))
	ch.Used, ch.Ended = ch.Used.atLeast(used), d.Ended
	return nil
}

// leaveChildren counts what the runs of a call that is gone may still use: nobody tells of it any more.
func (r *Run) leaveChildren(key string, c *call) {
	if c.Kind == callModel || len(r.s.Children) == 0 {
		return
	}
	for _, ch := range r.s.Children {
		if ch.Call != key {
			continue
		}
		if rest := ch.kept(); rest != (spending{}) {
			r.chargeStep(ch.Step, rest)
			ch.Used = ch.Used.plus(rest)
		}
		ch.Ended = true
	}
}

// oddChild looks at a stored start of a run.
func (r *Run) oddChild(ev *Event, d *ChildStarted) string {
	c, b := r.s.Calls[d.Call], d.Part
	switch {
	case c == nil || c.Kind == callModel || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != callOpen:
		return "call " + d.Call + " is not open"
	case d.Run == "" || r.s.Children[d.Run] != nil && !r.s.Children[d.Run].Ended:
		return "the run has not ended"
	case b != nil && (b.MaxTokens < 0 || b.MaxCostUSD < 0 || b.MaxCalls < 0):
		return "its part is negative"
	}
	return ""
}

// oddUse looks at a stored report of what a call used.
func (r *Run) oddUse(ev *Event, d *CallUsed) string {
	c := r.s.Calls[d.Call]
	switch {
	case c == nil || c.Kind == callModel || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != callOpen && c.State != callCancelled:
		return "call " + d.Call + " is not open"
	case d.Run != "" && r.s.Children[d.Run] == nil:
		return "run " + d.Run + " was not started"
	}
	return ""
}
