package ledger

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// MinOutput is the smallest output, in tokens, for which a model call is made.
const MinOutput = 16

// Fit is the result of checking a call against budgets. The zero Fit means that the call fits and
// no budget limits it.
type Fit struct {
	// Output is the maximum output of a model call, in tokens. Bound and Detail identify the budget
	// that left no more, and which limit; both are "" if none did.
	Output int64
	Bound  string
	Detail string
	// Bounded reports whether at least one budget limits the call.
	Bounded bool
	// Met is the budget that leaves too little even if all reservations are released, and MetDetail
	// and MetLimit identify its limit; nil means none.
	Met       *Balance
	MetDetail string
	MetLimit  int64
	// Waits reports that there is too little until others have settled.
	Waits bool
	// NoPrice reports that a budget limits money and the price of the model is unknown.
	NoPrice bool
}

// FitModel checks a model call with an estimated input and the maximum size of its answer, both in
// tokens. If mustPrice, a model without a price is rejected under a money budget.
func FitModel(balances []Balance, input, output int64, rate chat.Rate, priced, mustPrice bool) Fit {
	fit := Fit{Output: output, Bounded: len(balances) > 0}
	least := min(MinOutput, output)
	for i := range balances {
		b := &balances[i]
		if mustPrice && !priced && b.Budget.MaxCostUSD > 0 {
			return Fit{NoPrice: true}
		}
		if room, detail, limit := b.Room(input, b.Used, rate, priced); room < least {
			return Fit{Met: b, MetDetail: detail, MetLimit: limit}
		}
		room, detail, _ := b.RoomNow(input, rate, priced)
		if room < least {
			return Fit{Waits: true}
		}
		if room < fit.Output {
			fit.Output, fit.Bound, fit.Detail = room, b.Bound, detail
		}
	}
	return fit
}

// FitCalls checks a tool call, which uses one call and nothing else that is known in advance. own
// is already reserved for this call; idle is reserved for calls that cannot continue before this
// one does.
func FitCalls(balances []Balance, own, idle Amount) (fit Fit) {
	for i := range balances {
		b := &balances[i]
		most := b.Budget.MaxCalls
		switch {
		case most <= 0:
			continue
		case b.Used.Plus(idle).Calls >= most:
			return Fit{Met: b, MetDetail: DetailCalls, MetLimit: most}
		case b.Used.Calls+b.Reserved.Calls-own.Calls >= most:
			return Fit{Waits: true}
		}
		fit.Bounded = true
	}
	return fit
}

// BoundsCalls reports whether a budget limits calls.
func BoundsCalls(balances []Balance) bool {
	return slices.ContainsFunc(balances, func(b Balance) bool { return b.Budget.MaxCalls > 0 })
}

// BoundsDetail reports whether a budget limits detail.
func BoundsDetail(balances []Balance, detail string) bool {
	d := slices.Index(Details[:], detail)
	return d >= 0 && slices.ContainsFunc(balances, func(b Balance) bool {
		most, _ := b.bound(d)
		return most > 0
	})
}

// LeastLeft returns the budget with the least left of detail, and its limit as events name it; nil
// if no budget limits detail.
func LeastLeft(balances []Balance, detail string) (least *Balance, limit int64) {
	d := slices.Index(Details[:], detail)
	if d < 0 {
		return nil, 0
	}
	var left int64
	for i := range balances {
		if most, rest := balances[i].bound(d); most > 0 && (least == nil || rest < left) {
			least, limit, left = &balances[i], most, rest
		}
	}
	if least != nil && detail == DetailMoney {
		limit = microUSD(least.Budget.MaxCostUSD)
	}
	return least, limit
}

// Tightest returns the detail with the smallest share left in the budgets.
func Tightest(balances []Balance) string {
	detail, least := DetailTokens, 2.0
	for i := range balances {
		for d := range Details {
			most, left := balances[i].bound(d)
			if most <= 0 {
				continue
			}
			if share := float64(left) / float64(most); share < least {
				detail, least = Details[d], share
			}
		}
	}
	return detail
}

// RefusesUncounted returns the Bound of the first budget that does not allow work whose usage is
// never reported; "" if all allow it.
func RefusesUncounted(balances []Balance) string {
	for i := range balances {
		if b := &balances[i].Budget; countsUse(b) && b.Uncounted != workflow.UncountedAllow {
			return balances[i].Bound
		}
	}
	return ""
}
