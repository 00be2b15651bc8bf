package ledger_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/workflow"
)

// TestAmount_TextRoundTrip checks that an amount formatted for people is parsed as the same amount
// of the same detail, and of no other.
func TestAmount_TextRoundTrip(t *testing.T) {
	t.Parallel()
	for _, detail := range ledger.Details {
		for _, n := range []int64{1, 7, 1_500_000, 123_456_789} {
			text := ledger.Text(detail, n)
			l, err := workflow.ParseBudget(text)
			for _, d := range ledger.Details {
				want := int64(0)
				if d == detail {
					want = n
				}
				if got := ledger.Limit(l.Budget(), d); err != nil || got != want {
					t.Errorf("%d %s is written %q, which gives %d %s, %v; want %d", n, detail, text, got, d, err, want)
				}
			}
		}
	}
	if got := ledger.Text("x", 1) + ledger.Text(ledger.DetailCalls, 0); got != "" ||
		ledger.Limit(workflow.Budget{MaxTokens: 1}, "x") != 0 {
		t.Errorf("an unknown detail gave %q", got)
	}
}
