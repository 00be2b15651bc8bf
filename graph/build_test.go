package graph_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// TestMisuse checks that every kind of misuse is reported with its message and without a panic
// (S2-1, S2-8, S2-41, S2-62, S2-77, D27).
func TestMisuse(t *testing.T) {
	t.Parallel()
	type B = graph.Builder[state]
	g := func() *B { return graph.New[state]("t").Start(note("s")) }
	par := func(branches ...string) graph.ParallelConfig[state] {
		return graph.ParallelConfig[state]{ID: "pp", Branches: branches}
	}
	retry := func(r graph.Retry) graph.NodeOptions { return graph.NodeOptions{Retry: r} }
	minus, nilNode := -time.Second, graph.Node[state](nil)
	for name, tc := range map[string]struct {
		graph  *B
		config graph.Config
		want   string
	}{
		"S2-1 second start": {g().Start(note("b")), graph.Config{},
			"Start node already set. Use Then to add more nodes."},
		"S2-1 same id":  {g().Then(note("s")), graph.Config{}, `Node with ID "s" already exists`},
		"S2-1 no start": {graph.New[state]("t"), graph.Config{}, "Cannot compile graph without a start node"},
		"S2-1 only beside": {graph.New[state]("t").Node(note("a")), graph.Config{},
			"Cannot compile graph without a start node"},
		"S2-1 else without if":  {g().Else(), graph.Config{}, "Cannot use Else without a preceding If"},
		"S2-1 endif without if": {g().EndIf(), graph.Config{}, "Cannot use EndIf without a preceding If"},
		"S2-1 second else": {g().If(always).Else().Else().EndIf(), graph.Config{},
			"Already in else branch. Use EndIf to close."},
		"S2-1 if without node": {graph.New[state]("t").If(always).Then(note("a")), graph.Config{},
			"Cannot use If without a preceding node. Use Start first."},
		"S2-1 empty loop": {g().Loop(graph.LoopConfig[state]{}), graph.Config{},
			"Loop body must contain at least one node"},
		"S2-1 no branches": {g().Parallel(par()), graph.Config{},
			`Parallel node "pp" requires at least one branch`},
		"S2-1 tool": {g().Tool(graph.ToolConfig[state, int, int]{ID: "x"}), graph.Config{},
			`Tool node "x" requires an Execute function`},
		"S2-77 open if": {g().If(always).Then(note("a")), graph.Config{}, "Missing EndIf"},
		"S2-8 unknown branch": {g().Parallel(par("ab")).Node(note("abc")), graph.Config{},
			`Parallel node "pp": branch "ab" is not a node of the graph`},
		"branch called error": {g().Parallel(par("error")).Node(note("error")), graph.Config{},
			`Parallel node "pp": a branch cannot be called "error"`},
		"branch called limit": {g().Parallel(par("limit")).Node(note("limit")), graph.Config{},
			`Parallel node "pp": a branch cannot be called "limit"`},
		"branch twice": {g().Parallel(par("a", "a")).Node(note("a")), graph.Config{},
			`Parallel node "pp" has the duplicate branch "a"`},
		"branch in the flow": {g().Then(note("a")).Parallel(par("a")), graph.Config{},
			`Node "a" is both in the main flow and in branch "a" of "pp"; a node belongs to one of them only`},
		"unknown strategy": {g().Parallel(graph.ParallelConfig[state]{ID: "pp", Branches: []string{"a"},
			Strategy: "most"}).Node(note("a")), graph.Config{}, `Parallel node "pp" has the unknown strategy "most"`},
		"unknown target": {g().Then(graph.DecisionNode[state]("d", nil, "x")), graph.Config{},
			`Node "x" not found in graph; it is a target of "d"`},
		"route without when": {g().Then(graph.DecisionNode("d", []graph.Route[state]{{Target: "s"}}, "s")),
			graph.Config{}, `Decision node "d": route 1 has no condition`},
		"if without condition": {g().If(nil).EndIf(), graph.Config{}, `Decision "decision_1" requires a condition`},
		"no function":          {g().Then(graph.Do[state]("x", nil)), graph.Config{}, `Node "x" requires a function`},
		"odd type": {
			g().Then(
				graph.NewNode("x", "robot",
					graph.Func[state](func(context.Context, *graph.Context[state]) (r graph.Result[state], err error) {
						return
					}))), graph.Config{}, `Node "x" has the unknown type "robot"`,
		},
		"no node": {g().Then(nilNode), graph.Config{}, "Node is nil"},
		"no id":   {g().Then(note("")), graph.Config{}, `Node of type "tool" has no ID`},
		"slash":   {g().Then(note("a/b")), graph.Config{}, `Node ID "a/b" must not contain a slash`},
		"second handler": {g().Catch(note("h")).Catch(note("i")), graph.Config{},
			`Error handler already set: "h"`},
		"handler that waits": {g().Catch(compat.WaitNode[state]("h", "?")), graph.Config{},
			`Error handler "h" must be a node that calls a function`},
		"negative iterations": {g().Loop(graph.LoopConfig[state]{MaxIterations: -1}, note("a")), graph.Config{},
			`Loop "loop_start_1": MaxIterations must not be negative`},
		"negative tool timeout": {
			g().Tool(graph.ToolConfig[state, int, int]{ID: "x", Timeout: minus, Execute: func(context.Context,
				int) (int, error) {
				return 0, nil
			}}), graph.Config{}, `Tool node "x" has a negative timeout`,
		},
		"S2-41 no attempts": {g().Then(note("a", retry(graph.Retry{MaxAttempts: graph.Zero}))), graph.Config{},
			`Node "a": MaxAttempts is 0; it counts the first attempt and must be at least 1`},
		"negative backoff": {g().Then(note("a", retry(graph.Retry{Backoff: minus}))), graph.Config{},
			`Node "a": the backoff is negative`},
		"negative multiplier": {g().Then(note("a", retry(graph.Retry{Multiplier: -1}))), graph.Config{},
			`Node "a": the multiplier of the backoff must be between 0 and 1,000,000`},
		"S2-62 no concurrency": {g(), graph.Config{MaxConcurrency: graph.Zero},
			"Config.MaxConcurrency is 0; it must be at least 1"},
		"negative steps":   {g(), graph.Config{MaxSteps: -1}, "Config.MaxSteps is -1; it must not be negative"},
		"negative timeout": {g(), graph.Config{Timeout: minus}, "Config.Timeout is -1s; it must not be negative"},
		"bad schema": {g(), graph.Config{OutputSchema: graph.SchemaJSON(`{"type": 7}`)},
			"The OutputSchema of the graph cannot be read: "},
		"empty schema": {g().Then(note("a", graph.NodeOptions{InputSchema: &graph.Schema{}})), graph.Config{},
			`The InputSchema of node "a" is empty; make it with SchemaOf or SchemaJSON`},
		"reducer of no field": {g(), graph.Config{Reducers: map[string]graph.Reducer{"lg": graph.Append()}},
			`Reducer for "lg": the state has no such field`},
		"append to a number": {g(), graph.Config{Reducers: map[string]graph.Reducer{"n": graph.Append()}},
			`Reducer for "n" needs a slice; the field is of type int`},
		"sum of texts": {g(), graph.Config{Reducers: map[string]graph.Reducer{"text": graph.Sum()}},
			`Reducer for "text" needs a number; the field is of type string`},
		"merge of a list": {g(), graph.Config{Reducers: map[string]graph.Reducer{"log": graph.MergeMap()}},
			`Reducer for "log" needs a map; the field is of type []string`},
		"function of other type": {g(),
			graph.Config{Reducers: map[string]graph.Reducer{"n": graph.Reduce(func(_, _, t string) string {
				return t
			})}}, `Reducer for "n" is a function of string; the field is of type int`},
		"empty reducer": {g(), graph.Config{Reducers: map[string]graph.Reducer{"n": {}}},
			`Reducer for "n" is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := tc.graph.Compile(tc.config)
			if err == nil || c != nil {
				t.Fatalf("compiled, want %s", tc.want)
			}
			for _, p := range problems(t, err) {
				if !strings.HasPrefix(p.Message, tc.want) {
					t.Errorf("also %s", p)
				} else if p.Span.File != "build_test.go" || p.Span.Start.Line == 0 {
					t.Errorf("it stands at %s", p.Span)
				}
			}
		})
	}
}

// TestCompile_ReportsAllMisuse checks that all errors are reported together, each at the line of
// its call, with a hint at the likely intent.
func TestCompile_ReportsAllMisuse(t *testing.T) {
	t.Parallel()
	_, err := graph.New[state]("t").
		Start(note("s")).
		Start(note("b")).
		Then(note("s")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"sx"}}).
		EndIf().
		Compile()
	list := problems(t, err)
	if len(list) != 4 {
		t.Fatalf("%d problems: %v", len(list), err)
	}
	first := list[0].Span.Start.Line
	for i, want := range []struct {
		code, hint string
		line       int
	}{{"second-start", "", 0}, {"duplicate-node", "", 1}, {"endif-without-if", "", 3},
		{"unknown-node", `did you mean "s"?`, 2}} {
		if got := list[i]; got.Code != want.code || got.Hint != want.hint || got.Span.Start.Line != first+want.line {
			t.Errorf("problem %d: %s at %s, hint %q; want %+v", i, got.Code, got.Span, got.Hint, want)
		}
	}
}

type notJSON struct {
	Open  chan int
	Do    func()
	C     complex128
	Inner struct {
		hidden int
		Left   int `json:"-"`
	}
	Any   any
	Err   error
	ByKey map[[2]int]string
	Time  time.Time
	Self  *notJSON
}

// TestCompile_StateNotSerializable checks that a state that does not survive JSON does not compile,
// and that all offending fields are reported (D27).
func TestCompile_StateNotSerializable(t *testing.T) {
	t.Parallel()
	_ = notJSON{}.Inner.hidden
	do := func(context.Context, *notJSON) error { return nil }
	_, err := graph.New[notJSON]("t").Start(graph.Do("a", do)).Compile()
	var got []string
	for _, p := range problems(t, err) {
		got = append(got, p.Message)
	}
	want := []string{
		"State field Open is a chan, which JSON cannot hold",
		"State field Do is a func, which JSON cannot hold",
		"State field C is a complex128, which JSON cannot hold",
		"State field Inner.hidden is not exported, so nodes would lose it",
		`State field Inner.Left has the tag json:"-", so nodes would lose it`,
		"State field Err is the interface error, which JSON cannot read back",
		"State field ByKey is a map with keys of type [2]int, which JSON cannot hold",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if _, err := graph.New[int]("t").Start(graph.Do("a", func(context.Context, *int) error { return nil })).
		Compile(); err == nil {
		t.Error("a number is a state")
	}
	type prefixed struct {
		X int `json:"outputs.x"`
	}
	if _, err := graph.New[prefixed]("t").Start(graph.Do("a", func(context.Context, *prefixed) error { return nil })).
		Compile(); err == nil {
		t.Error("a field of the graph's own name was taken")
	}
}

// TestCompile_GraphShape checks ids, labels, edges and ends (S2-2, S2-4, S2-7, S2-9).
func TestCompile_GraphShape(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(note("s")).
		If(always).Then(note("t")).EndIf().
		Loop(graph.LoopConfig[state]{}, note("l1"), note("l2")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"p1", "p2"}}).
		Wait("Go on?").
		Node(note("p1")).Node(note("p2"), note("p3"))
	c := compiled(t, b)
	var ids []string
	for _, n := range c.Nodes() {
		ids = append(ids, n.ID)
	}
	if got, want := strings.Join(ids, " "),
		"s decision_1 t merge_2 loop_start_3 l1 l2 loop_check_4 parallel_5 wait_6 p1 p2 p3"; got != want {
		t.Errorf("nodes\n%s, want\n%s", got, want)
	}
	for _, tc := range []struct {
		from string
		want []graph.Edge
	}{
		{"s", []graph.Edge{{From: "s", To: "decision_1"}}},
		{"decision_1", []graph.Edge{{From: "decision_1", To: "t", Label: "if-true", Conditional: true},
			{From: "decision_1", To: "merge_2", Label: "if-false", Conditional: true}}},
		{"t", []graph.Edge{{From: "t", To: "merge_2"}}},
		{"l1", []graph.Edge{{From: "l1", To: "l2"}}},
		{"loop_check_4", []graph.Edge{{From: "loop_check_4", To: "l1", Label: "loop-continue", Conditional: true},
			{From: "loop_check_4", To: "parallel_5", Label: "loop-exit", Conditional: true}}},
		{"parallel_5", []graph.Edge{{From: "parallel_5", To: "p1", Label: "parallel-p1"},
			{From: "parallel_5", To: "p2", Label: "parallel-p2"}, {From: "parallel_5", To: "wait_6"}}},
		{"wait_6", nil},
	} {
		if d := cmp.Diff(compat.EdgesFrom(c, tc.from), tc.want); d != "" {
			t.Errorf("edges from %s: got - want +\n%s", tc.from, d)
		}
		if d := cmp.Diff(compat.EdgesFrom(b, tc.from), tc.want); d != "" {
			t.Errorf("the builder's edges from %s: got - want +\n%s", tc.from, d)
		}
	}
	if got := compat.EdgesTo(c, "merge_2"); len(got) != 2 {
		t.Errorf("edges to merge_2: %v", got)
	}
	if d := cmp.Diff(compat.EdgesTo(b, "l1"), []graph.Edge{{From: "loop_start_3", To: "l1"},
		{From: "loop_check_4", To: "l1", Label: "loop-continue", Conditional: true}}); d != "" {
		t.Errorf("edges to l1: got - want +\n%s", d)
	}
	if got := strings.Join(c.Ends(), " "); got != "wait_6 p1 p3" {
		t.Errorf("ends %s", got)
	}
	for id, want := range map[string]graph.NodeType{"wait_6": graph.TypeWait, "parallel_5": graph.TypeParallel,
		"merge_2": graph.TypeDecision, "s": graph.TypeTool} {
		if n, ok := compat.Node(c, id); !ok || n.Type != want {
			t.Errorf("node %s: %+v, %t", id, n, ok)
		}
		if n, ok := compat.Node(b, id); !ok || n.Type != want {
			t.Errorf("the builder's node %s: %+v, %t", id, n, ok)
		}
	}
	if _, ok := compat.Node(c, "ghost"); ok {
		t.Error("a node that does not exist was found")
	}
	if got := compiled(t, graph.New[state]("t").Start(note("a")).End().Then(note("b"))).Ends(); len(got) != 1 ||
		got[0] != "a" {
		t.Errorf("explicit ends %v", got)
	}
}

// TestCompile_GraphImmutable checks that a compiled graph does not change with its builder, and
// that its digest distinguishes versions and is the same in every build (S2-77, D29).
func TestCompile_GraphImmutable(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(note("a"))
	one := compiled(t, b)
	again := compiled(t, b)
	version := compiled(t, b, graph.Config{Version: "2"})
	b.Then(note("b")).Node(note("c"))
	if _, err := b.Then(note("a")).Compile(); err == nil {
		t.Error("misuse after Compile was not told")
	}
	if n := one.Nodes(); len(n) != 1 || len(compat.EdgesFrom(one, "a")) != 0 || len(one.Workflow().Nodes) != 1 {
		t.Errorf("the compiled graph changed: %v", n)
	}
	if one.Digest() != again.Digest() || one.Digest() == version.Digest() || len(one.Digest()) != 64 {
		t.Errorf("digests %s, %s, %s", one.Digest(), again.Digest(), version.Digest())
	}
	if one.Name() != "t" || one.Start() != "a" || one.Workflow().Format != "graph" {
		t.Errorf("%s begins at %s", one.Name(), one.Start())
	}
}

// TestConstants checks words and defaults (S2-60, S2-40).
func TestConstants(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"agent", "tool", "decision", "wait", "ask_user", "subgraph", "parallel"} {
		if !compat.IsNodeType(word) {
			t.Errorf("%s is no node type", word)
		}
	}
	for _, word := range []string{"context_window_warning", "checkpoint", "human_input_required",
		"debug_report_generated"} {
		if !compat.IsSignal(word) || compat.IsNodeType(word) {
			t.Errorf("%s is no signal", word)
		}
	}
	if compat.IsSignal("") || compat.IsNodeType("") || compat.IsSignal("tool") {
		t.Error("anything is a word")
	}
	r := compat.DefaultRetry()
	if r.MaxAttempts != 3 || r.Backoff != time.Second || r.Multiplier != 2 || r.RetryOn != nil {
		t.Errorf("default retry %+v", r)
	}
	for name, tc := range map[string][2]float64{
		"compaction": {compat.BackgroundCompactionThreshold, 0.45}, "exhaustion": {compat.BufferExhaustionThreshold,
			0.6}, "percent": {compat.DefaultContextWindowThreshold, 45},
		"concurrency": {compat.DefaultMaxConcurrency, 1},
	} {
		if tc[0] != tc[1] {
			t.Errorf("%s is %v, want %v", name, tc[0], tc[1])
		}
	}
	if !compat.DefaultAutoCheckpoint {
		t.Error("automatic checkpoints are off")
	}
}

// TestCompiled_Definition checks that a compiled graph shows its configuration, its error handler,
// the conditions of its edges, and the definitions of its nodes (S2-77).
func TestCompiled_Definition(t *testing.T) {
	t.Parallel()
	over := func(n int) func(graph.View[state]) bool {
		return func(v graph.View[state]) bool { return v.State.N > n }
	}
	options := graph.NodeOptions{Model: "own", Description: "D", Retry: graph.Retry{MaxAttempts: 5}}
	g := compiled(t, graph.New[state]("t").Start(nothing("s")).If(over(1)).Then(graph.Do("a", func(_ context.Context,
		s *state) error {
		s.N++
		return nil
	}, options)).EndIf().
		Loop(graph.LoopConfig[state]{Until: over(5)}, nothing("l")).
		Then(graph.DecisionNode("d", []graph.Route[state]{{When: over(20), Target: "x", Label: "far"},
			{When: over(10), Target: "y"}}, "z")).
		Node(nothing("x")).Node(nothing("y")).Node(nothing("z")).Catch(nothing("c")),
		graph.Config{Version: "7", MaxSteps: 9})
	if got := g.Config(); got.Version != "7" || got.MaxSteps != 9 || g.ErrorHandler() != "c" {
		t.Errorf("configuration %+v, error handler %q", got, g.ErrorHandler())
	}
	taken := func(n int) (out []string) {
		for _, e := range g.Edges() {
			holds := g.Condition(e)
			if (holds != nil) != e.Conditional {
				t.Errorf("%+v has a condition: %t", e, holds != nil)
			}
			if holds != nil && holds(graph.View[state]{State: state{N: n}}) {
				out = append(out, e.From+" "+e.To)
			}
		}
		return out
	}
	for n, want := range map[int][]string{
		0:  {"decision_1 merge_2", "loop_check_4 l", "d z"},
		2:  {"decision_1 a", "loop_check_4 l", "d z"},
		6:  {"decision_1 a", "loop_check_4 d", "d z"},
		11: {"decision_1 a", "loop_check_4 d", "d y"},
		21: {"decision_1 a", "loop_check_4 d", "d x"},
	} {
		if d := cmp.Diff(taken(n), want); d != "" {
			t.Errorf("%d: got - want +\n%s", n, d)
		}
	}
	if g.Condition(graph.Edge{From: "s", To: "nowhere", Conditional: true}) != nil {
		t.Error("an edge that the graph does not have has a condition")
	}
	def, ok := g.Definition("a")
	if !ok || def.ID != "a" || def.Type != graph.TypeTool || def.Options.Model != "own" ||
		def.Options.Retry.MaxAttempts != 5 || def.Description != "D" {
		t.Fatalf("definition %+v", def)
	}
	r, err := def.Func(t.Context(), &graph.Context[state]{State: state{N: 3}})
	if err != nil || r.Update == nil || r.Update.N != 4 {
		t.Errorf("the function returned %+v, %v", r, err)
	}
	if def, ok := g.Definition("d"); !ok || def.Func != nil {
		t.Errorf("a decision has a function: %+v", def)
	}
	if _, ok := g.Definition("nowhere"); ok {
		t.Error("a node that the graph does not have has a definition")
	}
}
