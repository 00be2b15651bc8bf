package ledger

import (
	"github.com/hocket-run/hocket/workflow"
)

// child is a run that a call of this run started. Its allotment is reserved from before its start
// until it has ended, so that parallel children cannot overspend together and a crash loses none of
// it (ADR 30).
type child struct {
	call  string
	step  int
	ended bool
	// allotment is the total that the child may use, used the part that has been charged. uncounted
	// is the setting of its budget.
	allotment, used Amount
	uncounted       string
}

// remaining returns what the child may still use beyond what has been charged.
func (c *child) remaining() Amount {
	if c.ended {
		return Amount{}
	}
	return c.allotment.beyond(c.used)
}

// maybeNeverStarted reports whether the child may never have been stored: nothing is reserved for
// it any more, and it has used nothing of its allotment.
func (c *child) maybeNeverStarted() bool {
	return c.ended && c.used == Amount{} && c.allotment != Amount{}
}

// Allotment returns the total that a child run may use; nil if no budget limits it or there is no
// such run.
func (l *Ledger) Allotment(run string) *workflow.Budget {
	c := l.children[run]
	if c == nil {
		return nil
	}
	b := c.allotment.Budget()
	if b != nil {
		b.Uncounted = c.uncounted
	}
	return b
}

// HasChild reports whether a run was started.
func (l *Ledger) HasChild(run string) bool { return l.children[run] != nil }

// IsActive reports whether a run was started and has not ended.
func (l *Ledger) IsActive(run string) bool { c := l.children[run]; return c != nil && !c.ended }

// IsAllotted reports whether there is nothing to decide about a run: it has its allotment, or it
// has ended and does not ask for more.
func (l *Ledger) IsAllotted(run string, asksMore bool) bool {
	c := l.children[run]
	return c != nil && (!c.ended || !asksMore && !c.maybeNeverStarted())
}

// Allot decides how much a child run of a call may use in total: one of shares equal parts of what
// the budgets leave or, if had is its former allotment, all of what is left on top of what it has
// used. short names the detail that falls short; waits reports that there may be enough once others
// have settled.
func (l *Ledger) Allot(w World, balances []Balance, call, run string, shares int, had *workflow.Budget) (
	a Amount, short string, waits bool) {
	parts := int64(max(shares, 1) + l.competingCalls(w, call))
	if had != nil {
		parts = 1
	}
	a, short, waits = share(balances, parts)
	if short != "" {
		return Amount{}, short, false
	}
	if !waits {
		old := l.children[run]
		if had == nil || old == nil {
			return a, "", false
		}
		if more, larger := raiseAllotment(a, old.used, AmountOf(had)); larger {
			return more, "", false
		}
	}
	for i := range balances {
		if balances[i].Reserved != (Amount{}) {
			return Amount{}, Tightest(balances), true
		}
	}
	return Amount{}, Tightest(balances), false
}

// share returns one of parts equal parts of what the budgets have neither used nor reserved;
// details without a limit are 0. short names a detail that is insufficient even if all reservations
// are released; waits reports that a detail is insufficient until others have settled.
func share(balances []Balance, parts int64) (a Amount, short string, waits bool) {
	var all fields
	for i := range balances {
		reserved := balances[i].Reserved.fields()
		for d := range Details {
			most, left := balances[i].bound(d)
			if most <= 0 {
				continue
			}
			free := left - reserved[d]
			switch {
			case left < leastAllotment[d]:
				return Amount{}, Details[d], false
			case free < leastAllotment[d]:
				waits = true
				continue
			}
			if part := max(free/parts, leastAllotment[d]); all[d] == 0 || part < all[d] {
				all[d] = part
			}
		}
	}
	return all.amount(), "", waits
}

// raiseAllotment returns an allotment for a run that has used up its own: what is free now on top
// of what it has used. It returns false if no detail exceeds had.
func raiseAllotment(free, used, had Amount) (Amount, bool) {
	more := false
	all, before, old := free.fields(), used.fields(), had.fields()
	for d, have := range all {
		if have > 0 {
			all[d] += before[d]
			more = more || all[d] > old[d]
		}
	}
	return all.amount(), more
}

// competingCalls returns the number of other calls that may also start runs and have no reservation
// yet.
func (l *Ledger) competingCalls(w World, call string) int {
	has := map[string]bool{call: true}
	for _, c := range l.children {
		if !c.ended {
			has[c.call] = true
		}
	}
	n := 0
	for c := range w.Calls() {
		if c.State == CallOut && !has[c.Key] {
			n++
		}
	}
	return n
}

// AllowUncounted copies to the budget of a child run the parent budgets' setting for work whose
// usage is never reported.
func AllowUncounted(b *workflow.Budget, balances []Balance) {
	if b != nil && countsUse(b) && RefusesUncounted(balances) == "" {
		b.Uncounted = workflow.UncountedAllow
	}
}

// StartChild reserves an allotment for a run that a call starts or resumes; nil means no budget
// limits it.
func (l *Ledger) StartChild(run, call string, step int, allotment *workflow.Budget) {
	if l.children == nil {
		l.children = map[string]*child{}
	}
	c := l.children[run]
	if c == nil {
		c = &child{}
		l.children[run] = c
	}
	c.call, c.step, c.ended, c.allotment, c.uncounted = call, step, false, AmountOf(allotment), ""
	if allotment != nil {
		c.uncounted = allotment.Uncounted
	}
}

// UseChild charges what a run has used since the last report. The run must have been started.
func (l *Ledger) UseChild(w World, step int, run string, used Amount, ended bool) {
	c := l.children[run]
	l.Charge(w, step, used.beyond(c.used))
	c.used, c.ended = c.used.atLeast(used), ended
}

// CloseCall charges everything that the runs and the model calls of a call with a result may still
// use, since their usage is no longer reported.
func (l *Ledger) CloseCall(w World, call string) {
	for _, c := range l.children {
		if c.call != call {
			continue
		}
		if rest := c.remaining(); rest != (Amount{}) {
			l.Charge(w, c.step, rest)
			c.used = c.used.Plus(rest)
		}
		c.ended = true
	}
	l.CloseSessions(w, call)
}

// IsAwaited reports whether usage of a call is still to be reported.
func (l *Ledger) IsAwaited(call string) bool {
	for _, c := range l.children {
		if c.call == call && !c.ended {
			return true
		}
	}
	for _, v := range l.sessions {
		if v.Call == call {
			return true
		}
	}
	return false
}

// HasReserved reports whether runs of a call may still use something.
func (l *Ledger) HasReserved(call string) bool { return l.reservedBy(call) != Amount{} }

// reservedBy returns what the runs of one call may still use.
func (l *Ledger) reservedBy(call string) (sum Amount) {
	for _, c := range l.children {
		if c.call == call {
			sum = sum.Plus(c.remaining())
		}
	}
	return sum
}

// reservedForCall returns the call itself if it is held or was just approved and its runs may still
// use something: it counts again once it is made.
func (l *Ledger) reservedForCall(c Call) (a Amount) {
	if (c.State == CallHeld || c.State == CallApproved) && l.HasReserved(c.Key) {
		a.Calls = 1
	}
	return a
}

// Own returns the call that is reserved for a tool call to be made again, and the sum that the runs
// of idle calls hold, which nothing releases before then; idle is zero if the call has no such
// runs.
func (l *Ledger) Own(w World, call string) (own, idle Amount) {
	idle = l.reservedBy(call)
	has := idle != Amount{}
	for c := range w.Calls() {
		switch {
		case c.Key == call:
			own = l.reservedForCall(c)
		case has && (c.State == CallIdle || c.State == CallApproved):
			idle = idle.Plus(l.reservedBy(c.Key)).Plus(l.reservedForCall(c))
		}
	}
	return own, idle
}
