package chat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestRateCost checks P20: costs are integers, so that the sum of the parts is the cost of the
// whole, in any order.
func TestRateCost(t *testing.T) {
	t.Parallel()
	rate := chat.Rate{
		Input: 3_000_000, Output: 15_000_000, Cached: new(chat.Money(300_000)), CacheWrite: new(chat.Money(3_750_000)),
		Reasoning: new(chat.Money(20_000_000)),
		LongOver:  200_000, Long: &chat.Tier{Input: 6_000_000, Output: 22_500_000},
	}
	for name, tc := range map[string]struct {
		usage chat.Usage
		want  chat.Money
	}{
		"nothing":             {},
		"input and output":    {chat.Usage{InputTokens: 1000, OutputTokens: 100}, 4_500_000_000},
		"read from the cache": {chat.Usage{InputTokens: 1000, CachedTokens: 900}, 570_000_000},
		"written to it":       {chat.Usage{InputTokens: 1000, CacheWriteTokens: 900}, 3_675_000_000},
		"reasoning":           {chat.Usage{OutputTokens: 10, ReasoningTokens: 4}, 170_000_000},
		"long":                {chat.Usage{InputTokens: 200_001, OutputTokens: 1}, 1_200_006_000_000 + 22_500_000},
		"parts above a whole": {chat.Usage{InputTokens: 10, CachedTokens: 50, CacheWriteTokens: 50, OutputTokens: 1,
			ReasoningTokens: 9}, 3_000_000 + 20_000_000},
		"below nothing":     {chat.Usage{InputTokens: -5, OutputTokens: -5}, 0},
		"beyond all bounds": {chat.Usage{OutputTokens: math.MaxInt64}, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rate.Cost(tc.usage); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	for usd, want := range map[float64]chat.Money{0.1: 100_000_000_000, 1e-12: 1, math.NaN(): 0,
		math.Inf(1): math.MaxInt64, math.Inf(-1): math.MinInt64} {
		if got := chat.ToMoney(usd); got != want {
			t.Errorf("%v USD are %d, want %d", usd, got, want)
		}
	}
}

// TestRateBoundsCost checks P20: no call within the limits of a reservation costs more than was
// reserved, and the allowed output fits the remaining budget.
func TestRateBoundsCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		money := rapid.Map(rapid.Int64Range(0, 200_000_000), func(n int64) chat.Money { return chat.Money(n) })
		some := func(name string) *chat.Money {
			if rapid.Bool().Draw(t, "has "+name) {
				return new(money.Draw(t, name))
			}
			return nil
		}
		rate := chat.Rate{Input: money.Draw(t, "input"), Output: money.Draw(t, "output"), Cached: some("cached"),
			CacheWrite: some("write"), Reasoning: some("reasoning")}
		if rapid.Bool().Draw(t, "long") {
			rate.LongOver, rate.Long = rapid.Int64Range(1, 1000).Draw(t, "over"),
				&chat.Tier{Input: money.Draw(t, "long input"), Output: money.Draw(t, "long output")}
		}
		tokens := rapid.Int64Range(0, 10_000)
		in, out := tokens.Draw(t, "in"), tokens.Draw(t, "out")
		u := chat.Usage{
			InputTokens:  rapid.Int64Range(0, in).Draw(t, "used in"),
			OutputTokens: rapid.Int64Range(0, out).Draw(t, "used out"),
			CachedTokens: tokens.Draw(t, "cached"), CacheWriteTokens: tokens.Draw(t, "written"),
			ReasoningTokens: tokens.Draw(t, "reasoned"),
		}
		most := rate.Most(in, out)
		if cost := rate.Cost(u); cost > most {
			t.Fatalf("%+v cost %d, more than %d for up to %d and %d", u, cost, most, in, out)
		}
		have := chat.Money(rapid.Int64Range(0, 1e12).Draw(t, "have"))
		if n := rate.MostOutput(in, have); n >= 0 && n < math.MaxInt64 && rate.Most(in, n) > have {
			t.Fatalf("%d tokens of output cost %d of %d", n, rate.Most(in, n), have)
		}
	})
}

func TestMoneyPlus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, want chat.Money }{
		{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64},
		{math.MaxInt64, -1, math.MaxInt64 - 1},
	} {
		if got := tc.a.Plus(tc.b); got != tc.want {
			t.Errorf("%d + %d = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
