package ledger_test

import (
	"math"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/workflow"
)

// TestAmount_RoomOverflow checks that an exhausted budget leaves no room, however much was used:
// differences do not wrap (P20).
func TestAmount_RoomOverflow(t *testing.T) {
	t.Parallel()
	all := ledger.Amount{Tokens: math.MaxInt64, Cost: math.MaxInt64, Calls: math.MaxInt64}
	for _, bounds := range []workflow.Budget{{MaxTokens: 200}, {MaxCostUSD: 1}, {MaxCalls: 3}} {
		b := ledger.Balance{Budget: bounds}
		for _, input := range []int64{0, 300, math.MaxInt64} {
			if room, _, _ := b.Room(input, all, chat.Rate{Input: 1, Output: 1}, true); room > 0 {
				t.Errorf("%+v leaves %d tokens for an input of %d", bounds, room, input)
			}
		}
	}
}
