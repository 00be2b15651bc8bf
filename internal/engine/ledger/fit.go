package ledger

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// MinOutput is the least output, in tokens, that is worth a model call.
const MinOutput = 16

// Fit says whether a call fits budgets. The zero Fit: it fits, and no budget bounds it.
type Fit struct {
	// Output is what a model call may answer, in tokens. Bound and Detail name the budget that left no more, and what it bounds; "" where none did.
	Output int64
	Bound  string
	Detail string
	// Bounded: at least one budget bounds the call.
	Bounded bool
	// Met is the budget that leaves too little whatever others leave of their reservations, and MetDetail and MetLimit what it bounds; nil: none.
	Met       *Balance
	MetDetail string
	MetLimit  int64
	// Waits: there is too little before others have settled.
	Waits bool
	// NoPrice: a budget bounds money, and the price of the model is unknown.
	NoPrice bool
}

// FitModel decides about a model call with an estimated input and the most that its answer may take, both in tokens. mustPrice refuses a model without a price under a budget of money.
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

// FitCalls decides about a tool call, which uses one call and nothing that is known before. own is reserved for this call already; idle is reserved for calls that cannot go on
// before this one does.
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

// BoundsCalls tells whether a budget bounds calls.
func BoundsCalls(balances []Balance) bool {
	return slices.ContainsFunc(balances, func(b Balance) bool { return b.Budget.MaxCalls > 0 })
}

// BoundsDetail tells whether a budget bounds detail.
func BoundsDetail(balances []Balance, detail string) bool {
	d := slices.Index(Details[:], detail)
	return d >= 0 && slices.ContainsFunc(balances, func(b Balance) bool {
		most, _ := b.bound(d)
		return most > 0
	})
}

// LeastLeft gives the budget with the least left of detail, and its bound as events name it; nil where none bounds it.
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

// Tightest names what of the budgets has the smallest share left.
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

// RefusesUncounted gives the first budget that does not allow work whose use is never reported; "" where all do.
func RefusesUncounted(balances []Balance) string {
	for i := range balances {
		if b := &balances[i].Budget; countsUse(b) && b.Uncounted != workflow.UncountedAllow {
			return balances[i].Bound
		}
	}
	return ""
}
