package hocket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// told gathers what OnProgress is told, in short: type, node, the log in the state, and what else there is.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) progress(p hocket.Progress[state]) {
	line := fmt.Sprintf("%s %s %s", p.Type, p.NodeID, strings.Join(p.State.Log, ""))
	switch p.Type {
	case hocket.ProgressCheckpointSaved:
		line += " " + p.Label
	case hocket.ProgressNodeError:
		line += fmt.Sprintf(" #%d: %v", p.Attempt, p.Error)
	}
	if p.Timestamp.IsZero() {
		line += " without time"
	}
	l.add(line)
}

func (l *told) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *told) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.lines = nil
}

// fails is a node that fails n times before it succeeds.
func fails(id string, n int) graph.Node[state] {
	left := n
	return graph.Do(id, func(_ context.Context, s *state) error {
		if left > 0 {
			left--
			return fmt.Errorf("failure %d", n-left)
		}
		s.Log = append(s.Log, id)
		return nil
	}, graph.NodeOptions[state]{Retry: &graph.Retry{Backoff: new(time.Millisecond)}})
}

// TestProgress: node_started once before the first attempt, node_error for each failed attempt, node_completed after the merge, checkpoint_saved after
// each save, in this order, by Run and by Stream alike (S2-64, S2-65).
func TestProgress(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		for _, how := range []string{"run", "stream"} {
			g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 2)).Then(note("c")))
			l := &told{}
			o := hocket.RunOptions[state]{OnProgress: l.progress, Checkpointer: hocket.MemoryCheckpoints()}
			if how == "run" {
				if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
			} else {
				trace(t, hocket.Stream(t.Context(), e, g, state{}, o))
			}
			l.want(t,
				"node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
				"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2", "node_completed b ab", "checkpoint_saved b ab step_2",
				"node_started c ab", "node_completed c abc", "checkpoint_saved c abc step_3",
			)
		}
	})
}

// TestEvents: a stream in modes is the stream of steps, and an unknown mode is told before anything runs (S2-38, S2-73).
func TestEvents(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	sends := graph.NewNode("a", graph.TypeTool, func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
		c.Emit("progress", map[string]any{"percent": 50})
		s := c.State
		s.N++
		return graph.Result[state]{Update: &s, Signals: []graph.Signal{{Type: graph.SignalCheckpoint, Message: "no event"}}}, nil
	})
	g := compiled(t, graph.New[state]("t").Start(sends).Then(graph.Do("look", func(context.Context, *state) error { return nil })))
	var got []string
	for ev, err := range hocket.StreamModes(t.Context(), e, g, state{N: 1}, []hocket.Mode{hocket.ModeUpdates, hocket.ModeEvents, hocket.ModeValues}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Event != nil:
			if ev.Event.Timestamp.IsZero() {
				t.Error("an event without time")
			}
			got = append(got, fmt.Sprint(ev.Mode, ev.NodeID, ev.Event.Type, ev.Event.Data))
		default:
			got = append(got, fmt.Sprintf("%s %s %v %s", ev.Mode, ev.NodeID, ev.State.N, ev.Update["n"]))
		}
	}
	want := []string{"updates a 0 2", "eventsaprogressmap[percent:50]", "values a 2 ", "values look 2 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, err := range hocket.StreamModes(t.Context(), e, g, state{}, []hocket.Mode{"all"}, hocket.RunOptions[state]{ID: "never"}) {
		if _, ok := errors.AsType[*hocket.UnknownModeError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
	if _, err := hocket.SnapshotOf(t.Context(), e, g, "never"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("a run was started: %v", err)
	}
}

// TestProgressOfFailure: a node that fails for good is told for each attempt, and completes nowhere (S2-64).
func TestProgressOfFailure(t *testing.T) {
	t.Parallel()
	g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 9)))
	l := &told{}
	c := hocket.MemoryCheckpoints()
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{}, hocket.RunOptions[state]{ID: "r", OnProgress: l.progress, Checkpointer: c})
	if err != nil || r.Status != hocket.StatusFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	l.want(t, "node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
		"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2", "node_error b a #3: failure 3")
	if labels, err := c.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"step_1"}) {
		t.Errorf("labels %v, %v", labels, err)
	}
}

// TestCheckpoints: step_<n> after each node, checkpoint_<n> or the label of the signal beside it, and only the latter without AutoCheckpoint; n counts
// over pauses and resumes; what waits is saved too (S2-65).
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	signals := func(id string, data map[string]any) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool, func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			s := c.State
			s.Log = append(s.Log, id)
			return graph.Result[state]{Update: &s, Signals: []graph.Signal{{Type: graph.SignalCheckpoint, Data: data}}}, nil
		})
	}
	build := func() *graph.Compiled[state] {
		return compiled(t, graph.New[state]("t").Start(note("a")).Then(signals("b", nil)).Wait("go on?").
			Then(signals("c", map[string]any{"label": "approved"})).Then(note("d")))
	}
	for name, tt := range map[string]struct {
		auto *bool
		want []string
	}{
		"S2-65 automatic": {nil, []string{"step_1=a", "checkpoint_2=ab", "step_2=ab", "step_3=ab", "approved=abc", "step_4=abc", "step_5=abcd"}},
		"S2-65 signals":   {new(bool), []string{"checkpoint_2=ab", "approved=abc"}},
	} {
		for kind, c := range checkpointStores(t) {
			t.Run(name+" "+kind, func(t *testing.T) {
				e, g := open(t, hocket.Config{}), build()
				o := hocket.RunOptions[state]{ID: "r", Checkpointer: c, AutoCheckpoint: tt.auto}
				r, err := hocket.Run(t.Context(), e, g, state{}, o)
				if err != nil || r.Status != hocket.StatusPaused {
					t.Fatalf("%+v, %v", r, err)
				}
				o.ResumeFrom, o.Answer = &r.Snapshot, &hocket.Answer{Value: "yes"}
				if r, err = hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
				labels, err := c.List(t.Context(), "r")
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, l := range labels {
					s, err := hocket.LoadState[state](t.Context(), c, "r", l)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, l+"="+strings.Join(s.Log, ""))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := c.Delete(t.Context(), "r", ""); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestCheckpointJSON: what is saved has executionId, lastUpdated and outputs beside the fields of the state (S2-75).
func TestCheckpointJSON(t *testing.T) {
	t.Parallel()
	c := hocket.MemoryCheckpoints()
	gives := graph.NewNode("a", graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Update: &state{N: 7}, Output: "done"}, nil
	})
	g := compiled(t, graph.New[state]("t").Start(gives).Then(note("b")))
	if _, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{}, hocket.RunOptions[state]{ID: "r", Checkpointer: c}); err != nil {
		t.Fatal(err)
	}
	raw, err := c.Load(t.Context(), "r", "step_1")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		state
		graph.BaseState
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.N != 7 || got.ExecutionID != "r" || got.LastUpdated.IsZero() || string(got.Outputs["a"]) != `"done"` || len(got.Outputs) != 1 {
		t.Errorf("got %s", raw)
	}
}

// brokenCheckpoints saves nothing.
type brokenCheckpoints struct {
	hocket.Checkpointer
	panics bool
}

func (c brokenCheckpoints) Save(context.Context, string, json.RawMessage, string) error {
	if c.panics {
		panic("no disk at all")
	}
	return errors.New("disk is full")
}

// TestObserversCannotBreakRuns: a save that fails is logged and never fails the run; so is a panic in a Checkpointer, in OnProgress and in a Tracker
// (S2-65).
func TestObserversCannotBreakRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options hocket.RunOptions[state]
		logged  string
	}{
		"full disk":  {hocket.RunOptions[state]{Checkpointer: brokenCheckpoints{}}, `checkpoint is not saved" run=r label=step_1 err="disk is full"`},
		"bad saver":  {hocket.RunOptions[state]{Checkpointer: brokenCheckpoints{panics: true}}, `checkpoint is not saved" run=r label=step_2 err="panic: no disk at all"`},
		"bad caller": {hocket.RunOptions[state]{OnProgress: func(hocket.Progress[state]) { panic("no screen") }}, `progress is not told" run=r node=b err="panic: no screen"`},
		"bad spans":  {hocket.RunOptions[state]{Telemetry: badTracker{}}, `telemetry is not told" run=r err="panic: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			e := open(t, hocket.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			tt.options.ID = "r"
			r, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("t").Start(note("a")).Then(note("b"))), state{}, tt.options)
			if err != nil || r.Status != hocket.StatusCompleted || strings.Join(r.State.Log, "") != "ab" {
				t.Errorf("%+v, %v", r, err)
			}
			if !strings.Contains(log.String(), tt.logged) {
				t.Errorf("log has no %s:\n%s", tt.logged, log.String())
			}
		})
	}
}

type badTracker struct{ hocket.Tracker } // every call is one of nil

// tracker writes down what it is told: times in order, durations that fit.
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

// TestTelemetry: start with name, steps and whether it resumes; enter and exit of each node; errors; completion (S2-72).
func TestTelemetry(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	k := &tracker{}
	run := func(b *graph.Builder[state], o hocket.RunOptions[state]) *hocket.Result[state] {
		t.Helper()
		o.Telemetry = k
		r, err := hocket.Run(t.Context(), e, compiled(t, b), state{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run(graph.New[state]("t").Start(note("a")).Then(fails("b", 1)), hocket.RunOptions[state]{ID: "one", WorkflowName: "letters", MaxSteps: new(7)})
	k.want(t, "start one letters max 7 resuming false", "enter a tool 1 in 0", "exit a completed", "enter b tool 2 in 0", "error b: failure 1",
		"exit b completed", "complete letters completed")

	run(graph.New[state]("t").Start(breaks("a", "no luck")), hocket.RunOptions[state]{ID: "two"})
	k.want(t, "start two unnamed max 1000 resuming false", "enter a tool 1 in 0", "error a: no luck", "exit a failed", "error : no luck",
		"complete unnamed failed")

	wait := graph.New[state]("w").Start(note("a")).Wait("go on?").Then(note("b"))
	r := run(wait, hocket.RunOptions[state]{ID: "three"})
	k.want(t, "start three unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed", "enter wait_1 wait 2 in 0", "exit wait_1 paused",
		"complete unnamed paused")
	run(wait, hocket.RunOptions[state]{ResumeFrom: &r.Snapshot, Answer: &hocket.Answer{Value: "yes"}})
	k.want(t, "start three unnamed max 1000 resuming true", "enter wait_1 wait 2 in 0", "exit wait_1 completed", "enter b tool 3 in 0", "exit b completed",
		"complete unnamed completed")
}

// TestTelemetryOfBranches: nodes of branches stand in their block (S2-72).
func TestTelemetryOfBranches(t *testing.T) {
	t.Parallel()
	k := &tracker{}
	g := compiled(t, graph.New[state]("t").Node(note("l")).Node(note("r")).Start(note("a")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"l", "r"}}).Then(note("z")),
		graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{}, hocket.RunOptions[state]{ID: "p", Telemetry: k})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, want := range []string{"enter parallel_1 parallel 2 in 0", "enter l tool 3 in 2", "enter r tool 4 in 2", "exit parallel_1 completed", "enter z tool 5 in 0"} {
		if !slices.Contains(k.lines, want) {
			t.Errorf("nobody was told %q:\n%s", want, strings.Join(k.lines, "\n"))
		}
	}
}

// TestTelemetryOfLeft: a run that is left is complete for the tracker, and starts again with the nodes that were at work when it is resumed (S2-72).
func TestTelemetryOfLeft(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: t.TempDir() + "/app.db"})
	k := &tracker{}
	first := true
	g := compiled(t, graph.New[state]("t").Start(note("a")).Then(graph.Do("b", func(ctx context.Context, s *state) error {
		if first {
			first = false
			<-ctx.Done()
			return ctx.Err()
		}
		s.Log = append(s.Log, "b")
		return nil
	})))
	o := hocket.RunOptions[state]{ID: "r", Telemetry: k}
	for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
		if err != nil || step.NodeID != "a" {
			t.Fatalf("%+v, %v", step, err)
		}
		break
	}
	k.want(t, "start r unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed", "enter b tool 2 in 0", "exit b running",
		"complete unnamed running")
	s, err := hocket.SnapshotOf(t.Context(), e, g, "r")
	if err != nil {
		t.Fatal(err)
	}
	o.ResumeFrom = s
	if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.want(t, "start r unnamed max 1000 resuming true", "enter b tool 2 in 0", "exit b completed", "complete unnamed completed")
}
