package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// host is a Go program whose functions a test provides; functions not provided panic, as programs
// do.
type host struct {
	condition func(string, engine.View) (bool, error)
	value     func(string, engine.View) (event.Value, error)
	merge     func(string, map[string]event.Value, engine.View) (map[string]event.Value, error)
	reduce    func(string, event.Value, event.Value, event.Value) (event.Value, error)
	onError   func(string, event.Failure, engine.View) (engine.ErrorAction, error)
	retryOn   func(string, event.Failure) (bool, error)
}

func (h *host) Condition(name string, v engine.View) (bool, error)    { return h.condition(name, v) }
func (h *host) Value(name string, v engine.View) (event.Value, error) { return h.value(name, v) }
func (h *host) Merge(name string, o map[string]event.Value, v engine.View) (map[string]event.Value, error) {
	return h.merge(name, o, v)
}
func (h *host) Reduce(name string, base, mine, theirs event.Value) (event.Value, error) {
	return h.reduce(name, base, mine, theirs)
}
func (h *host) OnError(name string, f event.Failure, _ error, v engine.View) (engine.ErrorAction, error) {
	return h.onError(name, f, v)
}
func (h *host) RetryOn(name string, f event.Failure, _ error) (bool, error) {
	return h.retryOn(name, f)
}

func funcNode(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "do_" + id}}
}

// newFuncResult returns a function result; update is an object of changed fields.
func newFuncResult(output string, update ...string) *engine.FuncResult {
	r := &engine.FuncResult{Output: enginetest.Text(output)}
	for i := 0; i+1 < len(update); i += 2 {
		if r.Update == nil {
			r.Update = map[string]event.Value{}
		}
		r.Update[update[i]] = event.Value(update[i+1])
	}
	return r
}

func funcFails(code string) *engine.FuncResult {
	return &engine.FuncResult{Failure: &event.Failure{Code: code, Message: "no luck"}}
}

// TestOnError checks what an error handler may do, even on the first failure and without using up
// attempts; retry is limited by the policy (S2-42 to S2-44).
func TestOnError(t *testing.T) {
	t.Parallel()
	delay := int64(7000)
	for name, tc := range map[string]struct {
		act      engine.ErrorAction
		err      error
		failures int // number of failures of the function
		want     string
		message  string
	}{
		"skip": {engine.ErrorAction{Kind: "skip", Update: map[string]event.Value{"x": event.Value("1")}},
			nil, 1, "+n, .n, +next, .next, completed", ""},
		"abort": {engine.ErrorAction{Kind: "abort", Failure: &event.Failure{Code: "mine",
			Message: "my error"}}, nil, 1, "+n, !n mine, failed mine", "my error"},
		"abort as it is": {engine.ErrorAction{Kind: "abort"}, nil, 1, "+n, !n server, failed server", "no luck"},
		"goto": {engine.ErrorAction{Kind: "goto", Node: "rec"}, nil, 1, "+n, .n, +rec, .rec, completed",
			""},
		"goto elsewhere": {engine.ErrorAction{Kind: "goto", Node: "next"}, nil, 1,
			"+n, !n node_not_found, failed node_not_found", `onError goto target "next" must set isRecoveryNode: true`},
		"goto nowhere": {engine.ErrorAction{Kind: "goto", Node: "ghost"}, nil, 1,
			"+n, !n node_not_found, failed node_not_found", `onError goto target "ghost" not found in graph`},
		"retry": {engine.ErrorAction{Kind: "retry"}, nil, 1, "+n, rn, .n, +next, .next, completed", ""},
		"retry with delay": {engine.ErrorAction{Kind: "retry", DelayMS: &delay}, nil, 2,
			"+n, rn, rn, .n, +next, .next, completed", ""},
		"retry, bounded": {engine.ErrorAction{Kind: "retry"}, nil, 9, "+n, rn, rn, !n server, failed server",
			"no luck"},
		// the policy retries other failures only
		"policy decides": {engine.ErrorAction{}, nil, 1, "+n, !n server, failed server", "no luck"},
		"odd kind":       {engine.ErrorAction{Kind: "dance"}, nil, 1, "+n, !n server, failed server", "no luck"},
		"handler fails": {engine.ErrorAction{Kind: "skip"}, errors.New("handler is broken"), 1,
			"+n, !n func, failed func", "handler is broken"},
		"handler panics": {engine.ErrorAction{Kind: "panic"}, nil, 1, "+n, !n func, failed func",
			`function "handle" panicked: oops`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{onError: func(fn string, f event.Failure, v engine.View) (engine.ErrorAction, error) {
				if fn != "handle" || f.Code != "server" || f.Node != "n" || v.Node != "n" || string(v.Input) != `"go"` {
					t.Errorf("handler %s called with %+v, %+v", fn, f, v)
				}
				if tc.act.Kind == "panic" {
					panic("oops")
				}
				return tc.act, tc.err
			}}
			n := funcNode("n")
			n.OnError, n.Retry = "handle", &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(time.Second),
				On: []string{"rate limit"}}
			rec := funcNode("rec")
			rec.Recovery = true
			w := enginetest.New(t, enginetest.Graph(nodes(n, funcNode("next"), rec), "n -> next"), h)
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				if c.Node == "n" && c.Attempt <= tc.failures {
					return funcFails("server")
				}
				if want := fmt.Sprintf("run1/%d.0.1", c.Step); c.Key != want {
					t.Errorf("key %s, want %s", c.Key, want)
				}
				if c.Attempt > 1 && (c.Last == nil || c.Last.Code != "server") {
					t.Errorf("attempt %d was given %+v (S2-58)", c.Attempt, c.Last)
				}
				if name == "skip" && c.Node == "next" && string(c.State.Get("x")) != "1" {
					t.Errorf("next sees the state %s", c.State.Map())
				}
				return newFuncResult(c.Node)
			}
			w.Start("go")
			w.Go(nil)
			wantTrace(t, w, 0, tc.want)
			if tc.message != "" {
				if f := failure(t, w); f.Message != tc.message {
					t.Errorf("message %q, want %q", f.Message, tc.message)
				}
			}
			if tc.act.DelayMS != nil {
				for _, e := range w.Events {
					if d, ok := e.Data.(*event.StepRetrying); ok && d.Until.Sub(e.At) != 7*time.Second {
						t.Errorf("delay %s, want 7s", d.Until.Sub(e.At))
					}
				}
			}
			w.CheckPrefixes()
		})
	}
}

// TestOnError_RetryCall checks that a handler that retries a failed model call retries only
// that call, not the tools before it (S2-42, P12).
func TestOnError_RetryCall(t *testing.T) {
	t.Parallel()
	delay := int64(10)
	h := &host{onError: func(string, event.Failure, engine.View) (engine.ErrorAction, error) {
		return engine.ErrorAction{Kind: "retry", DelayMS: &delay}, nil
	}}
	a := enginetest.Agent("a")
	a.OnError, a.Retry = "handle", &workflow.Retry{MaxRetries: 1}
	w := enginetest.New(t, enginetest.Graph(nodes(a), ""), h)
	w.Start("go")
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "act", `{}`)))
	w.Finish("tool act", enginetest.Returns("done"))
	w.Finish("a", enginetest.Fails("server", "boom"))
	w.Fire(w.Timers[0].ID)
	if c := w.Asked("a"); c.Attempt != 2 || len(c.Messages) != 3 {
		t.Errorf("attempt %d with\n%s", c.Attempt, enginetest.Conv(c.Messages))
	}
}

// TestAttempts_UniqueCommandIDs checks that steps of tools and functions that restart as a whole
// have new attempts of the same call: no two commands share an id, and the key stays the same (P12,
// D6).
func TestAttempts_UniqueCommandIDs(t *testing.T) {
	t.Parallel()
	for _, n := range []workflow.Node{toolNode("n", "act"), funcNode("n")} {
		n.Retry = &workflow.Retry{MaxRetries: 3}
		g := enginetest.Graph(nodes(n, "z"), "n -> z")
		g.Edges[0].When = &workflow.Condition{Language: workflow.LangFunc, Func: "guard"}
		guards := 0
		h := &host{condition: func(string, engine.View) (bool, error) {
			if guards++; guards < 3 {
				return false, errors.New("not yet")
			}
			return true, nil
		}}
		w := enginetest.New(t, g, h)
		w.Model = answer
		w.Tool = func(c *engine.CallTool) *engine.ToolResult {
			if c.Attempt == 1 {
				return &engine.ToolResult{Text: "bad", IsError: true}
			}
			return enginetest.Returns("good")
		}
		w.Func = func(c *engine.CallFunc) *engine.FuncResult {
			if c.Attempt == 1 {
				return funcFails("server")
			}
			return newFuncResult("good")
		}
		w.Start("go")
		keys := map[string]bool{}
		for len(w.Pending) > 0 || len(w.Timers) > 0 && !w.Run.Status().Ended() {
			for _, c := range w.Pending {
				if c, ok := c.(*engine.CallTool); ok {
					keys[c.Key] = true
				}
			}
			w.Go(nil)
		}
		wantStatus(t, w, event.StatusCompleted)
		for id, times := range w.Calls {
			if times > 1 {
				t.Errorf("command %s was given %d times", id, times)
			}
		}
		if got := strings.Count(w.Trace(0), "rn"); got != 3 {
			t.Errorf("%d retries, want 3\n%s", got, w.Log())
		}
	}
}

// TestGoto checks that goto overrides the edges, at most once for each target; unknown targets
// beside others are skipped, and alone fail the run with the wording of the reference (S2-34,
// S2-35).
func TestGoto(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		to   []string
		want string
	}{
		"one":                 {[]string{"c"}, "+a, .a, +c, .c, completed"},
		"several":             {[]string{"c", "b", "c"}, "+a, .a, +c, +b, .c, .b, completed"},
		"one of them unknown": {[]string{"nope", "b", "nope"}, "+a, .a, +b, .b, completed"},
		"unknown":             {[]string{"nope"}, "+a, !a node_not_found, failed node_not_found"},
		"none":                {nil, "+a, .a, +b, .b, completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(nodes(funcNode("a"), funcNode("b"), funcNode("c")), "a -> b"), nil)
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				r := newFuncResult(c.Node)
				if c.Node == "a" {
					r.Goto = tc.to
				}
				return r
			}
			w.Start("go")
			w.Go(nil)
			wantTrace(t, w, 0, tc.want)
			if name == "unknown" {
				if f := failure(t, w); f.Message != `Node "nope" not found in graph` {
					t.Errorf("got %q", f.Message)
				}
			}
		})
	}
}

// TestGotoLoop checks that a node that goes to itself runs exactly five times if maxSteps is 5, and
// that the run then fails (S2-33).
func TestGotoLoop(t *testing.T) {
	t.Parallel()
	five := 5
	g := enginetest.Graph(nodes(funcNode("a")), "")
	g.Limits.MaxSteps = &five
	w := enginetest.New(t, g, nil)
	w.Func = func(*engine.CallFunc) *engine.FuncResult { return &engine.FuncResult{Goto: []string{"a"}} }
	w.Start("go")
	w.Go(nil)
	if f := failure(t, w); f.Code != event.CodeMaxSteps || len(w.Calls) != 5 {
		t.Errorf("%d calls, then %+v", len(w.Calls), f)
	}
}

// TestGotoAcrossBranches checks that a goto out of a branch fails the step and says why; otherwise
// the block would wait forever.
func TestGotoAcrossBranches(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"out of a branch": "z", "into a branch": "x",
		"to the join from outside": "f/join"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes(funcNode("s"), enginetest.Fork("f", workflow.Fork{}, "x"),
				enginetest.In("f", funcNode("x")), funcNode("z")),
				"s -> f; f:x -> x; x -> f/join; f/join -> z")
			w := enginetest.New(t, g, nil)
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				if (c.Node == "x") == (to == "z") && c.Node != "z" {
					return &engine.FuncResult{Goto: []string{to}}
				}
				return newFuncResult(c.Node)
			}
			w.Start("go")
			w.Go(nil)
			if f := failure(t, w); f.Code != event.CodeNoRoute || !strings.Contains(f.Message, "branch") {
				t.Errorf("got %+v\n%s", f, w.Log())
			}
		})
	}
}

// TestHostFunctions checks that the results of the program's functions enter the run, and that a
// panic, an error or a result that is not JSON fails the step (D4).
func TestHostFunctions(t *testing.T) {
	t.Parallel()
	agent := workflow.Node{ID: "a", Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptFunc, Text: "ask"}}}
	tool := toolNode("t", "act")
	tool.Tool.ArgsFunc = "args"
	for name, tc := range map[string]struct {
		value string
		err   error
		agent string // prompt, or the failure's message
		tool  string
	}{
		"value":      {`{"q":1}`, nil, `{"q":1}`, `{"q":1}`},
		"fails":      {``, errors.New("no"), "no", "no"},
		"panics":     {`panic`, nil, `function "ask" panicked: oops`, `function "args" panicked: oops`},
		"is no JSON": {`{`, nil, `function "ask": value is not JSON`, `function "args": value is not JSON`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{value: func(string, engine.View) (event.Value, error) {
				if tc.value == "panic" {
					panic("oops")
				}
				return event.Value(tc.value), tc.err
			}}
			for _, n := range []workflow.Node{agent, tool} {
				w := enginetest.New(t, enginetest.Graph(nodes(n), ""), h)
				w.Start("go")
				want := tc.agent
				if n.ID == "t" {
					want = tc.tool
				}
				var got string
				if w.Run.Status().Ended() {
					f := failure(t, w)
					if got = f.Message; f.Code != event.CodeFunc {
						t.Errorf("code %s", f.Code)
					}
				} else if c, ok := w.Pending[0].(*engine.CallTool); ok {
					got = string(c.Arguments)
				} else {
					got = w.Asked("a").Messages[0].Text.String()
				}
				if got != want {
					t.Errorf("%s: got %q, want %q", n.ID, got, want)
				}
			}
		})
	}
	w := enginetest.New(t, enginetest.Graph(nodes(agent), ""), nil)
	w.Start("go")
	if f := failure(t, w); f.Message != `function "ask": this workflow needs the Go program that registered it` {
		t.Errorf("without a program: %q", f.Message)
	}
}

// TestRetryOn checks that the program's predicate decides whether a failure is worth another
// attempt, and that a broken predicate means no (S2-41).
func TestRetryOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		on   func(string, event.Failure) (bool, error)
		want string
	}{
		"yes": {func(fn string, f event.Failure) (bool, error) { return fn == "worth" && f.Code == "server", nil },
			"+n, rn, !n server, failed server"},
		"no": {func(string, event.Failure) (bool, error) { return false, nil }, "+n, !n server, failed server"},
		"error": {func(string, event.Failure) (bool, error) {
			return true, errors.New("x")
		}, "+n, !n server, failed server"},
		"panics": {nil, "+n, !n server, failed server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := funcNode("n")
			n.Retry = &workflow.Retry{MaxRetries: 1, Func: "worth"}
			w := enginetest.New(t, enginetest.Graph(nodes(n), ""), &host{retryOn: tc.on})
			w.Func = func(*engine.CallFunc) *engine.FuncResult { return funcFails("server") }
			w.Start("go")
			w.Go(nil)
			wantTrace(t, w, 0, tc.want)
		})
	}
}
