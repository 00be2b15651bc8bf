package hocket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// told collects the calls of OnProgress in short form: type, node, the log in the state, and the
// other fields.
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

// fails returns a node that fails n times before it succeeds.
func fails(id string, n int) graph.Node[state] {
	left := n
	return graph.Do(id, func(_ context.Context, s *state) error {
		if left > 0 {
			left--
			return fmt.Errorf("failure %d", n-left)
		}
		s.Log = append(s.Log, id)
		return nil
	}, graph.NodeOptions{Retry: graph.Retry{Backoff: time.Millisecond}})
}

// TestProgress checks that node_started is reported once before the first attempt, node_error for
// each failed attempt, node_completed after the merge, and checkpoint_saved after each save, in
// this order, by both Run and Stream (S2-64, S2-65).
func TestProgress(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		for _, how := range []string{"run", "stream"} {
			g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 2)).Then(note("c")))
			l := &told{}
			o := hocket.RunOptions{OnProgress: hocket.OnProgress(l.progress), Checkpointer: compat.MemoryCheckpoints()}
			if how == "run" {
				if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil ||
					r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
			} else {
				trace(t, hocket.Stream(t.Context(), e, g, state{}, o))
			}
			l.want(t,
				"node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
				"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2",
				"node_completed b ab", "checkpoint_saved b ab step_2",
				"node_started c ab", "node_completed c abc", "checkpoint_saved c abc step_3",
			)
		}
	})
}

// TestEvents checks that a stream in modes is the stream of steps, and that an unknown mode is
// reported before anything runs (S2-38, S2-73).
func TestEvents(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	sends := graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			c.Emit("progress", map[string]any{"percent": 50})
			s := c.State
			s.N++
			return graph.Result[state]{Update: &s,
				Signals: []graph.Signal{{Type: graph.SignalCheckpoint, Message: "no event"}}}, nil
		})
	g := compiled(t, graph.New[state]("t").Start(sends).Then(graph.Do("look", func(context.Context, *state) error {
		return nil
	})))
	var got []string
	for ev, err := range compat.StreamModes(t.Context(), e, g, state{N: 1},
		[]compat.Mode{compat.ModeUpdates, compat.ModeEvents, compat.ModeValues}) {
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
	for _, err := range compat.StreamModes(t.Context(), e, g, state{}, []compat.Mode{"all"},
		hocket.RunOptions{ID: "never"}) {
		if _, ok := errors.AsType[*compat.UnknownModeError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
	if _, err := hocket.SnapshotOf(t.Context(), e, g, "never"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("a run was started: %v", err)
	}
}

// TestProgressOfFailure checks that a node that fails permanently is reported for each attempt and
// never as completed (S2-64).
func TestProgressOfFailure(t *testing.T) {
	t.Parallel()
	g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 9)))
	l := &told{}
	c := compat.MemoryCheckpoints()
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{},
		hocket.RunOptions{ID: "r", OnProgress: hocket.OnProgress(l.progress), Checkpointer: c})
	if err != nil || r.Status != hocket.StatusFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	l.want(t, "node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
		"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2",
		"node_error b a #3: failure 3")
	if labels, err := c.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"step_1"}) {
		t.Errorf("labels %v, %v", labels, err)
	}
}

// TestCheckpointJSON checks that a saved state has executionId, lastUpdated and outputs in addition
// to the fields of the state (S2-75).
func TestCheckpointJSON(t *testing.T) {
	t.Parallel()
	c := compat.MemoryCheckpoints()
	gives := graph.NewNode("a", graph.TypeTool,
		func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{Update: &state{N: 7}, Output: "done"}, nil
		})
	g := compiled(t, graph.New[state]("t").Start(gives).Then(note("b")))
	if _, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{},
		hocket.RunOptions{ID: "r", Checkpointer: c}); err != nil {
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
	if got.N != 7 || got.ExecutionID != "r" || got.LastUpdated.IsZero() || string(got.Outputs["a"]) != `"done"` ||
		len(got.Outputs) != 1 {
		t.Errorf("got %s", raw)
	}
}

// brokenCheckpoints is a Checkpointer that saves nothing.
type brokenCheckpoints struct {
	compat.Checkpointer
	panics bool
}

func (c brokenCheckpoints) Save(context.Context, string, json.RawMessage, string) error {
	if c.panics {
		panic("no disk at all")
	}
	return errors.New("disk is full")
}

// TestObserversCannotBreakRuns checks that a save that fails is logged and never fails the run, and
// neither does a panic in a Checkpointer, in OnProgress or in a Tracker (S2-65).
func TestObserversCannotBreakRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options hocket.RunOptions
		logged  string
	}{
		"full disk": {hocket.RunOptions{Checkpointer: brokenCheckpoints{}},
			`cannot save checkpoint" run=r label=step_1 err="disk is full"`},
		"bad saver": {hocket.RunOptions{Checkpointer: brokenCheckpoints{panics: true}},
			`cannot save checkpoint" run=r label=step_2 err="panic: no disk at all"`},
		"bad caller": {hocket.RunOptions{OnProgress: hocket.OnProgress(func(hocket.Progress[state]) {
			panic("no screen")
		})}, `cannot report progress" run=r node=b err="panic: no screen"`},
		"bad spans": {hocket.RunOptions{Telemetry: badTracker{}}, `cannot report telemetry" run=r err="panic: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			e := open(t, hocket.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			tt.options.ID = "r"
			r, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("t").Start(note("a")).Then(note("b"))),
				state{}, tt.options)
			if err != nil || r.Status != hocket.StatusCompleted || strings.Join(r.State.Log, "") != "ab" {
				t.Errorf("%+v, %v", r, err)
			}
			if !strings.Contains(log.String(), tt.logged) {
				t.Errorf("log has no %s:\n%s", tt.logged, log.String())
			}
		})
	}
}
