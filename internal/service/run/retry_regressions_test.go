package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Cases found by TestRetryProperty, each reduced to the minimum.

// pastOf returns the past that a retry of a run keeps, and a world that continues with it.
func pastOf(t *testing.T, w *enginetest.World) ([]event.Event, *enginetest.World) {
	t.Helper()
	return pastWith(t, w, nil)
}

// pastWith is pastOf for a retry with another definition, unless with is nil.
func pastWith(t *testing.T, w *enginetest.World, with *workflow.Workflow) ([]event.Event, *enginetest.World) {
	t.Helper()
	q := &RetryRequest{}
	if with != nil {
		q.With = &StartRequest{}
	}
	past, _, err := q.past("run1", slices.Clone(w.Events), true)
	if err != nil {
		t.Fatal(err)
	}
	q.setLimits(past, w.Plan.Workflow(), nil)
	stored.RenewTimeouts(past, w.Now)
	past[0].Data.(*event.RunCreated).ForkedAt = w.Now
	next := enginetest.New(t, w.Plan.Workflow(), nil)
	if with != nil {
		if past, err = readHistory(past).replaced(w.Plan.Workflow(), with); err != nil {
			t.Fatal(err)
		}
		next = enginetest.New(t, with, nil)
		if past[0].Data.(*event.RunCreated).Digest, err = with.Digest(); err != nil {
			t.Fatal(err)
		}
		if past, err = stored.Redefine(next.Run, past, w.Now); err != nil {
			t.Fatalf("%v\n%s", err, w.Log())
		}
	}
	next.Events, next.Now = past, w.Now
	next.Crash()
	return past, next
}

// TestRetryAnswer checks that a step that was completed by a person's answer while the run was
// waiting to fail, and that led nowhere, is removed together with the answer: otherwise it would
// have neither a call nor a wait. The person is asked again.
func TestRetryAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"question": `"42"`, "skip": `"skip"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph([]workflow.Node{
				{ID: "s", Kind: workflow.KindStart},
				{ID: "ask", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "ask"}},
				enginetest.Agent("a"),
				{ID: "f", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "f"}},
				{ID: "end", Kind: workflow.KindStart},
			}, "s -> ask; s -> a; s -> f; ask -> end")
			g.Rules.OnFailure = workflow.FailDrain
			w := enginetest.New(t, g, nil)
			w.Start("go")
			if name == "skip" {
				w.Finish("ask", &engine.ToolResult{Failure: &event.Failure{Code: "unavailable", Message: "no answer"},
					Unknown: "ask"})
			} else {
				w.Finish("ask", enginetest.AsksPerson("How many?", ""))
			}
			w.Finish("a", enginetest.Fails("server", "boom"))
			w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: event.Value(answer)})
			w.Finish("f", &engine.FuncResult{Output: event.Value(`"f"`)})
			if w.Run.Status() != event.StatusFailed {
				t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
			}
			past, next := pastOf(t, w)
			if waits := next.Run.Waits(); len(waits) != 1 || waits[0].Node != "ask" {
				t.Fatalf("open waits %v, want that of ask\npast:\n%s\nrun:\n%s", waits, enginetest.Print(past), w.Log())
			}
			next.Feed(engine.Answer{Wait: next.Run.Waits()[0].ID, Value: event.Value(answer)})
			next.Finish("a", enginetest.Say("a"))
			next.Finish("f", &engine.FuncResult{Output: event.Value(`"f"`)})
			if next.Run.Status() != event.StatusCompleted {
				t.Fatalf("the retry is %s\n%s", next.Run.Status(), next.Log())
			}
		})
	}
}

// TestRetryUnknown checks that a retry asks a person again about a call whose outcome is unknown,
// even if a person has decided before that the call failed.
func TestRetryUnknown(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph([]workflow.Node{
		{ID: "pay", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "pay"}}}, ""), nil)
	w.Start("go")
	w.Finish("pay", &engine.ToolResult{Failure: &event.Failure{Code: "unavailable", Message: "no answer"},
		Unknown: "ask"})
	w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: event.Value(`"fail"`)})
	if w.Run.Status() != event.StatusFailed {
		t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
	}
	past, next := pastOf(t, w)
	if len(next.Pending) > 0 || len(next.Run.Waits()) != 1 {
		t.Fatalf("pending %s, open waits %v, want the question alone\npast:\n%s", next.PendingNodes(), next.Run.Waits(),
			enginetest.Print(past))
	}
	next.Feed(engine.Answer{Wait: next.Run.Waits()[0].ID, Value: event.Value(`"skip"`)})
	if next.Run.Status() != event.StatusCompleted {
		t.Fatalf("the retry is %s\n%s", next.Run.Status(), next.Log())
	}
}

// TestRetryHandedOver checks that a limit that handed the run over to a person did not end it: a
// retry continues after the handoff.
func TestRetryHandedOver(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]int{event.CodeMaxSteps: 2, event.CodeOscillation: 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph([]workflow.Node{enginetest.Agent("a"), enginetest.Agent("b"), enginetest.Agent("h")},
				"a -> b; b => a; h -> b")
			g.Rules.Handoff, g.Limits.MaxSteps, g.Limits.MaxLoopIterations = "h", new(steps), 100
			w := enginetest.New(t, g, nil)
			w.Start("go")
			for calls := 0; enginetest.Node(w.Pending[0]) != "h"; calls++ {
				if calls > 10 {
					t.Fatalf("no handoff\n%s", w.Log())
				}
				w.FinishAt(0, enginetest.Say("the same"))
			}
			w.Finish("h", enginetest.Fails("server", "boom"))
			if w.Run.Status() != event.StatusFailed {
				t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
			}
			past, next := pastOf(t, w)
			if got := next.PendingNodes(); got != "h" {
				t.Errorf("the retry calls %q, want h\npast:\n%s\nrun:\n%s", got, enginetest.Print(past), w.Log())
			}
		})
	}
}

// TestRetryCollected checks that the retry of a run that failed because a map collected the
// failures of its items makes only the calls that failed: whatever succeeded is kept, in the items
// that failed, in the others and in parallel branches. With a corrected document, the failed
// steps alone begin again, with its prompts and arguments.
func TestRetryCollected(t *testing.T) {
	t.Parallel()
	inMap := func(n workflow.Node) workflow.Node { return enginetest.In("m", n) }
	tool := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindTool, Parent: "m", Tool: &workflow.ToolNode{Tool: id,
			Args: []byte(`{"v":"{{ $item }}"}`)}}
	}
	agent := inMap(enginetest.Agent("w"))
	over := func(bound int, body ...workflow.Node) []workflow.Node {
		return append([]workflow.Node{{ID: "m", Kind: workflow.KindMap, Map: &workflow.Map{Entry: body[0].ID,
			Over: []byte(`["zero","one","two","three"]`), OnItemError: workflow.FailCollect,
			MaxConcurrency: bound}}}, body...)
	}
	branches := func() []workflow.Node {
		f := enginetest.Fork("f", workflow.Fork{}, "x", "y")
		for i := range f {
			f[i] = inMap(f[i])
		}
		x, y := tool("x"), tool("y")
		x.Parent, y.Parent = "f", "f"
		return append(f, x, y)
	}
	timed := tool("note")
	timed.Timeout = workflow.Duration(time.Hour)
	timedMap := func(nodes []workflow.Node) []workflow.Node {
		nodes[0].Timeout = workflow.Duration(time.Hour)
		return nodes
	}
	around := enginetest.Fork("p", workflow.Fork{}, "m", "z")
	for name, c := range map[string]struct {
		nodes []workflow.Node
		edges string
		// fail are the calls that fail, as `NODE ITEM`, and want those that the retry makes.
		fail, want string
		isError    bool
	}{
		"an agent":              {nodes: over(0, agent), fail: "w one", want: "w one"},
		"agents one by one":     {nodes: over(1, agent), fail: "w one", want: "w one"},
		"two agents":            {nodes: over(2, agent), fail: "w zero, w two", want: "w two, w zero"},
		"a tool":                {nodes: over(0, tool("t")), fail: "t one", want: "t one"},
		"a tool with its error": {nodes: over(2, tool("t")), fail: "t one", want: "t one", isError: true},
		"the second step": {nodes: over(2, tool("pay"), tool("note")), edges: "pay -> note", fail: "note one",
			want: "note one"},
		"with a timeout": {nodes: over(2, tool("pay"), timed), edges: "pay -> note", fail: "note one",
			want: "note one"},
		"in a map with a timeout": {nodes: timedMap(over(2, tool("pay"), tool("note"))), edges: "pay -> note",
			fail: "note one", want: "note one"},
		"a branch of an item": {nodes: over(0, branches()...), edges: "f:x -> x; f:y -> y; x -> f/join; y -> f/join",
			fail: "y one", want: "y one"},
		"beside a branch": {nodes: slices.Concat(around, []workflow.Node{enginetest.In("p", over(0, tool("t"))[0])},
			over(0, tool("t"))[1:], []workflow.Node{enginetest.In("p", enginetest.Agent("z"))}),
			edges: "p:m -> m; p:z -> z; m -> p/join; z -> p/join", fail: "t one, t three", want: "t one, t three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(c.nodes, c.edges), nil)
			w.Start("go")
			drive := func(w *enginetest.World, fail string) string {
				var made []string
				for len(w.Pending) > 0 || len(w.Timers) > 0 {
					if len(w.Pending) == 0 {
						w.Fire(slices.MinFunc(w.Timers, func(a, b *engine.StartTimer) int {
							return a.At.Compare(b.At)
						}).ID)
						continue
					}
					call := ""
					var ok, failure any = enginetest.Say("done"), enginetest.Fails("server", "boom")
					switch c := w.Pending[0].(type) {
					case *engine.CallModel:
						call = c.Node + " " + c.Messages[len(c.Messages)-1].Text.String()
					case *engine.CallTool:
						call = c.Node + " " + strings.Trim(strings.TrimPrefix(string(c.Arguments), `{"v":`), `"}`)
						ok, failure = enginetest.Returns(call),
							&engine.ToolResult{Failure: &event.Failure{Code: "server",
								Message: "boom"}}
					}
					made = append(made, call)
					if !slices.Contains(strings.Split(fail, ", "), call) {
						w.FinishAt(0, ok)
						continue
					}
					if c.isError {
						failure = &engine.ToolResult{Text: "boom", IsError: true}
					}
					w.FinishAt(0, failure)
				}
				slices.Sort(made)
				return strings.Join(made, ", ")
			}
			drive(w, c.fail)
			if w.Run.Status() != event.StatusFailed {
				t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
			}
			with := enginetest.Graph(slices.Clone(c.nodes), c.edges)
			for i := range with.Nodes {
				if n := &with.Nodes[i]; n.Tool != nil {
					n.Tool = &workflow.ToolNode{Tool: n.Tool.Tool, Args: []byte(`{"v":"new {{ $item }}"}`)}
				} else if n.Agent != nil && n.Parent == "m" {
					n.Agent = &workflow.AgentNode{Agent: n.Agent.Agent,
						Prompt: workflow.Prompt{Mode: workflow.PromptTemplate,
							Text: "new {{ $item }}", Expressions: true}}
				}
			}
			for _, d := range []struct {
				with *workflow.Workflow
				want string
			}{{nil, c.want}, {with, strings.NewReplacer("w ", "w new ", "t ", "t new ", "y ", "y new ", "note ",
				"note new ").Replace(c.want)}} {
				past, next := pastWith(t, w, d.with)
				if got := drive(next, ""); got != d.want {
					t.Errorf("the retry makes %s, want %s\npast:\n%s\nrun:\n%s", got, d.want, enginetest.Print(past),
						w.Log())
				}
				if next.Run.Status() != event.StatusCompleted {
					t.Errorf("the retry is %s\n%s", next.Run.Status(), next.Log())
				}
			}
		})
	}
}

// TestRetryTimeout checks that the retry of a run that failed because the timeout of a step passed
// keeps what had succeeded in the step, and that steps which have not ended have their whole time
// again, after a timeout as well as after a cancellation.
func TestRetryTimeout(t *testing.T) {
	t.Parallel()
	tool := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: id}}
	}
	hour := workflow.Duration(time.Hour)
	aMap := workflow.Node{ID: "m", Kind: workflow.KindMap, Timeout: hour, Map: &workflow.Map{Entry: "t",
		Over: []byte(`["zero","one","two"]`)}}
	fork := enginetest.Fork("m", workflow.Fork{}, "x", "t")
	fork[0].Timeout = hour
	for name, c := range map[string]struct {
		nodes   []workflow.Node
		edges   string
		pending string // what the retry calls
	}{
		"a map": {nodes: []workflow.Node{aMap, enginetest.In("m", tool("t"))}, pending: "t t"},
		"a fork": {nodes: append(fork, enginetest.In("m", tool("x")), enginetest.In("m", tool("t"))),
			edges: "m:x -> x; m:t -> t; x -> m/join; t -> m/join", pending: "t"},
	} {
		for _, cancel := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " cancelled"}[cancel], func(t *testing.T) {
				t.Parallel()
				w := enginetest.New(t, enginetest.Graph(c.nodes, c.edges), nil)
				w.Start("go")
				w.FinishAt(0, enginetest.Returns("done"))
				w.Now = w.Now.Add(50 * time.Minute)
				if cancel {
					w.Feed(engine.Cancel{})
				} else {
					w.Fire(w.Timers[0].ID)
				}
				for len(w.Pending) > 0 {
					w.FinishAt(0, enginetest.Returns("late"))
				}
				if !w.Run.Status().Ended() {
					t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
				}
				w.Now = w.Now.Add(24 * time.Hour)
				past, next := pastOf(t, w)
				if got := next.PendingNodes(); got != c.pending {
					t.Errorf("the retry calls %q, want %q\npast:\n%s\nrun:\n%s", got, c.pending,
						enginetest.Print(past), w.Log())
				}
				if len(next.Timers) != 1 || next.Timers[0].At.Sub(w.Now) != time.Hour {
					t.Errorf("the timers are %v, want one in an hour from %s", next.Timers, w.Now)
				}
				next.Feed(engine.Cancel{})
				for len(next.Pending) > 0 {
					next.FinishAt(0, enginetest.Returns("late"))
				}
				next.Now = next.Now.Add(24 * time.Hour)
				last := next
				_, next = pastOf(t, last) // a retry of the retry
				if len(next.Timers) != 1 || next.Timers[0].At.Sub(last.Now) != time.Hour {
					t.Errorf("after a second retry the timers are %+v, want one in an hour from %s", next.Timers,
						last.Now)
				}
				for len(next.Pending) > 0 {
					next.FinishAt(0, enginetest.Returns("done"))
				}
				if next.Run.Status() != event.StatusCompleted {
					t.Errorf("the retry is %s\n%s", next.Run.Status(), next.Log())
				}
			})
		}
	}
}
