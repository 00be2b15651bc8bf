package service_test

import (
	"context"
	"math"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// usedBook keeps what was told last.
type usedBook struct{ used engine.Used }

func (*usedBook) Begin(context.Context, string, int, *workflow.Budget) (*workflow.Budget, error) {
	return nil, nil //nolint:nilnil // nothing bounds the run
}

func (b *usedBook) Use(_ string, _ bool, u engine.Used) error {
	b.used = u
	return nil
}

// P20: whatever a provider tells of a session's call counts as no less than it says.
func TestSessionUsedBeyondCount(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{DB: service.Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &usedBook{}
	ctx := driver.WithLedger(t.Context(), b)
	for _, tc := range []struct{ in, out, want int64 }{{3, 4, 7}, {-3, 4, 4}, {math.MaxInt64, 4, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}} {
		if err := s.SessionUsed(ctx, "house/m", &chat.Usage{InputTokens: tc.in, OutputTokens: tc.out}, nil); err != nil {
			t.Fatal(err)
		}
		if got := b.used.Borne.Tokens; got != tc.want || b.used.UnknownCosts != 1 {
			t.Errorf("%d and %d tokens count as %d, %d unknown costs; want %d", tc.in, tc.out, got, b.used.UnknownCosts, tc.want)
		}
	}
}
