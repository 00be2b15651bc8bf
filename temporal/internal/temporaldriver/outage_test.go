package temporaldriver_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// outage is a store whose next reads fail; left is the number of failures that remain.
type outage struct {
	journal.Backend
	left *atomic.Int32
}

func (o outage) Head(ctx context.Context, run string) (journal.Head, error) {
	if o.left.Add(-1) >= 0 {
		return journal.Head{}, fmt.Errorf("read run: %w", journal.ErrUnavailable)
	}
	return o.Backend.Head(ctx, run)
}

// TestStore_Unavailable checks that while the store is unavailable, the result of a call waits for
// it, no call is repeated, and no person is asked (P12, P18).
func TestStore_Unavailable(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	var left atomic.Int32
	plain := c.open
	c.open = func() journal.Backend { return outage{plain(), &left} }
	w := &sim.World{
		Model: func(_ context.Context, q model.Request) (model.Reply, error) {
			left.Store(3)
			return sim.Reply("of %s", q.Node), nil
		},
		Tools: map[string]sim.Tool{
			"act": {Policy: tool.PolicyAsk, Do: func(context.Context, tool.Call) (tool.Result, error) {
				left.Store(3)
				return tool.Result{Text: "acted"}, nil
			}}},
	}
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	begin(t, p, "r", line(node("act", workflow.KindTool), node("a", workflow.KindAgent)))
	settles(t, c, p, "r", event.StatusCompleted)
	if a, b := w.Count("tool", "act"), w.Count("model", "a"); a != 1 || b != 1 {
		t.Errorf("%d calls of the tool and %d of the model, want one each", a, b)
	}
}
