package hocket_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/graph"
)

// into returns a node that runs the graph with that name on its own state.
func into(name string) graph.Node[state] {
	return graph.SubgraphConfig[state, state]{ID: "to-" + name, Name: name, Output: func(s *state, last state) error {
		*s = last
		return nil
	}}
}

func register(t *testing.T, e *hocket.Engine, graphs ...*graph.Compiled[state]) {
	t.Helper()
	for _, g := range graphs {
		if err := hocket.Register(e, g); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamedSubgraphs checks that names refer to registered graphs, in whatever order they were
// registered, and that what runs inside is not a step of the graph itself (S2-66).
func TestNamedSubgraphs(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		t.Helper()
		outer := compiled(t, graph.New[state]("outer").Start(note("a")).Then(into("mid")).Then(note("z")))
		mid := compiled(t, graph.New[state]("mid").Start(note("m")).Then(into("inner")))
		inner := compiled(t, graph.New[state]("inner").Start(note("i")))
		run := func(want string) {
			t.Helper()
			if got := trace(t, hocket.Stream(t.Context(), e, outer, state{})); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		run("a running a; to-mid failed (Workflow not found: mid)")
		register(t, e, outer, mid)
		run("a running a; to-mid failed (Workflow not found: inner)")
		register(t, e, inner, inner)
		run("a running a; to-mid running ami; z completed amiz")
		register(t, e, compiled(t, graph.New[state]("inner").Start(note("j")), graph.Config{Version: "2"}))
		run("a running a; to-mid running amj; z completed amjz")
	})
}

// TestRecursiveSubgraphs checks that a graph that would contain itself is not registered, and that
// registered graphs are unchanged (S2-66).
func TestRecursiveSubgraphs(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	a := compiled(t, graph.New[state]("a").Start(note("a")).Then(into("b")))
	register(t, e, a, compiled(t, graph.New[state]("b").Start(note("b"))))
	loop := compiled(t, graph.New[state]("b").Start(into("a")), graph.Config{Version: "2"})
	for range 2 {
		err := hocket.Register(e, loop)
		if l := (diag.List)(nil); !errors.As(err, &l) || !strings.Contains(err.Error(), `contains itself`) {
			t.Errorf("error %v", err)
		}
	}
	if got := trace(t, hocket.Stream(t.Context(), e, a, state{})); got != "a running a; to-b completed ab" {
		t.Errorf("got %s", got)
	}
	if _, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("c").Start(into("a"))), state{}); err != nil {
		t.Errorf("a graph that is not registered names one that is: %v", err)
	}
}

// TestSubgraphsOfAnotherProcess checks that another process can register the graphs and answer the
// question inside, and that nothing runs twice. A process with another version of the inner graph
// does not continue the run (P3, P9).
func TestSubgraphsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	outer := compiled(t, graph.New[state]("outer").Start(into("inner")).Then(note("z")))
	inner := func(version string) *graph.Compiled[state] {
		return compiled(t, graph.New[state]("inner").Start(graph.Do("i", func(_ context.Context, s *state) error {
			ran.Add(1)
			s.Log = append(s.Log, "i")
			return nil
		})).Wait("Go on?"), graph.Config{Version: version})
	}
	db := filepath.Join(t.TempDir(), "app.db")
	first := open(t, hocket.Config{DB: db})
	register(t, first, inner("1"), outer)
	r, err := hocket.Run(t.Context(), first, outer, state{})
	if err != nil || r.Status != hocket.StatusPaused || len(r.Snapshot.Waiting) != 1 ||
		r.Snapshot.Waiting[0].Node != "to-inner/wait_1" {
		t.Fatalf("%+v, %v", r, err)
	}
	id := r.Snapshot.ExecutionID
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	other := open(t, hocket.Config{DB: db})
	register(t, other, outer, inner("2"))
	if _, err := hocket.Resume(t.Context(), other, outer, id, hocket.Answer{Value: "yes"}); !errors.Is(err,
		hocket.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, hocket.Config{DB: db})
	register(t, second, outer, inner("1"))
	// known only by the run's digest
	if err := second.Answer(t.Context(), id, hocket.Answer{Wait: r.Snapshot.Waiting[0].ID, Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	r, err = hocket.Resume(t.Context(), second, outer, id, hocket.Answer{Wait: r.Snapshot.Waiting[0].ID, Value: "yes"})
	if err != nil || r.Status != hocket.StatusCompleted || cmp.Diff(r.State.Log, []string{"i", "z"}) != "" ||
		ran.Load() != 1 {
		t.Errorf("%+v, %v; i ran %d times", r, err, ran.Load())
	}
}

// TestSignalsOfSubgraphs checks that signals of inner nodes are signals of the subgraph node, and
// that a question inside is where the run is (S2-53, S2-66).
func TestSignalsOfSubgraphs(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	inner := compiled(t, graph.New[state]("inner").
		Start(graph.NewNode("warn", graph.TypeTool,
			func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
				return graph.Result[state]{
					Signals: []graph.Signal{{Type: graph.SignalContextWindowWarning, Message: "full"}},
				}, nil
			})).
		Then(graph.AskUserConfig[state]{ID: "ask", Question: graph.Question{Text: "Go on?"}}))
	register(t, e, inner)
	outer := compiled(t, graph.New[state]("outer").Start(note("a")).Then(into("inner")))
	r, err := hocket.Run(t.Context(), e, outer, state{})
	if err != nil || r.Status != hocket.StatusPaused || r.Snapshot.CurrentNodeID != "to-inner/ask" {
		t.Fatalf("%+v, %v", r, err)
	}
	types := func(signals []graph.Signal) (out []graph.SignalType) {
		for _, s := range signals {
			out = append(out, s.Type)
		}
		return out
	}
	want := []graph.SignalType{graph.SignalContextWindowWarning, graph.SignalHumanInputRequired}
	if d := cmp.Diff(types(r.Snapshot.Signals), want); d != "" {
		t.Errorf("the snapshot has: got - want +\n%s", d)
	}
	steps := 0
	for s, err := range hocket.ResumeStream(t.Context(), e, outer, r.Snapshot.ExecutionID,
		hocket.Answer{Value: "yes"}) {
		if steps++; err != nil || s.NodeID != "to-inner" || s.Status != hocket.StatusCompleted ||
			cmp.Diff(types(s.Result.Signals), want) != "" {
			t.Errorf("step %+v, %v", s, err)
		}
	}
	if steps != 1 {
		t.Errorf("%d steps", steps)
	}
}
