package temporaldriver_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// TestDrain checks that a worker that drains lets calls finish and accepts none, that another one
// continues, and that no person is asked about a call that finished (P12).
func TestDrain(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	began, end := make(chan struct{}, 1), make(chan struct{})
	w := &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			began <- struct{}{}
			select {
			case <-end:
				return tool.Result{Text: "acted"}, nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		}}}}
	leaving := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	begin(t, leaving, "r", line(node("act", workflow.KindTool), node("a", workflow.KindAgent)))
	<-began
	var wg sync.WaitGroup
	wg.Go(func() { leaving.Drain(t.Context()) })
	heir := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	time.AfterFunc(temporaldriver.Grace+2*time.Second, func() { close(end) }) // longer than a stopped call may continue
	wg.Wait()
	select {
	case <-end:
	default:
		t.Error("the call was not waited for")
	}
	if err := leaving.Close(t.Context()); err != nil {
		t.Error(err)
	}
	settles(t, c, heir, "r", event.StatusCompleted)
	if n := w.Count("tool", "act"); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

// TestDrainLimit checks that calls that take longer than the drain may wait are stopped by Close.
func TestDrainLimit(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	began := make(chan struct{}, 1)
	w := &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			began <- struct{}{}
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}}}
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	begin(t, p, "r", line(node("act", workflow.KindTool)))
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p.Drain(ctx)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
