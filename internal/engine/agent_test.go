package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// solo is a run of a single agent node.
func solo(t *testing.T, a workflow.Agent, change func(*workflow.Node)) *enginetest.World {
	t.Helper()
	a.ID = "a"
	n := enginetest.Agent("a")
	if change != nil {
		change(&n)
	}
	w := enginetest.New(t, enginetest.Graph(nodes(n), "", a), nil)
	w.Start("go")
	return w
}

func failure(t *testing.T, w *enginetest.World) event.Failure {
	t.Helper()
	f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
	if !ok {
		t.Fatalf("the run has not failed\n%s", w.Log())
	}
	return f.Error
}

// TestAgent_ToolResultOrder checks that the conversation is the same in whatever order the results
// of parallel tool calls arrive (P42).
func TestAgent_ToolResultOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"x", "y", "z"}, {"x", "z", "y"}, {"y", "x", "z"}, {"y", "z", "x"},
		{"z", "x", "y"}, {"z", "y", "x"}} {
		w := solo(t, workflow.Agent{}, nil)
		w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", `{"q":1}`), enginetest.Call("2", "y", `{"q":2}`),
			enginetest.Call("3", "z", `{}`)))
		if got := w.Pending[0].(*engine.CallTool); string(got.Arguments) != `{"q":1}` || got.Key != "run1/1.0.2" ||
			got.Agent.ID != "a" {
			t.Errorf("got %+v", got)
		}
		for _, tool := range order {
			if tool == "y" {
				w.Finish("tool y", &engine.ToolResult{Failure: &event.Failure{Code: "tool", Message: "y is down"}})
				continue
			}
			w.Finish("tool "+tool, &engine.ToolResult{Text: "from " + tool, IsError: tool == "z"})
		}
		want := `user: go
assistant:  [x({"q":1}) 1] [y({"q":2}) 2] [z({}) 3]
tool 1: from x
tool! 2: y is down
tool! 3: from z
`
		if got := enginetest.Conv(w.Asked("a").Messages); got != want {
			t.Errorf("order %v\n%swant\n%s", order, got, want)
		}
		w.Finish("a", enginetest.Say("end"))
		wantStatus(t, w, event.StatusCompleted)
		w.CheckPrefixes()
	}
}

// TestBadArguments checks that arguments that are not a JSON object never reach a tool: the model
// is told, and may try again.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`"{\"q\": oops"`, `[1]`, `7`, `true`} {
		w := solo(t, workflow.Agent{}, nil)
		w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", args), enginetest.Call("2", "x", `{}`)))
		if got := len(w.Pending); got != 1 {
			t.Fatalf("%d calls out, want 1", got)
		}
		w.Finish("tool x", enginetest.Returns("found"))
		got := enginetest.Conv(w.Asked("a").Messages[2:])
		if want := "tool! 1: The arguments of this call are not a JSON object. Call the tool again with a JSON " +
			"object.\ntool 2: found\n"; got != want {
			t.Errorf("%s: got\n%swant\n%s", args, got, want)
		}
	}
	w := solo(t, workflow.Agent{}, nil)
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", `"no"`)))
	w.Asked("a") // the engine answered every call: the model is called immediately
	w = solo(t, workflow.Agent{}, nil)
	w.Finish("a", enginetest.Asks(chat.ToolCall{ID: "1", Name: "x"}, enginetest.Call("2", "x", `null`)))
	if got := len(w.Pending); got != 2 {
		t.Errorf("%d calls out, want 2: no arguments are good arguments", got)
	}
}

// TestToolCallIDs checks that each call has its own arguments and result even if providers and
// scripts omit or repeat the ids of tool calls.
func TestToolCallIDs(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][]string{
		"missing":                  {"", "", ""},
		"repeated":                 {"x", "x", "x"},
		"missing and taken after":  {"", "call_1", "call_2"},
		"missing and taken before": {"call_2", "", "call_3"},
		"taken twice":              {"call_2", "call_2", "call_2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := solo(t, workflow.Agent{}, nil)
			var calls []chat.ToolCall
			for i, id := range ids {
				calls = append(calls, enginetest.Call(id, fmt.Sprintf("t%d", i), fmt.Sprintf(`{"n":%d}`, i)))
			}
			before := fmt.Sprint(calls)
			w.Finish("a", enginetest.Asks(calls...))
			if fmt.Sprint(calls) != before {
				t.Error("the input was changed")
			}
			for i := range ids {
				if got := string(w.Pending[i].(*engine.CallTool).Arguments); got != fmt.Sprintf(`{"n":%d}`, i) {
					t.Errorf("call %d has arguments %s", i, got)
				}
			}
			for i := range slices.Backward(ids) {
				w.Finish(fmt.Sprintf("tool t%d", i), enginetest.Returns(fmt.Sprintf("r%d", i)))
			}
			msgs := w.Asked("a").Messages
			seen := map[string]bool{}
			for i, m := range msgs[2:] {
				if m.Text.String() != fmt.Sprintf("r%d", i) || m.ToolCallID != msgs[1].ToolCalls[i].ID ||
					seen[m.ToolCallID] {
					t.Errorf("result %d: %+v", i, m)
				}
				seen[m.ToolCallID] = true
			}
		})
	}
}

// TestToolCallIDs_RepeatedInNextTurn checks that the same id in two turns means two calls.
func TestToolCallIDs_RepeatedInNextTurn(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{}, nil)
	for i := range 3 {
		w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", fmt.Sprintf(`{"n":%d}`, i))))
		c := w.Pending[0].(*engine.CallTool)
		if want := fmt.Sprintf(`{"n":%d}`, i); string(c.Arguments) != want {
			t.Errorf("turn %d: arguments %s, want %s", i, c.Arguments, want)
		}
		w.Crash()
		w.Finish("tool x", enginetest.Returns("ok"))
	}
}

// TestTurnLimit checks that the number of model calls is finite, even by default (S0-16, P11).
func TestTurnLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: workflow.DefaultMaxTurns, 3: 3} {
		w := solo(t, workflow.Agent{MaxTurns: limit}, nil)
		turns := 0
		w.Model = func(*engine.CallModel) *engine.ModelResult {
			turns++
			return enginetest.Asks(enginetest.Call("1", "x", fmt.Sprintf(`{"n":%d}`, turns)))
		}
		w.Tool = func(*engine.CallTool) *engine.ToolResult { return enginetest.Returns("ok") }
		w.Go(nil)
		if f := failure(t, w); turns != want || f.Code != event.CodeMaxTurns ||
			f.Message != fmt.Sprintf("agent a did not finish within %d turns", want) {
			t.Errorf("%d turns, then %+v", turns, f)
		}
	}
}

// TestNoProgress checks that N identical calls in sequence end the step with no_progress, and that
// a different call in between restarts the count (P27). The same holds for N rounds of two or three
// calls with unchanged results: a changing result may be what the agent waits for.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agent  workflow.Agent
		args   string // one letter per turn for its arguments
		moving bool   // results change
		turns  int    // turns until the step ends; 0 means it does not
	}{
		"default is five":           {workflow.Agent{}, "aaaaaaaa", false, 5},
		"whatever the results":      {workflow.Agent{}, "aaaaaaaa", true, 5},
		"as the agent says":         {workflow.Agent{NoProgress: 2}, "abbbbbbb", false, 3},
		"alternating":               {workflow.Agent{NoProgress: 2}, "ababab", false, 5},
		"alternating, default":      {workflow.Agent{}, "ababababababab", false, 11},
		"alternating for something": {workflow.Agent{NoProgress: 2}, "abababab", true, 0},
		"way out of a circle":       {workflow.Agent{NoProgress: 2}, "ababcababc", false, 0},
		"circle of three":           {workflow.Agent{NoProgress: 3}, "xabcabcabcabc", false, 11},
		"circle of four":            {workflow.Agent{NoProgress: 2}, "abcdabcdabcd", false, 0},
		"counts start anew":         {workflow.Agent{}, "aaaabaaaab", false, 0},
		"five after a new start":    {workflow.Agent{}, "aaaabaaaaa", false, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := solo(t, tc.agent, nil)
			turns := 0
			for _, letter := range tc.args {
				if w.Run.Status().Ended() {
					break
				}
				turns++
				w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", fmt.Sprintf(`{"q":"%c"}`, letter))))
				result := "same"
				if tc.moving {
					result = fmt.Sprint(turns)
				}
				if !w.Run.Status().Ended() {
					w.Finish("tool x", enginetest.Returns(result))
				}
			}
			if tc.turns == 0 {
				wantStatus(t, w, event.StatusRunning)
				return
			}
			if f := failure(t, w); f.Code != event.CodeNoProgress || turns != tc.turns {
				t.Errorf("after %d turns %+v, want %d turns", turns, f, tc.turns)
			}
		})
	}
}

// TestStructuredOutput checks that a reply that does not match the schema is corrected, a limited
// number of times, and that a matching reply is a JSON value of the declared types (P25).
func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	schema := []byte(
		`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
	zero, one := 0, 1
	for name, tc := range map[string]struct {
		repairs *int
		replies []string
		want    string // output; "" means failure
	}{
		"fits":                    {nil, []string{`{"ok":true}`}, `{"ok":true}`},
		"in a fence":              {nil, []string{"Here:\n```json\n{\"ok\": false}\n```"}, `{"ok":false}`},
		"mended once":             {nil, []string{`{"ok":"true"}`, `{"ok":true}`}, `{"ok":true}`},
		"mended twice by default": {nil, []string{`no`, `{"ok":1}`, `{"ok":true}`}, `{"ok":true}`},
		"not a third time":        {nil, []string{`no`, `no`, `no`}, ""},
		"none":                    {&zero, []string{`{}`}, ""},
		"one":                     {&one, []string{`{}`, `{}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := solo(t, workflow.Agent{Output: &workflow.Output{Schema: schema, Repairs: tc.repairs}}, nil)
			for i, text := range tc.replies {
				if i > 0 {
					msgs := w.Asked("a").Messages
					if last := msgs[len(msgs)-1]; last.Role != chat.RoleUser ||
						!strings.HasPrefix(last.Text.String(), "Your reply does not fit what was asked for: ") {
						t.Errorf("asked with %+v", last)
					}
					w.Crash()
				}
				w.Finish("a", enginetest.Say("%s", text))
			}
			if tc.want == "" {
				if f := failure(t, w); f.Code != event.CodeInvalidOutput {
					t.Errorf("got %+v", f)
				}
				return
			}
			wantStatus(t, w, event.StatusCompleted)
			if got := string(w.Run.Output()); got != tc.want {
				t.Errorf("output %s, want %s", got, tc.want)
			}
		})
	}
}

// TestReplyText checks that text is trimmed, and what replaces empty text (S0-16).
func TestReplyText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		agent       workflow.Agent
		reply, want string
	}{
		{workflow.Agent{}, " x\n", `" x\n"`},
		{workflow.Agent{Trim: true}, " x\n", `"x"`},
		{workflow.Agent{Trim: true, EmptyText: "Model returned no text output."}, " \n",
			`"Model returned no text output."`},
		{workflow.Agent{EmptyText: "nothing"}, "", `"nothing"`},
		{workflow.Agent{}, "", `""`},
	} {
		w := solo(t, tc.agent, nil)
		w.Finish("a", enginetest.Say("%s", tc.reply))
		if got := string(w.Run.Output()); got != tc.want {
			t.Errorf("%q: output %s, want %s", tc.reply, got, tc.want)
		}
	}
}

// TestRetryInsideToolLoop checks that a failed model call inside a tool loop is repeated on its
// own, without repeating a tool call (P3, P12, ADR 6).
func TestRetryInsideToolLoop(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{}, func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxRetries: 2} })
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", `{}`)))
	w.Finish("tool x", enginetest.Returns("ok"))
	before := enginetest.Conv(w.Asked("a").Messages)
	for range 2 {
		w.Finish("a", enginetest.Fails("server", "boom"))
		w.Crash()
		w.Fire("retry:1.0.3")
		if got := enginetest.Conv(w.Asked("a").Messages); got != before {
			t.Errorf("retried with\n%swant\n%s", got, before)
		}
	}
	w.Finish("a", enginetest.Say("end"))
	wantStatus(t, w, event.StatusCompleted)
	tools := 0
	for id := range w.Calls {
		if strings.HasPrefix(id, "1.0.2#") {
			tools++
		}
	}
	if tools != 1 {
		t.Errorf("the tool was called %d times", tools)
	}
}

// TestRetryOfAgentStep checks that a step that fails as a whole starts again with a new
// conversation and new calls, and that its attempts are counted together.
func TestRetryOfAgentStep(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{Output: &workflow.Output{Schema: []byte(`{"type":"object"}`), Repairs: new(int)}},
		func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxRetries: 1} })
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", `{}`)))
	w.Finish("tool x", enginetest.Returns("ok"))
	w.Finish("a", enginetest.Say("no"))
	w.Crash()
	w.Fire("retry:1")
	if c := w.Asked("a"); len(c.Messages) != 1 || c.Conversation != "1.1" {
		t.Errorf("began anew with %s in %s", enginetest.Conv(c.Messages), c.Conversation)
	}
	w.Finish("a", enginetest.Say("no"))
	if f := failure(t, w); f.Code != event.CodeInvalidOutput {
		t.Errorf("got %+v", f)
	}
}
