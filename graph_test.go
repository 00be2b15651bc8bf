package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/toolsets"
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

// TestSubgraphs_OtherProcess checks that another process can register the graphs and answer the
// question inside, and that nothing runs twice. A process with another version of the inner graph
// does not continue the run (P3, P9).
func TestSubgraphs_OtherProcess(t *testing.T) {
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

// TestGraphBudgetOfStartedRuns checks that runs that a function starts without waiting for them
// count toward its run as they end, and that what is reserved for one becomes available to the
// next: the third of them has no budget left, and is not waited for (P20).
func TestGraphBudgetOfStartedRuns(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := spending(t, &calls)
	doc, err := e.Parse("d.yaml", []byte("agents: {a: {model: own/m, instruction: Go., max_tokens: 50}}"))
	if err != nil {
		t.Fatal(err)
	}
	g := compiled(t, graph.New[state]("outer").Start(graph.Do("many", func(ctx context.Context, s *state) error {
		for range 4 {
			if _, err := e.Start(ctx, doc, hocket.StartOptions{Input: "x"}); err != nil {
				return err
			}
			s.N++
		}
		return nil
	})))
	r, err := hocket.Run(t.Context(), e, g, state{},
		hocket.RunOptions{ID: "r", Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
	var short *hocket.BudgetError
	if err != nil || !errors.As(r.Err, &short) || short.Limit != "calls" || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
	if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.ModelCalls != 2 || o.Usage.InputTokens != 40 {
		t.Errorf("the run counts %+v, %v", o.Usage, err)
	}
}

// TestBudget_WaitCancelledByContext checks that a function that waits for budget for
// a run of a document stops waiting when its context is done (P20).
func TestBudget_WaitCancelledByContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return hocket.ModelReply{Text: "done"}, ctx.Err()
		})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	doc, err := e.Parse("d.yaml", []byte("agents: {a: {model: own/m, instruction: Go.}}"))
	if err != nil {
		t.Fatal(err)
	}
	var waited error
	g := compiled(t, graph.New[state]("outer").Start(graph.Do("both", func(ctx context.Context, _ *state) error {
		defer close(release)
		// it holds the whole budget until its call has ended
		if _, err := e.Start(ctx, doc, hocket.StartOptions{Input: "x"}); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, waited = e.Run(within, doc, hocket.StartOptions{Input: "y"})
		return nil
	})))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := hocket.Run(ctx, e, g, state{}, hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 1}}})
	if err != nil || r.Status != hocket.StatusCompleted || !errors.Is(waited, context.DeadlineExceeded) {
		t.Errorf("%+v, %v; waited: %v", r, err, waited)
	}
}

func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWithConfig checks that an engine uses the operator's file as the command line does: the
// default model, permissions (SEC12), budgets (P20), prices (D14) and the path of the store.
func TestWithConfig(t *testing.T) {
	t.Parallel()
	path := configured(t, `
defaultModel: own/m
permissions: {deny: [lookup]}
budgets: {run: {calls: 3}}
prices: prices.yaml
store: {path: kept/runs.db}
`)
	folder := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(folder, "prices.yaml"),
		[]byte("prices: [{models: [own/m], input: 1000, output: 0}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Pointer[hocket.ModelRequest]
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string { return "" }}, documents.All(),
		hocket.WithConfig(path),
		hocket.WithModel("own", echo(&seen)), hocket.WithTool("lookup", "Looks up a word.", lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run := func(doc string) *hocket.RunInfo {
		t.Helper()
		w, err := e.Parse("w.yaml", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := run("agents: {a: {instruction: Greet.}}"); r.Text() != "so x" || r.Usage.CostUSD == nil ||
		*r.Usage.CostUSD != 0.003 {
		t.Errorf("%q, usage %+v", r.Text(), r.Usage)
	}
	if r := run(writerDoc); !strings.Contains(r.Text(), "forbid") {
		t.Errorf("the tool was called: %q", r.Text())
	}
	many := "agents: {a: {instruction: Greet.}}\nworkflow:\n" + strings.Repeat("  - {type: agent, name: a}\n", 4)
	if r := run(many); r.Status != hocket.StatusFailed || r.Usage.ModelCalls != 3 || r.Err == nil ||
		!strings.Contains(r.Err.Error(), "budget") {
		t.Errorf("%s, usage %+v, error %v", r.Status, r.Usage, r.Err)
	}
	if _, err := os.Stat(filepath.Join(folder, "kept", "runs.db")); err != nil {
		t.Error(err)
	}
}

// TestWithConfig_Invalid checks that an error in the file prevents an engine from being created and
// is reported with its position, and that a program's own settings take precedence.
func TestWithConfig_Invalid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, err string }{
		"no path":      {"", "path of the configuration is empty"},
		"no file":      {filepath.Join(t.TempDir(), "no.yaml"), "no such file"},
		"unknown key":  {configured(t, "default_model: x\n"), "hocket.yaml:1:1: error: unknown key \"default_model\""},
		"bare secret":  {configured(t, "providers: {lab: {key: sk-canary}}\n"), "reference to a secret"},
		"no prices":    {configured(t, "prices: no.yaml\n"), "no.yaml"},
		"wrong prices": {configured(t, "prices: hocket.yaml\n"), "hocket.yaml:1:9: error: expected a list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithConfig(tt.path))
			if err == nil {
				t.Fatal(e.Close())
			}
			if !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
	path := configured(t, "store: {path: kept.db}\n")
	e, err := hocket.Open(t.Context(), hocket.Config{DB: hocket.Memory}, documents.All(), hocket.WithConfig(path))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "kept.db")); err == nil {
		t.Error("the program's own store did not win")
	}
}

// TestMisuse checks that invalid calls return errors that say why, and that nothing runs.
func TestMisuse(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	g := compiled(t, graph.New[state]("g").Wait("Go on?"))
	w, err := e.Parse("w.yaml",
		[]byte("agents:\n  a: {model: openai/gpt-5-mini}\nworkflow:\n  steps:\n    - {id: s, type: agent, name: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(g *graph.Compiled[state], o ...hocket.RunOption) error {
		_, err := hocket.Run(t.Context(), e, g, state{}, o...)
		return err
	}
	resume := func(g *graph.Compiled[state], run string, a ...hocket.RunOption) error {
		_, err := hocket.Resume(t.Context(), e, g, run, a...)
		return err
	}
	if err := run(g, hocket.RunOptions{ID: "paused"}); err != nil {
		t.Fatal(err)
	}
	const noGraph, twoOptions = "the graph is nil; see the error of its Compile",
		"at most one RunOptions may be given, not 2"
	for name, tc := range map[string]struct {
		call func() error
		want string
	}{
		"run without graph":      {func() error { return run(nil) }, noGraph},
		"run empty graph":        {func() error { return run(new(graph.Compiled[state])) }, noGraph},
		"resume without graph":   {func() error { return resume(nil, "paused") }, noGraph},
		"register without graph": {func() error { return hocket.Register[state](e, nil) }, noGraph},
		"snapshot without graph": {func() error {
			_, err := hocket.SnapshotOf[state](t.Context(), e, nil, "paused")
			return err
		}, noGraph},
		"two options": {func() error {
			return run(g, hocket.RunOptions{ID: "x"}, hocket.RunOptions{MaxSteps: 1})
		}, twoOptions},
		"two options of a stream": {func() error {
			var last error
			for _, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{}, hocket.RunOptions{}) {
				last = err
			}
			return last
		}, twoOptions},
		"two answers": {func() error {
			return resume(g, "paused", hocket.Answer{Value: "yes"}, hocket.Answer{Value: "no"})
		}, "at most one Answer may be given, not 2"},
		"negative steps": {func() error { return run(g, hocket.RunOptions{ID: "x", MaxSteps: -1}) },
			"MaxSteps is -1; it must not be negative"},
		"document, two options": {func() error {
			_, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "x"}, hocket.StartOptions{})
			return err
		}, "at most one StartOptions may be given, not 2"},
		"document, start with two options": {func() error {
			_, err := e.Start(t.Context(), w, hocket.StartOptions{ID: "x"}, hocket.StartOptions{})
			return err
		}, "at most one StartOptions may be given, not 2"},
		"no document": {func() error {
			_, err := e.Run(t.Context(), nil)
			return err
		}, "the workflow is nil; see the error of Load"},
		"nil option": {func() error {
			_, err := hocket.Open(t.Context(), hocket.Config{}, nil)
			return err
		}, "an option is nil"},
		"tool with two options": {func() error {
			_, err := hocket.Open(t.Context(), hocket.Config{},
				hocket.WithTool("t", "", func(context.Context, struct{}) (int, error) { return 0, nil },
					hocket.ToolOptions{}, hocket.ToolOptions{}))
			return err
		}, `tool "t": at most one ToolOptions may be given, not 2`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.call(); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := e.Get(t.Context(), "x"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("a run began: %v", err)
	}
	if s, err := hocket.SnapshotOf(t.Context(), e, g, "paused"); err != nil || s.Status != hocket.StatusPaused {
		t.Errorf("the paused run went on: %v %v", s, err)
	}
}

// TestAnswer_EndedRun checks that an answer to a run that has ended is rejected as such, and that
// the answer that the run accepted may be submitted again.
func TestAnswer_EndedRun(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("g").Wait("Go on?"))
		r, err := hocket.Run(t.Context(), e, g, state{})
		if err != nil {
			t.Fatal(err)
		}
		run, wait := r.Snapshot.ExecutionID, r.Snapshot.Waiting[0].ID
		if _, err := hocket.Resume(t.Context(), e, g, run, hocket.Answer{Value: "yes"}); err != nil {
			t.Fatal(err)
		}
		for _, a := range []hocket.Answer{{Value: "no"}, {Wait: wait, Value: "no"}, {Node: "missing", Value: "yes"}} {
			err := e.Answer(t.Context(), run, a)
			if !errors.Is(err, hocket.ErrEnded) || !strings.Contains(err.Error(), "the run has ended") {
				t.Errorf("%+v: got %v, want ErrEnded", a, err)
			}
		}
		// no wait means the one that ended last (P24)
		for _, a := range []hocket.Answer{{Value: "yes"}, {Wait: wait, Value: "yes"}} {
			if err := e.Answer(t.Context(), run, a); err != nil {
				t.Errorf("%+v: the same answer again: %v", a, err)
			}
		}
	})
}

// TestStep_ParallelBlockOutput checks that a step shows the output of a parallel block as the
// snapshot does, that the next node gets it as its input, and that decisions have no output (S2-50,
// S2-73).
func TestStep_ParallelBlockOutput(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("inner").Loop(graph.LoopConfig[state]{MaxIterations: 1}, note("in")))
	var seen []string
	look := func(id string) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				seen = append(seen, string(c.Input))
				return graph.Result[state]{}, nil
			})
	}
	g := compiled(t, graph.New[state]("g").
		Parallel(graph.ParallelConfig[state]{ID: "both", Branches: []string{"a", "b"}}).Node(numberNode("a", 1)).Node(
		numberNode("b", 2)).
		If(func(graph.View[state]) bool { return true }).Then(look("behind")).EndIf().
		Then(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner}).
		Then(look("last")))
	shown := map[string]json.RawMessage{}
	e := open(t, hocket.Config{})
	for s, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}) {
		if err != nil {
			t.Fatal(err)
		}
		shown[s.NodeID] = s.Result.Output
	}
	snapshot, err := hocket.SnapshotOf(t.Context(), e, g, "r")
	if err != nil {
		t.Fatal(err)
	}
	const both = `{"_parallel":true,"branches":["a","b"],"strategy":"all","results":{"a":1,"b":2}}`
	if got := string(shown["both"]); got != both || got != string(snapshot.Outputs["both"]) {
		t.Errorf("both: got %s, want %s", got, both)
	}
	if shown["decision_1"] != nil || snapshot.Outputs["decision_1"] != nil {
		t.Errorf("a decision has an output: %s, %s", shown["decision_1"], snapshot.Outputs["decision_1"])
	}
	sub := string(shown["sub"])
	if sub != string(snapshot.Outputs["sub"]) || sub != `{"log":["in"],"n":0}` {
		t.Errorf("sub: got %s, want %s", sub, snapshot.Outputs["sub"])
	}
	if want := []string{both, sub}; !slices.Equal(seen, want) {
		t.Errorf("inputs: got %q, want %q", seen, want)
	}
}

// numberNode returns a node whose output is a number.
func numberNode(id string, n int) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Output: n}, nil
	})
}

const waiting = "agents:\n  a: {model: own/m}\nworkflow:\n  steps:\n    - {id: ask, type: ask, prompt: \"{{ 1 + 1 " +
	"}}?\"}\n"

// TestOpen_MissingPackage checks that using something that the program does not link is an error
// that names the package and the option, at the point of use.
func TestOpen_MissingPackage(t *testing.T) {
	t.Parallel()
	const option = "import github.com/hocket-run/hocket/documents and give documents.All() to hocket.Open"
	db := filepath.Join(t.TempDir(), "app.db")
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Parse("w.yaml", []byte(waiting)); err == nil || !strings.Contains(err.Error(), option) {
		t.Errorf("Parse gives %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	whole, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{Text: "x"}, nil
		})))
	if err != nil {
		t.Fatal(err)
	}
	w, err := whole.Parse("w.yaml", []byte(waiting))
	if err != nil {
		t.Fatal(err)
	}
	r, err := whole.Run(t.Context(), w, hocket.StartOptions{ID: "r1"})
	if err != nil || r.Status != hocket.StatusPaused || r.Waiting[0].Prompt != "2?" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}

	again, err := hocket.Open(t.Context(), hocket.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if r, err := again.Get(t.Context(), "r1"); err != nil || r.Status != hocket.StatusPaused {
		t.Errorf("a run of a document is shown as %+v, %v", r, err)
	}
	if err := again.Resume(t.Context(), "r1"); err == nil || !strings.Contains(err.Error(), "documents.All()") {
		t.Errorf("Resume gives %v", err)
	}
	if err := again.Answer(t.Context(), "r1", hocket.Answer{Value: "yes"}); err == nil ||
		!strings.Contains(err.Error(), "documents.All()") {
		t.Errorf("Answer gives %v", err)
	}
}

// TestOpen_MissingMCPClient checks that an MCP server needs its client, which two packages provide
//
func TestOpen_MissingMCPClient(t *testing.T) {
	t.Parallel()
	agent := hocket.WithAgent(hocket.Agent{Name: "a", Toolsets: []hocket.Toolset{{"type": "mcp", "command": "x"}}})
	for name, tc := range map[string]struct {
		options []hocket.Option
		want    string
	}{
		"alone": {[]hocket.Option{agent},
			`agent "a": this program has no client of MCP: import github.com/hocket-run/hocket/toolsets and give ` +
				`toolsets.All() to hocket.Open`},
		"with toolsets":  {[]hocket.Option{agent, toolsets.All()}, ""},
		"with documents": {[]hocket.Option{documents.All(), agent}, ""},
		"both":           {[]hocket.Option{toolsets.All(), documents.All(), agent}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{}, tc.options...)
			if err == nil {
				defer e.Close()
			}
			if err != nil {
				if got := err.Error(); got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			} else if tc.want != "" {
				t.Errorf("opened, want %s", tc.want)
			}
		})
	}
}
