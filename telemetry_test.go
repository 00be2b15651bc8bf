package hocket_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

type badTracker struct{ hocket.Tracker } // every call has a nil receiver

// tracker records its calls and checks that times are in order and durations match.
type tracker struct {
	told
	entered map[int]time.Time
	last    time.Time
}

func (k *tracker) at(at time.Time) {
	if at.Before(k.last) {
		k.add("time runs backwards")
	}
	k.last = at
}

func (k *tracker) WorkflowStart(_ context.Context, s hocket.TrackedStart) {
	k.at(s.At)
	k.entered = map[int]time.Time{}
	k.add(fmt.Sprintf("start %s %s max %d resuming %v", s.ExecutionID, s.WorkflowName, s.MaxSteps, s.Resuming))
}

func (k *tracker) NodeEnter(_ context.Context, n hocket.TrackedNode) {
	k.at(n.At)
	k.entered[n.Step] = n.At
	k.add(fmt.Sprintf("enter %s %s %d in %d", n.NodeID, n.Type, n.Step, n.Parent))
}

func (k *tracker) NodeExit(_ context.Context, n hocket.TrackedExit) {
	k.at(n.At)
	if _, ok := k.entered[n.Step]; !ok || n.Duration < 0 || n.Duration > time.Minute {
		k.add("a duration that cannot be")
	}
	delete(k.entered, n.Step)
	k.add(fmt.Sprintf("exit %s %s", n.NodeID, n.Status))
}

func (k *tracker) Error(_ context.Context, e hocket.TrackedError) {
	k.at(e.At)
	k.add(fmt.Sprintf("error %s: %v", e.NodeID, e.Err))
}

func (k *tracker) WorkflowComplete(_ context.Context, e hocket.TrackedEnd) {
	k.at(e.At)
	if len(k.entered) > 0 {
		k.add("nodes without exit")
	}
	k.add(fmt.Sprintf("complete %s %s", e.WorkflowName, e.Status))
}

// TestTelemetry checks the start with name, steps and whether it resumes, the enter and exit of
// each node, errors, and completion (S2-72).
func TestTelemetry(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	k := &tracker{}
	run := func(b *graph.Builder[state], o hocket.RunOptions) *hocket.Result[state] {
		t.Helper()
		o.Telemetry = k
		r, err := hocket.Run(t.Context(), e, compiled(t, b), state{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run(graph.New[state]("t").Start(note("a")).Then(fails("b", 1)),
		hocket.RunOptions{ID: "one", WorkflowName: "letters", MaxSteps: 7})
	k.want(t, "start one letters max 7 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter b tool 2 in 0", "error b: failure 1",
		"exit b completed", "complete letters completed")

	run(graph.New[state]("t").Start(breaks("a", "no luck")), hocket.RunOptions{ID: "two"})
	k.want(t, "start two unnamed max 1000 resuming false", "enter a tool 1 in 0", "error a: no luck", "exit a failed",
		"error : no luck",
		"complete unnamed failed")

	wait := graph.New[state]("w").Start(note("a")).Wait("go on?").Then(note("b"))
	r := run(wait, hocket.RunOptions{ID: "three"})
	k.want(t, "start three unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter wait_1 wait 2 in 0", "exit wait_1 paused",
		"complete unnamed paused")
	run(wait, hocket.RunOptions{ResumeFrom: &r.Snapshot, Answer: &hocket.Answer{Value: "yes"}})
	k.want(t, "start three unnamed max 1000 resuming true", "enter wait_1 wait 2 in 0", "exit wait_1 completed",
		"enter b tool 3 in 0", "exit b completed",
		"complete unnamed completed")
}

// TestTelemetryOfBranches checks that nodes of branches are in their block (S2-72).
func TestTelemetryOfBranches(t *testing.T) {
	t.Parallel()
	k := &tracker{}
	g := compiled(t, graph.New[state]("t").Node(note("l")).Node(note("r")).Start(note("a")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"l", "r"}}).Then(note("z")),
		graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{}, hocket.RunOptions{ID: "p", Telemetry: k})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, want := range []string{"enter parallel_1 parallel 2 in 0", "enter l tool 3 in 2", "enter r tool 4 in 2",
		"exit parallel_1 completed", "enter z tool 5 in 0"} {
		if !slices.Contains(k.lines, want) {
			t.Errorf("no tracker got %q:\n%s", want, strings.Join(k.lines, "\n"))
		}
	}
}

// TestTelemetryOfLeft checks that a run that is abandoned is complete for the tracker, and that
// when it is resumed it starts again with the nodes that were in progress (S2-72).
func TestTelemetryOfLeft(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: t.TempDir() + "/app.db"})
	k := &tracker{}
	first := true
	g := compiled(t,
		graph.New[state]("t").Start(note("a")).Then(graph.Do("b", func(ctx context.Context, s *state) error {
			if first {
				first = false
				<-ctx.Done()
				return ctx.Err()
			}
			s.Log = append(s.Log, "b")
			return nil
		})))
	o := hocket.RunOptions{ID: "r", Telemetry: k}
	for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
		if err != nil || step.NodeID != "a" {
			t.Fatalf("%+v, %v", step, err)
		}
		break
	}
	k.want(t, "start r unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter b tool 2 in 0", "exit b running",
		"complete unnamed running")
	s, err := hocket.SnapshotOf(t.Context(), e, g, "r")
	if err != nil {
		t.Fatal(err)
	}
	o.ResumeFrom = s
	if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.want(t, "start r unnamed max 1000 resuming true", "enter b tool 2 in 0", "exit b completed",
		"complete unnamed completed")
}
