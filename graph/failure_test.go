package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// delays returns the waits before each retry.
func (w *world) delays() string {
	var out []string
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.StepRetrying); ok {
			out = append(out, d.Until.Sub(e.At).String())
		}
	}
	return strings.Join(out, " ")
}

// TestRetry checks how often and when a failed node is retried (S2-40, S2-41, S2-45).
func TestRetry(t *testing.T) {
	t.Parallel()
	ms := 50 * time.Millisecond
	for name, tc := range map[string]struct {
		fails  int
		retry  graph.Retry
		delays string
		end    string
	}{
		"S2-40 default": {-1, graph.Retry{}, "1s 2s", "it is broken"},
		"S2-40 second":  {1, graph.Retry{}, "1s", "completed"},
		"S2-40 50/x3":   {-1, graph.Retry{Backoff: ms, Multiplier: 3}, "50ms 150ms", "it is broken"},
		"no wait":       {-1, graph.Retry{Backoff: graph.Zero}, "0s 0s", "it is broken"},
		"one attempt":   {1, once(), "", "it is broken"},
		"more":          {4, graph.Retry{MaxAttempts: 5}, "1s 2s 4s 8s", "completed"},
		"S2-41 retryOn false": {1, graph.Retry{RetryOn: func(err error) bool { return err.Error() != "it is broken" }},
			"", "it is broken"},
		"S2-41 retryOn true": {1, graph.Retry{RetryOn: func(err error) bool { return err.Error() == "it is broken" }},
			"1s", "completed"},
		"retryOn panics": {1, graph.Retry{RetryOn: func(error) bool { panic("oops") }}, "", "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, graph.New[state]("t").Start(failingNode("a", tc.fails, graph.NodeOptions{Retry: tc.retry})),
				state{})
			w.want("a", tc.end)
			if got := w.delays(); got != tc.delays {
				t.Errorf("delays %s, want %s", got, tc.delays)
			}
		})
	}
}

// TestOnError checks what an error handler may do; it acts on the first failure (S2-42 to S2-44).
func TestOnError(t *testing.T) {
	t.Parallel()
	delay := 7 * time.Second
	for name, tc := range map[string]struct {
		act            graph.ErrorAction[state]
		fails          int
		want, end, say string // visited nodes, end, delays
		n              int
	}{
		"skip": {graph.ErrorAction[state]{Action: graph.ActionSkip}, -1, "a, z", "completed", "", 0},
		"skip with fallback": {graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &state{N: 7}}, -1, "a, z",
			"completed", "", 7},
		"abort": {graph.ErrorAction[state]{Action: graph.ActionAbort}, 1, "a", "it is broken", "", 0},
		"abort with error": {graph.ErrorAction[state]{Action: graph.ActionAbort, Err: errors.New("mine")}, 1, "a",
			"mine", "", 0},
		"S2-44 goto": {graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "rec"}, 1, "a, rec",
			"completed", "", 0},
		"S2-43 goto elsewhere": {graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "z"}, 1, "a",
			`onError goto target "z" must set isRecoveryNode: true`, "", 0},
		"S2-43 goto nowhere": {graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "x"}, 1, "a",
			`onError goto target "x" not found in graph`, "", 0},
		"retry": {graph.ErrorAction[state]{Action: graph.ActionRetry}, 2, "a, z", "completed", "1s 2s",
			0},
		"retry after": {graph.ErrorAction[state]{Action: graph.ActionRetry, Delay: delay}, 1, "a, z",
			"completed", "7s", 0},
		"retry, bounded": {graph.ErrorAction[state]{Action: graph.ActionRetry}, -1, "a", "it is broken", "1s 2s",
			0},
		"the policy decides": {graph.ErrorAction[state]{}, 1, "a, z", "completed", "1s", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := graph.NodeOptions{
				OnError: graph.OnError(func(err error, c *graph.Context[state]) graph.ErrorAction[state] {
					var node *graph.NodeExecutionError
					if err.Error() != "it is broken" || !errors.As(err, &node) || node.NodeID != "a" ||
						c.NodeID != "a" ||
						c.State.Text != "first" {
						t.Errorf("handler got %v of %s with %+v", err, c.NodeID, c.State)
					}
					if tc.act.Fallback != nil {
						c.State.N = tc.act.Fallback.N
						return graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &c.State}
					}
					return tc.act
				})}
			w := run(t, graph.New[state]("t").Start(failingNode("a", tc.fails, opts)).Then(nothing("z")).Node(
				nothing("rec", graph.NodeOptions{Recovery: true})), state{Text: "first"})
			w.want(tc.want, tc.end)
			if got := w.delays(); got != tc.say {
				t.Errorf("delays %s, want %s", got, tc.say)
			}
			if got := w.state(); got.N != tc.n || got.Text != "first" {
				t.Errorf("state %+v", got)
			}
		})
	}
}

// TestCatch checks that the handler of Catch runs once on a failure that nothing else handled, and
// that the run still fails unless the handler continues elsewhere (S2-7).
func TestCatch(t *testing.T) {
	t.Parallel()
	opts := graph.NodeOptions{Retry: once()}
	seen := func(t *testing.T, node string, to ...string) graph.Node[state] {
		return graph.NewNode("h", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				if f := c.Feedback; f == nil || f.FailedNodeID != node || f.ErrorMessage != "it is broken" ||
					f.ErrorType != "func" || f.Attempt != 1 || f.MaxAttempts != 1 {
					t.Errorf("the handler was told %+v", c.Feedback)
				}
				c.State.Log = append(c.State.Log, "handled")
				return graph.Result[state]{Update: &c.State, Goto: to}, nil
			})
	}
	for name, tc := range map[string]struct {
		graph     func(t *testing.T) *graph.Builder[state]
		want, end string
		log       int
	}{
		"stays failed": {func(t *testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Start(failingNode("a", -1, opts)).Then(note("z")).Catch(seen(t, "a"))
		}, "a, h", "it is broken", 1},
		"goes on": {func(t *testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Start(failingNode("a", -1, opts)).Then(nothing("z")).Catch(seen(t, "a", "z"))
		}, "a, h, z", "completed", 1},
		"no failure": {func(t *testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Start(nothing("a")).Then(nothing("z")).Catch(seen(t, "a"))
		}, "a, z", "completed", 0},
		"in a branch": {func(t *testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"b"}}).Then(
				nothing("z")).Node(failingNode("b", -1, opts)).Catch(seen(t, "b"))
		}, "parallel_1, b, h", "it is broken", 1},
		"handled by onError": {func(t *testing.T) *graph.Builder[state] {
			skip := graph.NodeOptions{
				OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
					return graph.ErrorAction[state]{Action: graph.ActionSkip}
				})}
			return graph.New[state]("t").Start(failingNode("a", -1, skip)).Then(nothing("z")).Catch(seen(t, "a"))
		}, "a, z", "completed", 0},
		"handler fails": {func(*testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Start(graph.Do("a", func(context.Context, *state) error {
				return errors.New("first")
			}, opts)).Catch(failingNode("h", -1, opts))
		}, "a, h", "first (and the error handler failed: it is broken)", 0},
		"condition panics": {func(*testing.T) *graph.Builder[state] {
			return graph.New[state]("t").Start(nothing("a")).If(func(graph.View[state]) bool { panic("oops") }).EndIf().
				Catch(nothing("h"))
		}, "a, decision_1, h", `function "decision_1/if" panicked: oops`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, tc.graph(t), state{})
			w.want(tc.want, tc.end)
			if got := w.state(); len(got.Log) != tc.log {
				t.Errorf("state %+v", got)
			}
		})
	}
}

// TestErrorFeedback checks that an attempt is told why the previous one failed (S2-58, S2-78).
func TestErrorFeedback(t *testing.T) {
	t.Parallel()
	var got []*graph.ErrorFeedback
	keys := map[string]bool{}
	w := run(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			got = append(got, c.Feedback)
			keys[c.Key] = true
			switch c.Attempt {
			case 1:
				return graph.Result[state]{}, &graph.NodeExecutionError{NodeID: "a", Cause: errBroken}
			case 2:
				return graph.Result[state]{}, &graph.SchemaValidationError{Message: "odd"}
			}
			return graph.Result[state]{}, nil
		})), state{})
	w.want("a", "completed")
	want := []*graph.ErrorFeedback{
		nil, {FailedNodeID: "a", ErrorMessage: "it is broken", ErrorType: "node_execution", Attempt: 1, MaxAttempts: 3},
		{FailedNodeID: "a", ErrorMessage: "odd", ErrorType: "schema_validation", Attempt: 2, MaxAttempts: 3},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if len(keys) != 1 || !keys["run1/1.0.1"] {
		t.Errorf("keys %v", keys)
	}
	if err := error(&graph.NodeExecutionError{Cause: errBroken}); !errors.Is(err, errBroken) {
		t.Error("the cause is lost")
	}
}

// TestSchemas checks that states are validated before and after each attempt, and that an invalid
// state is not merged, and the attempt is retried (S2-45, S2-61).
func TestSchemas(t *testing.T) {
	t.Parallel()
	small := graph.SchemaJSON(`{"properties": {"n": {"maximum": 3}}}`)
	text := graph.SchemaJSON(`{"properties": {"counter": {"minLength": 1}}, "required": ["counter"]}`)
	for name, tc := range map[string]struct {
		opts   graph.NodeOptions
		config graph.Config
		first  state
		end    string
		code   string
	}{
		"input": {graph.NodeOptions{InputSchema: text}, graph.Config{}, state{},
			`Node "a" input validation failed: `, "schema_validation"},
		"input fits": {graph.NodeOptions{InputSchema: text}, graph.Config{}, state{Counter: "x"}, "completed", ""},
		"output": {graph.NodeOptions{OutputSchema: small}, graph.Config{}, state{N: 3},
			`Node "a" output validation failed: n: `, "schema_validation"},
		"output fits": {graph.NodeOptions{OutputSchema: small}, graph.Config{}, state{N: 2}, "completed", ""},
		"of the graph": {graph.NodeOptions{}, graph.Config{OutputSchema: small}, state{N: 3},
			`Graph state validation failed: n: `, "schema_validation"},
		"of the type": {graph.NodeOptions{InputSchema: graph.SchemaOf[state](),
			OutputSchema: graph.SchemaOf[state]()}, graph.Config{}, state{}, "completed", ""},
		"of other type": {graph.NodeOptions{InputSchema: graph.SchemaOf[struct{ X int }]()}, graph.Config{}, state{},
			`Node "a" input validation failed: `, "schema_validation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
				s.N++
				return nil
			}, tc.opts)), tc.first, tc.config)
			f, failed := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
			switch {
			case !failed && tc.code != "":
				t.Fatalf("not failed\n%s", w.Log())
			case failed && (f.Error.Code != tc.code || !strings.HasPrefix(f.Error.Message, tc.end)):
				t.Errorf("failure %+v, want %s", f.Error, tc.end)
			case failed && (w.delays() != "1s 2s" || w.state().N != tc.first.N):
				t.Errorf("delays %s, state %+v", w.delays(), w.state())
			case !failed && w.state().N != tc.first.N+1:
				t.Errorf("state %+v", w.state())
			}
		})
	}
	if !strings.Contains(small.String(), "maximum") || graph.SchemaJSON("{").String() != "" {
		t.Errorf("schemas print as %q", small)
	}
}

// TestTool checks that a tool that takes too long fails, even if it ignores its context (S2-46).
func TestTool(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	type tool = graph.ToolConfig[state, int, string]
	answer := func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }
	one := graph.NodeOptions{Retry: once()}
	for name, tc := range map[string]struct {
		tool tool
		end  string
		text string
		out  string
	}{
		"static": {tool{ID: "x", Args: 2, Execute: answer}, "completed", "", `"xx"`},
		"of state": {tool{ID: "x", ArgsFunc: func(v graph.View[state]) int { return v.State.N }, Execute: answer,
			Output: func(s *state, r string) error { s.Text = r; return nil }}, "completed", "xxx", ""},
		"bad mapper": {tool{ID: "x", Execute: answer, Options: one, Output: func(*state, string) error {
			return errBroken
		}}, "it is broken", "", ""},
		"fails": {tool{ID: "x", Execute: func(context.Context, int) (string, error) { return "", errBroken },
			Options: one}, "it is broken", "", ""},
		"panics": {tool{ID: "x", ToolName: "hammer", Execute: func(context.Context, int) (string, error) {
			panic("oops")
		}, Options: one}, `tool "hammer" panicked: oops`, "", ""},
		"stops late": {tool{ID: "x", ToolName: "hammer", Timeout: time.Millisecond, Options: one,
			Execute: func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
			`Tool "hammer" timed out after 1ms`, "", ""},
		"never stops": {tool{ID: "x", Timeout: 2 * time.Millisecond, Options: one, Execute: func(context.Context,
			int) (string, error) {
			<-release
			return "", nil
		}}, `Tool "x" timed out after 2ms`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out string
			w := run(t, graph.New[state]("t").Tool(tc.tool).Then(graph.NewNode("z", graph.TypeTool,
				func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					v, _ := c.Output("x")
					out = string(v)
					return graph.Result[state]{}, nil
				})), state{N: 3})
			visited := "x, z"
			if tc.end != "completed" {
				visited = "x"
			}
			w.want(visited, tc.end)
			if w.state().Text != tc.text || out != tc.out {
				t.Errorf("text %q, output %s", w.state().Text, out)
			}
		})
	}
}

// TestBadFunctions checks that anything a function does wrong is a failure of its node and nothing
// more.
func TestBadFunctions(t *testing.T) {
	t.Parallel()
	one := graph.NodeOptions{Retry: once()}
	gives := func(r graph.Result[state]) graph.Node[state] {
		return graph.NewNode("a", graph.TypeTool,
			func(context.Context, *graph.Context[state]) (graph.Result[state], error) { return r, nil }, one)
	}
	for name, tc := range map[string]struct {
		node graph.Node[state]
		want string
	}{
		"panic": {graph.Do("a", func(context.Context, *state) error { panic("oops") }, one),
			`node "a" panicked: oops`},
		"bad output": {gives(graph.Result[state]{Output: func() {}}), "encode output: json: unsupported type: func()"},
		"bad signal": {
			gives(graph.Result[state]{Signals: []graph.Signal{{Type: "s", Data: map[string]any{"x": make(chan int)}}}}),
			"encode signal s: json: unsupported type: chan int",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, graph.New[state]("t").Start(tc.node), state{}).want("a", tc.want)
		})
	}
	t.Run("state of another form", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t,
			compiled(t,
				graph.New[state]("t").Start(graph.Do("a", func(context.Context, *state) error { return nil }, one))))
		w.StartWith(event.RunCreated{Input: event.Value(`{"n": "many"}`)})
		w.Go(nil)
		f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
		if !ok || !strings.HasPrefix(f.Error.Message, "decode state: ") {
			t.Errorf("%+v\n%s", f, w.Log())
		}
	})
}

// TestClearContext checks that clear-context requests that the window be cleared (S2-69).
func TestClearContext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node      graph.ClearContextConfig[state]
		config    graph.Config
		want      string
		threshold string
	}{
		"default": {graph.ClearContextConfig[state]{ID: "c"}, graph.Config{}, "Clearing context window", "60"},
		"own threshold": {graph.ClearContextConfig[state]{ID: "c"}, graph.Config{ContextWindowThreshold: 70},
			"Clearing context window", "70"},
		"message": {graph.ClearContextConfig[state]{ID: "c", Message: "Enough"}, graph.Config{}, "Enough", "60"},
		"of state": {graph.ClearContextConfig[state]{ID: "c", Message: "Enough",
			MessageFunc: func(v graph.View[state]) string { return fmt.Sprint(v.State.N) }}, graph.Config{}, "4", "60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, graph.New[state]("t").Start(tc.node), tc.config)
			if n, _ := compat.Node(g, "c"); n.Name != "clear-context" || n.Type != graph.TypeTool {
				t.Errorf("node %+v", n)
			}
			w := newWorld(t, g)
			w.begin(state{N: 4})
			var got []event.SignalRaised
			for _, e := range w.Events {
				if d, ok := e.Data.(*event.SignalRaised); ok {
					got = append(got, *d)
				}
			}
			want := []event.SignalRaised{
				{Signal: "context_window_warning", Message: tc.want, Data: map[string]event.Value{
					"usage": event.Value("100"), "threshold": event.Value(tc.threshold),
					"nodeId": event.Value(`"c"`),
					"action": event.Value(`"summarize"`),
				}}}
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

// pressError is an error type defined by the program.
type pressError struct{ sheet int }

func (e *pressError) Error() string { return fmt.Sprintf("sheet %d is stuck", e.sheet) }

// TestRetryOn_ProgramErrors checks that predicates and handlers find the program's own errors with
// errors.Is and errors.As, at each attempt (S2-41, S2-42).
func TestRetryOn_ProgramErrors(t *testing.T) {
	t.Parallel()
	fails := func(opts graph.NodeOptions) graph.Node[state] {
		return graph.NewNode("press", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				return graph.Result[state]{}, fmt.Errorf("print: %w", errors.Join(errBroken, &pressError{c.Attempt}))
			}, opts)
	}
	sheet := func(err error) int {
		var own *pressError
		if !errors.Is(err, errBroken) || !errors.As(err, &own) {
			t.Errorf("%v (%T) holds none of the program's errors", err, err)
			return 0
		}
		return own.sheet
	}
	b := graph.New[state]("own").Start(
		fails(graph.NodeOptions{Retry: graph.Retry{RetryOn: func(err error) bool { return sheet(err) < 2 }}}))
	run(t, b, state{}).want("press", "print: it is broken\nsheet 2 is stuck")
	b = graph.New[state]("own").Start(
		fails(graph.NodeOptions{
			OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
				if sheet(err) != 1 {
					return graph.ErrorAction[state]{}
				}
				return graph.ErrorAction[state]{Action: graph.ActionSkip}
			})}))
	run(t, b, state{}).want("press", "completed")
}

// TestCatch_GotoWithoutFailure checks that a goto to the error handler without a failure is a
// failure that says so (S2-7).
func TestCatch_GotoWithoutFailure(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("odd").Start(gotoNode("first", "handler")).Catch(note("handler"))
	w := run(t, b, state{})
	w.want("first, handler", "the error handler was reached by a goto, without a failure to handle")
}
