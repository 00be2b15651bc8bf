package program_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	driverprogram "github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/program"
)

// TestFunctions_ArgumentsAndResults checks that every function is found by its name and receives
// what the engine knows, and that its result is returned completely (D4).
func TestFunctions_ArgumentsAndResults(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	outputs := map[string]event.Value{"b": raw("3")}
	v := engine.View{Node: "n", Input: raw("1"), State: typed.StateOf(map[string]event.Value{"a": raw("2")}, 0),
		Outputs: func() map[string]event.Value { return outputs },
		Run:     "r", Attempt: 2, Updated: time.Unix(7, 0),
		Errors: []engine.FailedAttempt{{Node: "n", Message: "m", Attempt: 1}}}
	same := func(got program.View) {
		t.Helper()
		if d := cmp.Diff(got.State.Map(), program.Fields{"a": raw("2")}); d != "" {
			t.Errorf("state: got - want +\n%s", d)
		}
		if d := cmp.Diff(got.Outputs(), map[string]program.Value{"b": raw("3")}); d != "" {
			t.Errorf("outputs: got - want +\n%s", d)
		}
		got.State, got.Outputs = nil, nil
		want := program.View{
			Node: "n", Input: raw("1"),
			Run: "r", Attempt: 2, Updated: time.Unix(7, 0),
			Errors: []program.FailedAttempt{{Node: "n", Message: "m", Attempt: 1}},
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("view: got - want +\n%s", d)
		}
	}
	wrong := program.Failure{Code: "c", Message: "m", Node: "x", Retryable: true}
	p := driverprogram.New(&program.Table{
		Conditions: map[string]func(program.View) (bool, error){"f": func(v program.View) (bool, error) {
			same(v)
			return true, nil
		}},
		Values: map[string]func(program.View) (program.Value, error){"f": func(v program.View) (program.Value, error) {
			same(v)
			return raw("4"), nil
		}},
		Merges: map[string]func(map[string]program.Value, program.View) (program.Fields, error){
			"f": func(o map[string]program.Value, v program.View) (program.Fields, error) {
				same(v)
				return program.Fields{"o": o["b"]}, nil
			}},
		Reducers: map[string]func(base, mine, theirs program.Value) (program.Value, error){
			"f": func(base, mine, theirs program.Value) (program.Value, error) {
				return raw(string(base) + string(mine) + string(theirs)), nil
			}},
		OnErrors: map[string]func(program.Failure, program.View) (program.Action, error){
			"f": func(f program.Failure, v program.View) (program.Action, error) {
				same(v)
				return program.Action{Kind: "abort", DelayMS: new(int64(5)), Update: program.Fields{"u": raw("6")},
					Failure: &f, Node: "to"}, nil
			}},
		RetryOns: map[string]func(program.Failure) (bool, error){"f": func(f program.Failure) (bool, error) {
			return f.Code == wrong.Code && f.Message == wrong.Message && f.Node == wrong.Node, nil
		}},
	})
	failure := event.Failure{Code: "c", Message: "m", Node: "x", Retryable: true}
	if ok, err := p.Condition("f", v); !ok || err != nil {
		t.Errorf("condition: %t, %v", ok, err)
	}
	if out, err := p.Value("f", v); string(out) != "4" || err != nil {
		t.Errorf("value: %s, %v", out, err)
	}
	if out, err := p.Merge("f", outputs, v); string(out["o"]) != "3" || err != nil {
		t.Errorf("merge: %s, %v", out, err)
	}
	if out, err := p.Reduce("f", raw("1"), raw("2"), raw("3")); string(out) != "123" || err != nil {
		t.Errorf("reduce: %s, %v", out, err)
	}
	want := engine.ErrorAction{Kind: "abort", DelayMS: new(int64(5)), Update: map[string]event.Value{"u": raw("6")},
		Failure: &failure, Node: "to"}
	if act, err := p.OnError("f", failure, nil, v); err != nil || cmp.Diff(act, want) != "" {
		t.Errorf("on error: %+v, %v", act, err)
	}
	if ok, err := p.RetryOn("f", failure, nil); !ok || err != nil {
		t.Errorf("retry on: %t, %v", ok, err)
	}
}

// TestUnknownNames checks that a name that the program does not have is reported as such
// everywhere.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	p := driverprogram.New(&program.Table{})
	_, e1 := p.Condition("f", engine.View{})
	_, e2 := p.Value("f", engine.View{})
	_, e3 := p.Merge("f", nil, engine.View{})
	_, e4 := p.Reduce("f", nil, nil, nil)
	_, e5 := p.OnError("f", event.Failure{}, nil, engine.View{})
	_, e6 := p.RetryOn("f", event.Failure{}, nil)
	for i, err := range []error{e1, e2, e3, e4, e5, e6} {
		if err == nil || err.Error() != `the program has no function "f"` {
			t.Errorf("%d: %v", i, err)
		}
	}
	if r := p.Call(t.Context(), "r", &engine.CallFunc{Func: "f"}, nil); r.Failure == nil || r.Failure.Code != "func" ||
		!strings.Contains(r.Failure.Message, `no function "f"`) {
		t.Errorf("call: %+v", r.Failure)
	}
}

// TestCall checks the arguments and results of node functions, and how failures and panics are
// reported.
func TestCall(t *testing.T) {
	t.Parallel()
	at := time.Unix(7, 0)
	c := &engine.CallFunc{
		Func: "f", Node: "n", Step: 2, Attempt: 3, Key: "k", Input: event.Value("1"),
		State: typed.StateOf(map[string]event.Value{"a": event.Value("2")}, 0),
		Last:  &event.Failure{Code: "c", Message: "m"}, LastOutput: event.Value("5"), Updated: at,
		Errors: []engine.FailedAttempt{{Node: "n", Message: "m", At: at, Attempt: 2}},
	}
	for name, tc := range map[string]struct {
		gives program.Result
		panic bool
		want  engine.FuncResult
	}{
		"result": {program.Result{Update: program.Fields{"a": program.Value("3")}, Output: program.Value("4"),
			Goto: []string{"x"}, Signals: []program.Signal{{Name: "s", Message: "m", Event: true, At: at}}}, false,
			engine.FuncResult{Update: map[string]event.Value{"a": event.Value("3")}, Output: event.Value("4"),
				Goto: []string{"x"}, Signals: []event.SignalRaised{{Signal: "s", Message: "m", Event: true, At: at}}}},
		"failure": {
			program.Result{Output: program.Value("4"), Failure: &program.Failure{Code: "c", Message: "m", Node: "x",
				Stack: "s"}}, false, engine.FuncResult{Output: event.Value("4"),
				Failure: &event.Failure{Code: "c", Message: "m", Node: "x", Stack: "s"}},
		},
		"failure, no code": {program.Result{Failure: &program.Failure{Message: "m"}}, false,
			engine.FuncResult{Failure: &event.Failure{Code: "func", Message: "m"}}},
		"panic": {program.Result{}, true,
			engine.FuncResult{Failure: &event.Failure{Code: "func", Message: `function "f" panicked: oops`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := driverprogram.New(&program.Table{Calls: map[string]func(context.Context, program.Call) program.Result{
				"f": func(_ context.Context, got program.Call) program.Result {
					if got.Run != "r" || got.Node != "n" || got.Step != 2 || got.Attempt != 3 || got.Key != "k" ||
						string(got.Input) != "1" || string(got.State.Get("a")) != "2" || got.Last.Message != "m" {
						t.Errorf("call %+v", got)
					}
					if string(got.LastOutput) != "5" || got.Updated != at ||
						!slices.Equal(got.Errors,
							[]program.FailedAttempt{{Node: "n", Message: "m", At: at, Attempt: 2}}) {
						t.Errorf("call %+v", got)
					}
					if _, ok := got.Outputs.Get("n"); ok {
						t.Error("an output that is not there was seen")
					}
					if tc.panic {
						panic("oops")
					}
					return tc.gives
				}}})
			if d := cmp.Diff(p.Call(t.Context(), "r", c, nil), tc.want); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}
