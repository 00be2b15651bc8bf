package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestStateFromInput checks that with typed state the fields of the run's input are the state that
// the first step sees, and that anything but an object is rejected (S2-37, D27).
func TestStateFromInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ input, n, m string }{
		"fields":    {`{"n": 1, "m": [2]}`, "1", "[2]"},
		"no fields": {`{}`, "", ""},
		"empty":     {`""`, "", ""},
		"null":      {`null`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes(funcNode("a"), funcNode("b")), "a -> b")
			g.Rules = workflow.TypedRules()
			w := enginetest.New(t, g, nil)
			w.StartWith(event.RunCreated{Input: event.Value(tc.input)})
			if got := w.Pending[0].(*engine.CallFunc).State.Map(); string(got["n"]) != tc.n ||
				string(got["m"]) != tc.m {
				t.Errorf("a sees %s", got)
			}
			w.Finish("a", update("m=3"))
			if got := w.Pending[0].(*engine.CallFunc).State.Map(); string(got["n"]) != tc.n || string(got["m"]) != "3" {
				t.Errorf("b sees %s", got)
			}
			if got := w.Run.State(); string(got["m"]) != "3" {
				t.Errorf("the run tells %s", got)
			}
			w.Crash()
			w.Finish("b", update("n=4"))
			if got := w.Run.State(); string(got["n"]) != "4" || string(got["m"]) != "3" {
				t.Errorf("the run ends with %s", got)
			}
			w.CheckPrefixes()
		})
	}
	g := enginetest.Graph(nodes(funcNode("a")), "")
	g.Rules = workflow.TypedRules()
	for _, input := range []string{`"text"`, `7`, `[1]`, `true`} {
		w := enginetest.New(t, g, nil)
		if err := w.Try(engine.Start{Created: event.RunCreated{Input: event.Value(input)}}); !errors.Is(err,
			engine.ErrState) {
			t.Errorf("input %s: %v", input, err)
		}
		if w.Run.State() != nil {
			t.Errorf("a run that did not start has the state %s", w.Run.State())
		}
	}
}

// TestQueue_Serial checks that nodes run one at a time in queue order, except that the branches of
// a fork run together; an open question holds its queue (S2-30, S2-62).
func TestQueue_Serial(t *testing.T) {
	t.Parallel()
	q := enginetest.Question("q")
	g := enginetest.Graph(nodes(funcNode("s"), funcNode("a"), funcNode("b"), funcNode("a2"), q,
		enginetest.Fork("f", workflow.Fork{}, "x", "y"),
		enginetest.In("f", funcNode("x")), enginetest.In("f", funcNode("y")), funcNode("z")),
		"s -> a; s -> b; a -> a2; b -> q; a2 -> f; f:x -> x; f:y -> y; x -> f/join; y -> f/join; f/join -> z")
	g.Rules.Serial = true
	w := enginetest.New(t, g, nil)
	w.Start("go")
	pending := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range w.Pending {
			got = append(got, c.(*engine.CallFunc).Node)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at work %v, want %v\n%s", got, want, w.Log())
		}
	}
	pending("s")
	w.Finish("s", update(""))
	pending("a")
	w.Finish("a", update(""))
	pending("b")
	w.Finish("b", update(""))
	pending("a2")
	w.Finish("a2", update(""))
	pending() // the question was first in the queue, the fork waits after it
	wantStatus(t, w, event.StatusPaused)
	w.Feed(engine.Answer{Value: enginetest.Text("yes")})
	pending("x", "y")
	w.Finish("y", update(""))
	w.Finish("x", update(""))
	pending("z")
	w.Finish("z", update(""))
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestWaitOfProgram checks that the program words a question and derives state changes from the
// answer, and that both are recorded (S2-52, D4).
func TestWaitOfProgram(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		question, prompt string
		options          []string
		fails            string
	}{
		"text":       {`"How many?"`, "How many?", nil, ""},
		"options":    {`{"prompt": "Which?", "options": ["1", "2"]}`, "Which?", []string{"1", "2"}, ""},
		"no object":  {`[1]`, "", nil, `function "word" returned no question: json: cannot unmarshal array`},
		"no answer":  {``, "", nil, `function "word" is broken`},
		"bad mapper": {`"How many?"`, "How many?", nil, `function "map" is broken`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{
				value: func(fn string, v engine.View) (event.Value, error) {
					if fn != "word" || v.Node != "q" {
						t.Errorf("%s asked for %s", fn, v.Node)
					}
					if name == "no answer" {
						return nil, errors.New(`function "word" is broken`)
					}
					return event.Value(tc.question), nil
				},
				merge: func(fn string, o map[string]event.Value, _ engine.View) (map[string]event.Value, error) {
					if fn != "map" || len(o) != 1 {
						t.Errorf("%s asked with %s", fn, o)
					}
					if name == "bad mapper" {
						return nil, errors.New(`function "map" is broken`)
					}
					return map[string]event.Value{"n": o["q"]}, nil
				},
			}
			q := enginetest.Question("q")
			q.Wait.PromptFunc, q.Wait.Mapper = "word", "map"
			w := enginetest.New(t, enginetest.Graph(nodes(q, funcNode("z")), "q -> z"), h)
			w.Start("go")
			if tc.prompt != "" {
				waits := w.Run.Waits()
				if len(waits) != 1 || waits[0].Prompt != tc.prompt || !slices.Equal(waits[0].Options, tc.options) {
					t.Fatalf("waits %+v", waits)
				}
				w.Feed(engine.Answer{Value: event.Value("2")})
			}
			if tc.fails != "" {
				if f := failure(t, w); f.Code != event.CodeFunc || len(f.Message) < len(tc.fails) ||
					f.Message[:len(tc.fails)] != tc.fails {
					t.Errorf("failure %+v", f)
				}
				return
			}
			c := w.Pending[0].(*engine.CallFunc)
			if out, _ := c.Outputs.Get("q"); string(c.State.Get("n")) != "2" || string(out) != "2" {
				t.Errorf("z sees %s, %s", c.State.Map(), out)
			}
			w.Crash()
			w.Finish("z", update(""))
			wantStatus(t, w, event.StatusCompleted)
			w.CheckPrefixes()
		})
	}
}
