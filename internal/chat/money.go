package chat

import (
	"math"
	"math/bits"
)

// Money is an amount of US dollars in units of 10^-12. One USD per million tokens is 1,000,000
// units per token, so that costs of calls and their sums are integers: they have no rounding errors
// and do not depend on the order of addition. The maximum is about nine million USD; larger amounts
// saturate.
type Money int64

// USD is one US dollar.
const USD Money = 1_000_000_000_000

// ToMoney returns the amount that is nearest to usd. NaN becomes 0, and an amount that is too large
// becomes the maximum.
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

// USD returns the amount in US dollars, for people and for JSON.
func (m Money) USD() float64 { return float64(m) / float64(USD) }

// Plus returns the sum of two amounts, which saturates at the limits of Money.
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

// times returns the price of n tokens at m each, which saturates at the maximum of Money. It is 0
// unless both are positive.
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

// AddTokens adds token counts: negative counts are treated as 0, and a sum that overflows int64
// becomes its maximum.
func AddTokens(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Rate is the price of one token of a model, by kind. The zero Rate is that of a free model.
type Rate struct {
	Input  Money `json:"input,omitempty"`
	Output Money `json:"output,omitempty"`
	// Cached is the price of input read from the provider's cache, CacheWrite that of input written
	// to it, and Reasoning that of reasoning output. If nil, the prices of input, input and output
	// apply, respectively.
	Cached     *Money `json:"cached,omitempty"`
	CacheWrite *Money `json:"cacheWrite,omitempty"`
	Reasoning  *Money `json:"reasoning,omitempty"`
	// Long, if set, is the rate of calls with more than LongOver input tokens, for all of their
	// tokens.
	LongOver int64 `json:"longOver,omitempty"`
	Long     *Tier `json:"long,omitempty"`
}

// Tier is a rate for calls of one size. Its fields have the same meaning as in Rate.
type Tier struct {
	Input      Money  `json:"input,omitempty"`
	Output     Money  `json:"output,omitempty"`
	Cached     *Money `json:"cached,omitempty"`
	CacheWrite *Money `json:"cacheWrite,omitempty"`
	Reasoning  *Money `json:"reasoning,omitempty"`
}

// tier returns the tier of a call with the given number of input tokens.
func (r Rate) tier(input int64) Tier {
	if r.Long != nil && input > r.LongOver {
		return *r.Long
	}
	return Tier{r.Input, r.Output, r.Cached, r.CacheWrite, r.Reasoning}
}

// Cost returns the cost of a call.
func (r Rate) Cost(u Usage) Money {
	t := r.tier(u.InputTokens)
	// Parts that exceed their whole would otherwise yield a negative price.
	cached := min(u.CachedTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	reasoning := min(u.ReasoningTokens, u.OutputTokens)
	return t.Input.times(u.InputTokens - cached - written).
		Plus(or(t.Cached, t.Input).times(cached)).
		Plus(or(t.CacheWrite, t.Input).times(written)).
		Plus(t.Output.times(u.OutputTokens - reasoning)).
		Plus(or(t.Reasoning, t.Output).times(reasoning))
}

// highest returns the highest prices of input and of output in calls with up to the given number of
// input tokens.
func (r Rate) highest(input int64) (in, out Money) {
	for _, t := range []Tier{r.tier(0), r.tier(input)} {
		in = max(in, t.Input, or(t.Cached, t.Input), or(t.CacheWrite, t.Input))
		out = max(out, t.Output, or(t.Reasoning, t.Output))
	}
	return in, out
}

// Most returns the maximum cost of a call with up to this many tokens, however they are counted.
func (r Rate) Most(input, output int64) Money {
	in, out := r.highest(input)
	return in.times(input).Plus(out.times(output))
}

// MostOutput returns the number of output tokens that a call with this much input can have without
// costing more than have; the result is negative if the input alone costs more. If the output of
// the model is free, there is no such limit and the result is math.MaxInt64.
func (r Rate) MostOutput(input int64, have Money) int64 {
	left := have - r.Most(input, 0)
	if left < 0 {
		return -1
	}
	_, each := r.highest(input)
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
