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

// AddTokens adds counts of tokens: what is below 0 counts as 0, and a sum that int64 cannot hold is the most that it can.
func AddTokens(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
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
	Long     *Tier `json:"long,omitempty"`
}

// Tier is a rate for calls of one size. Its fields are those of Rate.
type Tier struct {
	Input      Money  `json:"input,omitempty"`
	Output     Money  `json:"output,omitempty"`
	Cached     *Money `json:"cached,omitempty"`
	CacheWrite *Money `json:"cacheWrite,omitempty"`
	Reasoning  *Money `json:"reasoning,omitempty"`
}

// tier is that of a call with so many input tokens.
func (r Rate) tier(input int64) Tier {
	if r.Long != nil && input > r.LongOver {
		return *r.Long
	}
	return Tier{r.Input, r.Output, r.Cached, r.CacheWrite, r.Reasoning}
}

// Cost gives what a call costs.
func (r Rate) Cost(u Usage) Money {
	t := r.tier(u.InputTokens)
	// Parts that exceed their whole would be paid below nothing.
	cached := min(u.CachedTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	reasoning := min(u.ReasoningTokens, u.OutputTokens)
	return t.Input.times(u.InputTokens - cached - written).
		Plus(or(t.Cached, t.Input).times(cached)).
		Plus(or(t.CacheWrite, t.Input).times(written)).
		Plus(t.Output.times(u.OutputTokens - reasoning)).
		Plus(or(t.Reasoning, t.Output).times(reasoning))
}

// dearest gives the highest prices of input and of output in calls with up to so many input tokens.
func (r Rate) dearest(input int64) (in, out Money) {
	for _, t := range []Tier{r.tier(0), r.tier(input)} {
		in = max(in, t.Input, or(t.Cached, t.Input), or(t.CacheWrite, t.Input))
		out = max(out, t.Output, or(t.Reasoning, t.Output))
	}
	return in, out
}

// Most gives the most that a call with up to this many tokens can cost, however they are counted.
func (r Rate) Most(input, output int64) Money {
	in, out := r.dearest(input)
	return in.times(input).Plus(out.times(output))
}

// MostOutput gives how many tokens of output a call with this much input can have without costing more than have; below 0 where the input alone does.
// A model whose output costs nothing has no such bound: math.MaxInt64.
func (r Rate) MostOutput(input int64, have Money) int64 {
	left := have - r.Most(input, 0)
	if left < 0 {
		return -1
	}
	_, each := r.dearest(input)
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
