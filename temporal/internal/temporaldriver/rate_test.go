package temporaldriver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	sdk "go.temporal.io/sdk/workflow"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/temporalserver"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// Goal of BenchmarkRuns, and the tolerance beyond which the benchmark fails.
const (
	rateGoal   = 0.8
	rateMargin = 1.5
)

// BenchmarkRuns measures 300 runs with two concurrent model calls each, executed by one worker,
// alternating with 300 bare workflows with two activities that do nothing, on a worker in the same
// process. Temporal and the store share one PostgreSQL server. It also reports what a run leaves in
// Temporal.
func BenchmarkRuns(b *testing.B) {
	const runs, calls = 300, 2
	pg := pgtest.Start(b, pgtest.Config{})
	server := temporalserver.Start(b, temporalserver.Config{Postgres: pg.Database(b), Visibility: pg.Database(b)})
	c, err := client.NewLazyClient(client.Options{HostPort: server.Address, Namespace: server.Namespace(b),
		Logger: log.NewStructuredLogger(logger())})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	s, err := postgres.Open(b.Context(), postgres.Config{URL: pg.URL(b), Kind: journal.KindServe})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d, err := temporaldriver.New(temporaldriver.Config{
		Config: embedded.Config{Expressions: celexpr.Compiler{}, Store: s, Open: (&sim.World{}).Open, Logger: logger()},
		Client: c, Queues: temporaldriver.Queues(),
	})
	if err != nil {
		b.Fatal(err)
	}
	maintaining, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { d.Maintain(maintaining) })
	defer func() {
		stop()
		_ = d.Close(context.Background())
		wg.Wait()
	}()
	w := worker.New(c, "floor", worker.Options{MaxConcurrentWorkflowTaskPollers: 4,
		MaxConcurrentActivityTaskPollers: 4})
	w.RegisterWorkflowWithOptions(bare, sdk.RegisterOptions{Name: "bare"})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Stop()

	flow := line(node("a", workflow.KindAgent), node("b", workflow.KindAgent))
	one := func(n int) string {
		run := fmt.Sprintf("r%08d", n)
		if _, err := d.Start(b.Context(), driver.Spec{Run: run, Workflow: flow, Input: quoted("in")}); err != nil {
			b.Error(err)
		} else if state, err := d.Wait(b.Context(), run); err != nil || state.Status != event.StatusCompleted {
			b.Errorf("run %s is %+v: %v", run, state, err)
		}
		return run
	}
	floor := func(n int) {
		h, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("f%08d", n),
			TaskQueue: "floor"}, "bare", calls)
		if err == nil {
			err = h.Get(b.Context(), nil)
		}
		if err != nil {
			b.Error(err)
		}
	}
	n := 0
	rate := func(do func(n int)) float64 {
		began := time.Now()
		var wg sync.WaitGroup
		for range runs {
			n++
			id := n
			wg.Go(func() { do(id) })
		}
		wg.Wait()
		return float64(runs*calls) / time.Since(began).Seconds()
	}
	n++
	first := one(n) // sets up connections, statements and queues
	floor(n)
	var ours, theirs, ratios []float64
	for b.Loop() {
		o := rate(func(n int) { one(n) })
		f := rate(floor)
		ours, theirs, ratios = append(ours, o), append(theirs, f), append(ratios, o/f)
	}
	var events []*history.HistoryEvent
	bytes := 0
	for pages := c.GetWorkflowHistory(b.Context(), first, "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); pages.HasNext(); {
		e, err := pages.Next()
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, e)
		bytes += e.Size()
	}
	b.ReportMetric(float64(len(events)), "events/run")
	b.ReportMetric(float64(bytes), "history-B/run")
	b.ReportMetric(float64(actions(events)), "actions/run")
	b.ReportMetric(middle(ours), "calls/s")
	b.ReportMetric(middle(theirs), "floor-calls/s")
	b.ReportMetric(middle(ratios), "of-floor")
	b.ReportMetric(rateGoal, "of-floor-goal")
	if r := middle(ratios); r < rateGoal/rateMargin {
		b.Errorf("%.2f of bare workflows; the goal is %.2f", r, rateGoal)
	}
}

// actions counts what Temporal Cloud bills as actions: starts, activities (including local ones),
// timers and signals.
func actions(events []*history.HistoryEvent) (n int) {
	for _, e := range events {
		switch e.GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			enums.EVENT_TYPE_MARKER_RECORDED, enums.EVENT_TYPE_TIMER_STARTED,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			n++
		}
	}
	return n
}

// middle sorts v and returns its median.
func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// bare is a workflow with the given number of activities that do nothing.
func bare(ctx sdk.Context, calls int) error {
	ctx = sdk.WithActivityOptions(ctx, sdk.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range calls {
		if err := sdk.ExecuteActivity(ctx, "nothing").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
