package chat

import (
	"math"
	"math/bits"
)

// Money is an amount of US dollars in units of 10^-12. One USD per million tokens is 1,000,000 of them a token, so that costs of calls and their sums
// are whole numbers: they carry no rounding and do not depend on the order in which they are added. It holds about nine million USD; more stays there.
type Money int64

// USD is one US dollar.
const USD Money = 1_000_000_000_000

// ToMoney is the amount that is nearest to usd. What is no amount (not a number) is 0; what is too much is the most that Money holds.
func ToMoney(usd float64) Money {
	switch v := math.Round(usd * float64(USD)); {
	case math.IsNaN(v):
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	default:
		return Money(v)
	}
}

// USD gives the amount in US dollars, for people and for JSON.
func (m Money) USD() float64 { return float64(m) / float64(USD) }

// Plus gives the sum of two amounts, bounded by what Money holds.
func (m Money) Plus(n Money) Money {
	switch sum := m + n; {
	case m > 0 && n > 0 && sum < 0:
		return math.MaxInt64
	case m < 0 && n < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// times gives the price of n tokens at m each, bounded by what Money holds; none where either is not above 0.
func (m Money) times(n int64) Money {
	if m <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(m), uint64(n))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return Money(lo)
}

// Rate is what one token of a model costs, by kind. The zero Rate is that of a model that costs nothing.
type Rate struct {
	Input  Money `json:"input,omitempty"`
	Output Money `json:"output,omitempty"`
	// Cached is that of input read from the provider's cache, CacheWrite that of input written to it, Reasoning that of output which is reasoning. Nil:
	// as input, as input, as output.
	Cached     *Money `json:"cached,omitempty"`
	CacheWrite *Money `json:"cacheWrite,omitempty"`
	Reasoning  *Money `json:"reasoning,omitempty"`
	// Long, where set, is the rate of calls with more than LongOver input tokens, for all of their tokens.
	LongOver int64 `json:"longOver,omitempty"`
	Long     *Rate `json:"long,omitempty"`
}

// Cost gives what a call costs.
func (r Rate) Cost(u Usage) Money {
	if r.Long != nil && u.InputTokens > r.LongOver {
		return r.Long.Cost(u)
	}
	// Parts that exceed their whole would be paid below nothing.
	cached := min(u.CachedTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	reasoning := min(u.ReasoningTokens, u.OutputTokens)
	return r.Input.times(u.InputTokens - cached - written).
		Plus(or(r.Cached, r.Input).times(cached)).
		Plus(or(r.CacheWrite, r.Input).times(written)).
		Plus(r.Output.times(u.OutputTokens - reasoning)).
		Plus(or(r.Reasoning, r.Output).times(reasoning))
}

// Most gives the most that a call with up to this many tokens can cost, however they are counted.
func (r Rate) Most(input, output int64) Money {
	most := max(r.Input, or(r.Cached, r.Input), or(r.CacheWrite, r.Input)).times(input).
		Plus(max(r.Output, or(r.Reasoning, r.Output)).times(output))
	if r.Long != nil && input > r.LongOver {
		most = max(most, r.Long.Most(input, output))
	}
	return most
}

// MostOutput gives how many tokens of output a call with this much input can have without costing more than have; below 0 where the input alone does.
// A model whose output costs nothing has no such bound: math.MaxInt64.
func (r Rate) MostOutput(input int64, have Money) int64 {
	left := have - r.Most(input, 0)
	if left < 0 {
		return -1
	}
	each := max(r.Output, or(r.Reasoning, r.Output))
	if r.Long != nil && input > r.LongOver {
		each = max(each, r.Long.Output, or(r.Long.Reasoning, r.Long.Output))
	}
	if each <= 0 {
		return math.MaxInt64
	}
	return int64(left / each)
}

func or(m *Money, other Money) Money {
	if m == nil {
		return other
	}
	return *m
}
