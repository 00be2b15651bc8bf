package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// carried returns a snapshot as another process receives it.
func carried(t rapid.TB, s *hocket.Snapshot[state]) *hocket.Snapshot[state] {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out hocket.Snapshot[state]
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// executed collects the keys of executions, recorded by node functions.
type executed struct {
	mu   sync.Mutex
	keys []string
}

func (x *executed) node(id string) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			x.mu.Lock()
			x.keys = append(x.keys, c.Key)
			x.mu.Unlock()
			s := c.State
			s.N++
			s.Log = append(slices.Clip(s.Log), c.Key)
			return graph.Result[state]{Update: &s, Output: s.N}, nil
		})
}

// take returns the keys since the last call.
func (x *executed) take() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	keys := x.keys
	x.keys = nil
	return keys
}

// draw generates a graph that ends: chains, branches, loops, parallel blocks and waits.
func draw(rt *rapid.T, t *testing.T, x *executed) *graph.Compiled[state] {
	t.Helper()
	n := 0
	next := func() graph.Node[state] {
		n++
		return x.node(fmt.Sprintf("n%d", n))
	}
	b := graph.New[state]("t").Start(next())
	for range rapid.IntRange(1, 5).Draw(rt, "parts") {
		switch rapid.IntRange(0, 5).Draw(rt, "part") {
		case 0:
			b.If(func(v graph.View[state]) bool { return v.State.N%2 == 0 }).Then(next()).Else().Then(next()).EndIf()
		case 1:
			b.Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool { return v.State.N%3 == 0 },
				MaxIterations: 3}, next(), next())
		case 2:
			l, r := next(), next()
			b.Node(l).Node(r).Parallel(
				graph.ParallelConfig[state]{Branches: []string{fmt.Sprintf("n%d", n-1), fmt.Sprintf("n%d", n)}})
		case 3:
			b.Wait("go on?")
		default:
			b.Then(next())
		}
	}
	b.Then(next())
	return compiled(t, b, graph.Config{
		// branches in order, so that runs are comparable
		MaxConcurrency: 1, Reducers: map[string]graph.Reducer{"log": graph.Append(), "n": graph.Sum()},
	})
}

// finish runs to the end, answering wherever the run waits.
func finish(rt *rapid.T, t *testing.T, e *hocket.Engine, g *graph.Compiled[state], r *hocket.Result[state],
	err error) *hocket.Result[state] {
	t.Helper()
	for err == nil && r.Status == hocket.StatusPaused {
		r, err = hocket.Resume(t.Context(), e, g, r.Snapshot.ExecutionID, hocket.Answer{Value: "on"})
	}
	if err != nil || r.Status != hocket.StatusCompleted {
		rt.Fatalf("%+v, %v", r, err)
	}
	return r
}

// TestResumeFromSnapshots checks that a run that is abandoned at arbitrary steps, and resumed each
// time from its snapshot by an engine that never saw it, ends like the run without interruption:
// the same state, the same nodes visited in the same order, the same count and outputs. No node
// that had ended in the snapshot runs again; startedAt is that of the first start, and completedAt
// is set once the run has ended (S2-63).
func TestResumeFromSnapshots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := &executed{}
		g := draw(rt, t, x)
		engines := []*hocket.Engine{}
		fresh := func() *hocket.Engine {
			e, err := hocket.Open(t.Context(), hocket.Config{})
			if err != nil {
				rt.Fatal(err)
			}
			engines = append(engines, e)
			return e
		}
		defer func() {
			for _, e := range engines {
				if err := e.Close(); err != nil {
					rt.Error(err)
				}
			}
		}()
		calm := fresh()
		r, err := hocket.Run(t.Context(), calm, g, state{}, hocket.RunOptions{ID: "r"})
		want := finish(rt, t, calm, g, r, err)
		x.take()

		o := hocket.RunOptions{ID: "r"}
		var last *hocket.Snapshot[state]
		var ended []string // executions that had ended in the last snapshot
		for resumes := 0; last == nil || last.Status != hocket.StatusCompleted; resumes++ {
			if resumes > 200 {
				rt.Fatal("it never ends")
			}
			e := fresh()
			leave := rapid.IntRange(0, 3).Draw(rt, "steps before it is left")
			for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
				if err != nil {
					rt.Fatal(err)
				}
				if leave--; leave < 0 || step.Status != hocket.StatusRunning {
					s, err := hocket.SnapshotOf(t.Context(), e, g, "r")
					if err != nil {
						rt.Fatal(err)
					}
					last = carried(rt, s)
					break
				}
			}
			for _, key := range x.take() {
				if slices.Contains(ended, key) {
					rt.Errorf("%s ran again", key)
				}
			}
			ended = slices.Clone(last.State.Log)
			o.ResumeFrom, o.Answer = last, nil
			if last.Status == hocket.StatusPaused {
				o.Answer = &hocket.Answer{Value: "on"}
			}
			if last.StartedAt.IsZero() || last.NodeExecutionCount != len(last.VisitedNodes) ||
				(last.CompletedAt != nil) != (last.Status == hocket.StatusCompleted) {
				rt.Errorf("snapshot %+v", last)
			}
		}
		got, calmly := *last, want.Snapshot
		if diff := cmp.Diff(calmly.State, got.State); diff != "" {
			rt.Errorf("state (-undisturbed +resumed):\n%s", diff)
		}
		if diff := cmp.Diff(calmly.VisitedNodes, got.VisitedNodes); diff != "" {
			rt.Errorf("visited (-undisturbed +resumed):\n%s", diff)
		}
		if diff := cmp.Diff(calmly.Outputs, got.Outputs); diff != "" {
			rt.Errorf("outputs (-undisturbed +resumed):\n%s", diff)
		}
		if len(got.Pending) != 0 || len(got.Waiting) != 0 || got.Journal != nil {
			rt.Errorf("the run ended, and something is left: %+v", got)
		}
	})
}

// paused runs a graph until it waits, and returns its snapshot.
func paused(t *testing.T, e *hocket.Engine, g *graph.Compiled[state]) *hocket.Snapshot[state] {
	t.Helper()
	r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	return carried(t, &r.Snapshot)
}

// TestSnapshotRefused checks that a journal that was truncated or changed, a run of another graph,
// and another ID each cause an error of the right kind, that no node runs, and that no run is
// created (S2-63, P9, P17).
func TestSnapshotRefused(t *testing.T) {
	t.Parallel()
	x := &executed{}
	build := func(version string) *graph.Compiled[state] {
		return compiled(t, graph.New[state]("t").Start(x.node("a")).Wait("go on?").Then(x.node("b")),
			graph.Config{Version: version})
	}
	g := build("1")
	good := paused(t, open(t, hocket.Config{}), g)
	x.take()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(good.Journal, &fields); err != nil {
		t.Fatal(err)
	}
	with := func(name, value string) func(s *hocket.Snapshot[state]) {
		return func(s *hocket.Snapshot[state]) {
			changed := maps.Clone(fields)
			changed[name] = json.RawMessage(value)
			raw, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			s.Journal = raw
		}
	}
	snapshotError := func(err error) bool {
		_, ok := errors.AsType[*hocket.SnapshotError](err)
		return ok
	}
	for name, tt := range map[string]struct {
		change func(s *hocket.Snapshot[state])
		graph  *graph.Compiled[state]
		id     string
		is     func(error) bool
	}{
		"P17 cut": {func(s *hocket.Snapshot[state]) { s.Journal = s.Journal[:len(s.Journal)/2] }, g, "",
			snapshotError},
		"P17 empty": {func(s *hocket.Snapshot[state]) { s.Journal = json.RawMessage(`{}`) }, g, "",
			snapshotError},
		"P17 other record":  {with("records", `["eyJ2IjoxfQ=="]`), g, "", snapshotError},
		"P17 other run":     {with("run", `"q"`), g, "", snapshotError},
		"P17 other sum":     {with("sum", `"0123"`), g, "", snapshotError},
		"P17 newer":         {with("version", `9`), g, "", snapshotError},
		"P17 id of another": {func(s *hocket.Snapshot[state]) { s.ExecutionID = "q" }, g, "", snapshotError},
		"P9 another version": {func(*hocket.Snapshot[state]) {}, build("2"), "", func(err error) bool {
			return errors.Is(err, hocket.ErrVersion)
		}},
		"another id": {func(*hocket.Snapshot[state]) {}, g, "q", func(err error) bool {
			return strings.Contains(err.Error(), "the id of a run cannot be changed")
		}},
		"no journal, not here": {func(s *hocket.Snapshot[state]) { s.Journal = nil }, g, "", func(err error) bool {
			return errors.Is(err, hocket.ErrNotFound)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, hocket.Config{})
			s := *good
			tt.change(&s)
			r, err := hocket.Run(t.Context(), e, tt.graph, state{},
				hocket.RunOptions{ID: tt.id, ResumeFrom: &s, Answer: &hocket.Answer{Value: "on"}})
			if err == nil || !tt.is(err) || r != nil {
				t.Errorf("got %+v, %v", r, err)
			}
			for _, id := range []string{"r", "q"} {
				if _, err := hocket.SnapshotOf(t.Context(), e, tt.graph, id); !errors.Is(err, hocket.ErrNotFound) {
					t.Errorf("run %s: %v", id, err)
				}
			}
			if keys := x.take(); keys != nil {
				t.Errorf("nodes ran: %v", keys)
			}
		})
	}
}

// TestSnapshot_RunAlreadyInEngine checks that an engine that has the run continues its own, and
// that if that run has since progressed, or is another run, the snapshot is rejected and nothing
// changes (S2-63).
func TestSnapshot_RunAlreadyInEngine(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		x := &executed{}
		g := compiled(t, graph.New[state]("t").Start(x.node("a")).Wait("go on?").Then(x.node("b")).Wait("and on?").Then(
			x.node("c")))
		first := paused(t, e, g)
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ResumeFrom: first}); !errors.Is(err,
			hocket.ErrPaused) {
			t.Errorf("without an answer: %v", err)
		}
		o := hocket.RunOptions{ResumeFrom: first, Answer: &hocket.Answer{Value: "on"}}
		r, err := hocket.Run(t.Context(), e, g, state{}, o)
		if err != nil || r.Status != hocket.StatusPaused || r.State.N != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		x.take()
		if _, err := hocket.Run(t.Context(), e, g, state{}, o); !errors.Is(err, hocket.ErrConflict) {
			t.Errorf("it went on: %v", err)
		}
		other := paused(t, open(t, hocket.Config{}), g)
		x.take()
		if _, err := hocket.Run(t.Context(), e, g, state{},
			hocket.RunOptions{ResumeFrom: other, Answer: o.Answer}); !errors.Is(err, hocket.ErrConflict) {
			t.Errorf("another run of that id: %v", err)
		}
		if keys := x.take(); keys != nil {
			t.Errorf("nodes ran: %v", keys)
		}
		second := r.Snapshot
		second.Journal = nil // the run is here
		o.ResumeFrom = &second
		if r, err = hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted ||
			r.State.N != 3 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestSnapshotInAnotherStore checks that a run that waits in one file continues in another file
// from its snapshot alone, including large values and the model of the run (S2-63).
func TestSnapshotInAnotherStore(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("words ", 20_000)
	var models []string
	g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
		s.Text = large
		return nil
	})).Wait("go on?").Then(graph.NewNode("b", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			models = append(models, c.Model)
			return graph.Result[state]{}, nil
		})))
	here := open(t, hocket.Config{DB: filepath.Join(t.TempDir(), "here.db")})
	r, err := hocket.Run(t.Context(), here, g, state{}, hocket.RunOptions{Model: "acme/large"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	there := open(t, hocket.Config{DB: filepath.Join(t.TempDir(), "there.db")})
	got, err := hocket.Run(t.Context(), there, g, state{}, hocket.RunOptions{ResumeFrom: carried(t, &r.Snapshot),
		Answer: &hocket.Answer{Value: "on"}})
	if err != nil || got.Status != hocket.StatusCompleted || got.State.Text != large ||
		!got.Snapshot.StartedAt.Equal(r.Snapshot.StartedAt) {
		t.Errorf("%v %d bytes, %v", got.Status, len(got.State.Text), err)
	}
	if !slices.Equal(models, []string{"acme/large"}) {
		t.Errorf("models %v", models)
	}
	if s, err := hocket.SnapshotOf(t.Context(), here, g, r.Snapshot.ExecutionID); err != nil ||
		s.Status != hocket.StatusPaused {
		t.Errorf("the run that it was made of: %+v, %v", s, err)
	}
}

// TestFork checks that a fork has the history of its run up to a step and repeats everything after
// it, and that the original run is unchanged.
func TestFork(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var first atomic.Int64
		g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
			first.Add(1)
			s.Log = append(s.Log, "a")
			return nil
		})).Then(note("b")).Then(graph.WaitConfig[state]{
			ID: "w", Prompt: "Who?", Input: func(s *state, answer string) error {
				s.Text = answer
				return nil
			}}).Then(note("c")))
		seqs := map[string]uint64{}
		for s, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			seqs[s.NodeID] = s.Seq
		}
		early, err := e.Fork(t.Context(), "r", seqs["a"])
		if err != nil {
			t.Fatal(err)
		}
		late, err := e.Fork(t.Context(), "r", seqs["w"])
		if err != nil {
			t.Fatal(err)
		}
		r, err := hocket.Resume(t.Context(), e, g, late, hocket.Answer{Value: "me"})
		if err != nil || r.Status != hocket.StatusCompleted || r.State.Text != "me" ||
			cmp.Diff(r.State.Log, []string{"a", "b", "c"}) != "" {
			t.Fatalf("late %+v, %v", r, err)
		}
		r, err = hocket.Resume(t.Context(), e, g, early)
		if err != nil || r.Status != hocket.StatusPaused ||
			!slices.Equal(r.Snapshot.VisitedNodes, []string{"a", "b"}) || first.Load() != 1 {
			t.Errorf("early %+v, %v, %d first nodes", r, err, first.Load())
		}
		info, err := e.Get(t.Context(), early)
		if err != nil || info.ForkedFrom != "r" {
			t.Errorf("%+v, %v", info, err)
		}
		if info, err = e.Get(t.Context(), "r"); err != nil || info.Status != hocket.StatusPaused {
			t.Errorf("the run itself: %+v, %v", info, err)
		}
		for name, tc := range map[string]struct {
			run  string
			at   uint64
			want string
		}{
			"no event":  {"r", 10_000, "invalid fork point"},
			"event 0":   {"r", 0, "invalid fork point"},
			"no run":    {"none", 1, "not found"},
			"the ended": {late, 10_000, "invalid fork point"},
		} {
			if _, err := e.Fork(t.Context(), tc.run, tc.at); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestReport_ExcludesGraphMetadata checks that a failed run has a report, and that neither the
// report nor updates contain what the graph keeps in addition to the state (S2-59, S2-75).
func TestReport_ExcludesGraphMetadata(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	g := compiled(t, graph.New[state]("t").Start(note("a")).
		Loop(graph.LoopConfig[state]{Until: func(graph.View[state]) bool { return true }}, note("l")).Then(
		breaks("z", "no luck")))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Snapshot.DebugReport; d == nil || d.ErrorSummary != "no luck" || d.NodeID != "z" ||
		d.ExecutionID != r.Snapshot.ExecutionID || d.SuggestedFixes == nil || d.RelevantFiles == nil {
		t.Errorf("report %+v", d)
	}
	if got := string(r.Snapshot.Outputs["loop_start_1_iteration"]); got != "1" {
		t.Errorf("loop_start_1_iteration = %s in %v", got, r.Snapshot.Outputs)
	}
	for s, err := range hocket.Stream(t.Context(), e, g, state{}) {
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.Result.Update {
			if name != "log" {
				t.Errorf("step %s changes %s", s.NodeID, name)
			}
		}
	}
}

// TestRetainRuns checks that an in-memory store keeps the configured number of ended runs, the most
// recent ones, and that neither results nor runs of graphs that start other runs depend on it.
func TestRetainRuns(t *testing.T) {
	t.Parallel()
	const runs = 20
	for name, tc := range map[string]struct {
		retain, want int
	}{"none": {-1, 0}, "some": {3, 3}, "default": {0, 2*runs + 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, hocket.Config{RetainRuns: tc.retain})
			inner := compiled(t, graph.New[state]("inner").Then(graph.Do("a", func(_ context.Context, s *state) error {
				s.N++
				return nil
			})))
			outer := compiled(t,
				graph.New[state]("outer").Then(graph.Do("b", func(ctx context.Context, s *state) error {
					res, err := hocket.Run(ctx, e, inner, *s)
					if err == nil {
						*s = res.State
					}
					return err
				})))
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					res, err := hocket.Run(t.Context(), e, outer, state{N: i})
					if err != nil || res.Status != hocket.StatusCompleted || res.State.N != i+1 {
						t.Errorf("run %d: %+v, %v", i, res, err)
					}
				})
			}
			wg.Wait()
			res, err := hocket.Run(t.Context(), e, inner, state{}, hocket.RunOptions{ID: "last"})
			if err != nil || res.State.N != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			list, _, err := e.List(t.Context(), hocket.Filter{Limit: 1000})
			if err != nil || len(list) != tc.want {
				t.Errorf("%d runs are kept, %v", len(list), err)
			}
			_, err = e.Get(t.Context(), "last")
			if gone := errors.Is(err, hocket.ErrNotFound); gone != (tc.retain < 0) {
				t.Errorf("the last run: %v", err)
			}
		})
	}
}

// TestRetainRuns_ActiveRunKept checks that a run that pauses, is streamed or is waited for remains
// available as long as it is in use, even if no ended runs are kept.
func TestRetainRuns_ActiveRunKept(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{RetainRuns: -1})
	g := compiled(t, graph.New[state]("asks").Then(graph.WaitConfig[state]{ID: "ask", Prompt: "Go on?"}).
		Then(graph.Do("a", func(_ context.Context, s *state) error { s.N++; return nil })))
	plain := compiled(t, graph.New[state]("plain").Then(graph.Do("a", func(_ context.Context, s *state) error {
		s.N++
		return nil
	})))
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			id := fmt.Sprint("run", i)
			res, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: id})
			if err != nil || res.Status != hocket.StatusPaused {
				t.Errorf("%+v, %v", res, err)
				return
			}
			if res, err = hocket.Resume(t.Context(), e, g, id, hocket.Answer{Value: "yes"}); err != nil ||
				res.State.N != 1 {
				t.Errorf("%+v, %v", res, err)
			}
			steps := 0
			for step, err := range hocket.Stream(t.Context(), e, plain, state{}) {
				if steps++; err != nil || step.State.N != 1 {
					t.Errorf("%+v, %v", step, err)
				}
			}
			if steps != 1 {
				t.Errorf("%d steps", steps)
			}
		})
	}
	wg.Wait()
	if list, _, err := e.List(t.Context(), hocket.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%d runs are kept, %v", len(list), err)
	}
}

// TestNodeContext_ValidAfterReturn checks that whatever a function keeps of its context does not
// change, even though its command is reused for the next function.
func TestNodeContext_ValidAfterReturn(t *testing.T) {
	t.Parallel()
	type state struct{ N int }
	const nodes = 40
	eng := open(t, hocket.Config{})
	var kept []*graph.Context[state]
	b := graph.New[state]("kept")
	for i := range nodes {
		b.Then(graph.NewNode(fmt.Sprintf("n%d", i), graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				kept = append(kept, c)
				c.State.N++
				return graph.Result[state]{Update: &c.State, Output: i}, nil
			}))
	}
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	res, err := hocket.Run(t.Context(), eng, g, state{})
	if err != nil || res.State.N != nodes {
		t.Fatalf("%+v, %v", res, err)
	}
	for i, c := range kept {
		if want := fmt.Sprintf("%s/%d.0.1", res.Snapshot.ExecutionID, i+1); c.NodeID != fmt.Sprintf("n%d", i) ||
			c.Key != want || c.State.N != i+1 {
			t.Fatalf("context %d: node %s, key %s, state %+v; want key %s", i, c.NodeID, c.Key, c.State, want)
		}
		var want []string
		for j := range i {
			want = append(want, fmt.Sprintf("n%d=%d", j, j))
		}
		var got []string
		for node, out := range c.Outputs() {
			got = append(got, node+"="+string(out))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("context %d sees %v, want %v", i, got, want)
		}
	}
}

// TestEngine_StepContext checks that the step context of a run is the same object as everywhere,
// while the run is in progress and after it has ended (S4-34).
func TestEngine_StepContext(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", hocket.ModelFunc(
		func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
			if r.Agent == "critic" {
				close(reached)
				<-release
			}
			return hocket.ModelReply{Text: r.Agent + " said"}, nil
		})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("two.yaml", []byte(`
agents:
  writer: {model: own/m, instruction: Write.}
  critic: {model: own/m, instruction: Criticize.}
workflow:
  - {type: parallel, id: both, steps: [{type: agent, id: one, name: writer}]}
  - {type: agent, name: critic}
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Input: "go", ID: "r"}); err != nil {
		t.Fatal(err)
	}
	<-reached
	const both = `{"both":{"steps":{"one":{"output":"writer said","agent":"writer"}},"order":["one"]}`
	during, err := e.StepContext(t.Context(), "r")
	if err != nil || string(during.Snapshot()) != both+"}" {
		t.Errorf("in progress: %s, %v", during.Snapshot(), err)
	}
	close(release)
	if _, err := e.Wait(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	after, err := e.StepContext(t.Context(), "r")
	if err != nil || string(after.Snapshot()) != both+`,"critic":{"output":"critic said","agent":"critic"}}` {
		t.Errorf("at the end: %s, %v", after.Snapshot(), err)
	}
	if string(during.Snapshot()) != both+"}" {
		t.Errorf("a snapshot changed: %s", during.Snapshot())
	}
	if c, err := e.StepContext(t.Context(), "none"); c != nil || !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("unknown run: %v, %v", c, err)
	}
}
