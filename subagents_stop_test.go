package hocket_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// below returns the only child run of a run.
func below(t *testing.T, e *hocket.Engine, parent string) hocket.RunSummary {
	t.Helper()
	runs, _, err := e.List(t.Context(), hocket.Filter{Parent: parent})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs below %+v, %v", runs, err)
	}
	return runs[0]
}

// TestSubagentIsInterrupted checks that a run that is interrupted interrupts the runs of its
// agents, so that nothing is spent without a follower, and resumes them later (P11, P12).
func TestSubagentIsInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	var calls atomic.Int64
	model := hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
		asked <- struct{}{}
		if calls.Add(1) == 1 {
			<-ctx.Done()
			return hocket.ModelReply{}, ctx.Err()
		}
		return hocket.ModelReply{Text: "tide"}, nil
	})
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")},
		hocket.WithModel("own", model), hocket.WithAgent(hocket.Agent{Name: "researcher", Model: "own/m"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := subagent(t, "researcher")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := hocket.Run(ctx, e, g, state{}, hocket.RunOptions{ID: "up"}); !errors.Is(err, hocket.ErrInterrupted) {
		t.Fatal(err)
	}
	if b := below(t, e, "up"); !b.Interrupted {
		t.Fatalf("the run of the agent goes on: %+v", b)
	}
	r, err := hocket.Resume(t.Context(), e, g, "up")
	if err != nil || r.State.Text != "tide" || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
}

// TestSubagentStopsWhileItBegins checks that an agent whose call ends while its run is being stored
// does not continue without the call (P11).
func TestSubagentStopsWhileItBegins(t *testing.T) {
	t.Parallel()
	var stop atomic.Pointer[context.CancelFunc]
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string {
		if f := stop.Load(); f != nil {
			(*f)() // models are looked up just before the run is stored
		}
		return ""
	}}, hocket.WithModel("own",
		hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
			<-ctx.Done()
			return hocket.ModelReply{}, ctx.Err()
		})), hocket.WithAgent(hocket.Agent{Name: "researcher", Model: "own/m"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			ctx, cancel := context.WithCancel(ctx)
			stop.Store(&cancel)
			_, err := c.Runtime.Subagents.Spawn(ctx, graph.SpawnOptions{AgentID: "x", Key: "k", AgentName: "researcher",
				Task: "go"})
			return graph.Result[state]{Output: errors.Is(err, context.Canceled)}, nil
		}, once())))
	r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "up"})
	if err != nil || r.Status != hocket.StatusCompleted || string(r.Snapshot.Outputs["a"]) != "true" {
		t.Fatalf("%+v, %v", r, err)
	}
	last := ""
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for ev, err := range e.Watch(ctx, "up.k") {
		if err != nil {
			t.Fatalf("the run of the agent goes on: %v", err)
		}
		last = ev.Type
	}
	if last != "run.cancelled" {
		t.Errorf("the run of the agent ended with %s", last)
	}
}
