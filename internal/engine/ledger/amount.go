package ledger

import (
	"math"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// Amount is a quantity that was used or is reserved. As a limit, zero means unlimited.
type Amount struct {
	Tokens int64
	Cost   chat.Money
	Calls  int64
}

// AmountOf returns the limits of a budget; the zero Amount for nil.
func AmountOf(b *workflow.Budget) Amount {
	if b == nil {
		return Amount{}
	}
	return NewAmount(b.MaxTokens, b.MaxCostUSD, b.MaxCalls)
}

// NewAmount returns an Amount from values in events, which are not trusted: negative values count
// as 0.
func NewAmount(tokens int64, usd float64, calls int64) Amount {
	return Amount{max(tokens, 0), max(chat.ToMoney(usd), 0), max(calls, 0)}
}

// Budget returns a budget with this amount as its limits; nil for the zero Amount.
func (a Amount) Budget() *workflow.Budget {
	if a == (Amount{}) {
		return nil
	}
	return &workflow.Budget{MaxTokens: a.Tokens, MaxCostUSD: a.Cost.USD(), MaxCalls: a.Calls}
}

// Plus returns the sum of a and b. Negative tokens and money count as 0; a negative number of calls
// takes back calls that were counted and are not made.
func (a Amount) Plus(b Amount) Amount {
	calls := chat.AddTokens(a.Calls, b.Calls)
	if b.Calls < 0 {
		calls = max(a.Calls+b.Calls, 0)
	}
	return Amount{chat.AddTokens(a.Tokens, b.Tokens), a.Cost.Plus(max(b.Cost, 0)), calls}
}

// atLeast returns the larger of a and b, field by field.
func (a Amount) atLeast(b Amount) Amount {
	return Amount{max(a.Tokens, b.Tokens), max(a.Cost, b.Cost), max(a.Calls, b.Calls)}
}

// beyond returns by how much a exceeds b, field by field.
func (a Amount) beyond(b Amount) Amount {
	return Amount{max(a.Tokens-b.Tokens, 0), max(a.Cost-b.Cost, 0), max(a.Calls-b.Calls, 0)}
}

// fields are tokens, money and calls, in this order.
type fields [3]int64

// leastAllotment is the minimum allotment of a child run.
var leastAllotment = fields{MinOutput, 1, 1}

func (a Amount) fields() fields { return fields{a.Tokens, int64(a.Cost), a.Calls} }

func (f fields) amount() Amount { return Amount{f[0], chat.Money(f[1]), f[2]} }

// Balance is a budget and what is left of it for one step.
type Balance struct {
	// Bound is the owner of the budget, one of the Bound constants. Node is the node for
	// BoundByNode, else "".
	Bound  string
	Node   string
	Budget workflow.Budget
	// Used has settled. Reserved is what calls in flight and child runs that have not ended may use
	// on top of it.
	Used, Reserved Amount
}

// Owners of a budget.
const (
	BoundByRun    = "run"
	BoundByNode   = "node"
	BoundByParent = "above" // the budget that the parent run left for this one
)

// Room returns how many output tokens a call with the given input may use after taken was used; a
// negative result means that not even the input fits. detail and limit identify the limit that
// applies.
func (b *Balance) Room(input int64, taken Amount, rate chat.Rate, priced bool) (
	output int64, detail string, limit int64) {
	output = math.MaxInt64
	if most := b.Budget.MaxCalls; most > 0 && taken.Calls >= most {
		output, detail, limit = -1, DetailCalls, most
	}
	if most := b.Budget.MaxTokens; most > 0 {
		if left := most - chat.AddTokens(taken.Tokens, input); left < output {
			output, detail, limit = left, DetailTokens, most
		}
	}
	if usd := b.Budget.MaxCostUSD; usd > 0 {
		left := chat.ToMoney(usd) - taken.Cost
		most := int64(math.MaxInt64)
		switch {
		case left <= 0:
			most = -1
		case priced:
			most = rate.MostOutput(input, left)
		}
		if most < output {
			output, detail, limit = most, DetailMoney, microUSD(usd)
		}
	}
	return output, detail, limit
}

// RoomNow is Room after everything that is used and reserved.
func (b *Balance) RoomNow(input int64, rate chat.Rate, priced bool) (output int64, detail string, limit int64) {
	return b.Room(input, b.Used.Plus(b.Reserved), rate, priced)
}

// bound returns the limit of detail and what is left of it; 0 if there is no limit.
func (b *Balance) bound(detail int) (most, left int64) {
	most = AmountOf(&b.Budget).fields()[detail]
	return most, most - b.Used.fields()[detail]
}

// countsUse reports whether a budget limits tokens or money, which requires that usage is reported.
func countsUse(b *workflow.Budget) bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 }
