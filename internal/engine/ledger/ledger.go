package ledger

import (
	"iter"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// World is what the ledger needs to know about the run it belongs to.
type World interface {
	// Around returns the innermost node with a budget of its own that contains a step, the step's
	// own node included, and the step whose node is the next one outward, or 0 if there is none. A
	// nil budget means there is no such node, as for step 0.
	Around(step int) (node string, budget *workflow.Budget, outward int)
	// Calls returns the tool and function calls that have no result, in any order.
	Calls() iter.Seq[Call]
}

// Call is a tool or function call without a result.
type Call struct {
	Key   string
	Step  int
	State CallState
}

// CallState is the state of a call as far as the ledger distinguishes it.
type CallState uint8

const (
	// CallOther is any other state.
	CallOther CallState = iota
	// CallOut means the call is being carried out.
	CallOut
	// CallHeld means the call was not made because a person is asked about it. Only an answer lets
	// it proceed.
	CallHeld
	// CallApproved means the call is no longer held and is to be made again.
	CallApproved
	// CallIdle means the call is to be made again, and waits only for room in a budget or a slot.
	CallIdle
)

// Ledger is the account of one run. The zero Ledger has no budget and has used nothing. It is not
// safe for concurrent use.
type Ledger struct {
	budget workflow.Budget  // the run's own
	parent *workflow.Budget // what the parent run leaves for this one
	rates  map[string]chat.Rate

	used   Amount
	byNode map[string]Amount // nodes with a budget of their own
	// models are the reservations of model calls of agents, by call; sessions are those of model
	// calls that functions and tools make themselves, by key.
	models   map[string]reservation
	sessions map[string]Session
	children map[string]*child
}

// reservation is what a model call in flight may use.
type reservation struct {
	step   int
	amount Amount
}

// SetBudget sets the run's own budget.
func (l *Ledger) SetBudget(b workflow.Budget) { l.budget = b }

// SetParentBudget sets what the parent run leaves for this run; nil means the parent run imposes no
// limit.
func (l *Ledger) SetParentBudget(b *workflow.Budget) { l.parent = b }

// ParentBudget returns what the parent run leaves for this run; nil means the parent run imposes no
// limit.
func (l *Ledger) ParentBudget() *workflow.Budget { return l.parent }

// SetRate sets the price of a model. Only the first price counts.
func (l *Ledger) SetRate(model string, rate chat.Rate) {
	if l.rates == nil {
		l.rates = map[string]chat.Rate{}
	}
	if _, known := l.rates[model]; !known {
		l.rates[model] = rate
	}
}

// Rate returns the price of a model, or false if it is unknown.
func (l *Ledger) Rate(model string) (chat.Rate, bool) {
	rate, ok := l.rates[model]
	return rate, ok
}

// Used returns what counts against the run's budgets so far.
func (l *Ledger) Used() Amount { return l.used }

// Bounds reports whether there may be a budget for a call to wait for.
func (l *Ledger) Bounds() bool { return l.budget.Bounds() || l.parent != nil || len(l.byNode) > 0 }

// Balances returns the budgets that the calls of a step must fit, innermost node first.
func (l *Ledger) Balances(w World, step int) []Balance {
	var out []Balance
	for node, budget, outward := w.Around(step); budget != nil; node, budget, outward = w.Around(outward) {
		b := Balance{Bound: BoundByNode, Node: node, Budget: *budget, Used: l.byNode[node]}
		b.Reserved = l.reserved(w, func(other int) bool {
			name, found, outward := w.Around(other)
			for found != nil && name != node {
				name, found, outward = w.Around(outward)
			}
			return found != nil
		})
		out = append(out, b)
	}
	all := func(int) bool { return true }
	if l.parent != nil { // before the run's own: if both are used up, the parent run decides
		out = append(out, Balance{Bound: BoundByParent, Budget: *l.parent, Used: l.used, Reserved: l.reserved(w, all)})
	}
	if l.budget.Bounds() {
		out = append(out, Balance{Bound: BoundByRun, Budget: l.budget, Used: l.used, Reserved: l.reserved(w, all)})
	}
	return out
}

// reserved sums what the model calls and child runs of matching steps may still use, and the calls
// that are reserved for held ones.
func (l *Ledger) reserved(w World, match func(step int) bool) (sum Amount) {
	for _, v := range l.models {
		if match(v.step) {
			sum = sum.Plus(v.amount)
		}
	}
	for c := range w.Calls() {
		if match(c.Step) {
			sum = sum.Plus(l.reservedForCall(c))
		}
	}
	for _, c := range l.children {
		if match(c.step) {
			sum = sum.Plus(c.remaining())
		}
	}
	for _, v := range l.sessions {
		if match(v.Step) {
			sum = sum.Plus(v.Amount)
		}
	}
	return sum
}

// Charge adds what a step used.
func (l *Ledger) Charge(w World, step int, a Amount) {
	l.used = l.used.Plus(a)
	for node, budget, outward := w.Around(step); budget != nil; node, budget, outward = w.Around(outward) {
		if l.byNode == nil {
			l.byNode = map[string]Amount{}
		}
		l.byNode[node] = l.byNode[node].Plus(a)
	}
}

// Reserve sets aside what a model call may use, until Release.
func (l *Ledger) Reserve(call string, step int, model string, input, output int64) {
	if l.models == nil {
		l.models = map[string]reservation{}
	}
	a := Amount{Tokens: chat.AddTokens(input, output)}
	if rate, ok := l.rates[model]; ok {
		a.Cost = rate.Most(input, output)
	}
	l.models[call] = reservation{step, a}
}

// Release ends the reservation of a model call that has settled.
func (l *Ledger) Release(call string) { delete(l.models, call) }

// UseOfModel returns what a model call used. If its usage is unknown, that is what was reserved for
// it, unless the call was turned away before it cost anything (free). A cost reported by the
// provider takes precedence over one computed from the price.
func (l *Ledger) UseOfModel(call, model string, u *chat.Usage, costUSD *float64, free bool) (a Amount) {
	switch {
	case u != nil:
		a.Tokens = chat.AddTokens(u.InputTokens, u.OutputTokens)
		if rate, ok := l.rates[model]; ok {
			a.Cost = rate.Cost(*u)
		}
	case !free:
		a = l.models[call].amount
	}
	if costUSD != nil {
		a.Cost = max(0, chat.ToMoney(*costUSD))
	}
	return a
}
