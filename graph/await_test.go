package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// payment is the value of the signals in these tests.
type payment struct {
	Order string `json:"order"`
	Cents int    `json:"cents,omitempty"`
}

func paid(s *state, p payment) error {
	s.Text, s.N = s.Text+p.Order, p.Cents
	return nil
}

func sends(w *world, name, value string) error {
	return w.Try(engine.Answer{Signal: name, Value: event.Value(value)})
}

// TestAwait checks that a signal whose value matches and passes the filter is consumed, written
// into the state and stored in the outputs; a value of another type is rejected, and one that fails
// the filter is kept.
func TestAwait(t *testing.T) {
	t.Parallel()
	mine := func(v graph.View[state], p payment) bool { return p.Order == v.Text("a") }
	w := run(t,
		graph.New[state]("t").Then(fixedOutput("a", "o1")).Then(graph.Await("paid", "payment", paid).Where(mine)).
			Then(note("z")), state{})
	if waits := w.Run.Waits(); w.Run.Status() != event.StatusPaused || len(waits) != 1 || waits[0].Node != "paid" {
		t.Fatalf("%s with %+v", w.Run.Status(), waits)
	}
	for name, value := range map[string]string{"payment": `{"order":7}`, "refund": `{"order":"o1"}`} {
		if err := sends(w, name, value); !errors.Is(err, waits.ErrSignal) && !errors.Is(err, waits.ErrSignalName) {
			t.Errorf("%s of %s: %v", name, value, err)
		}
	}
	w.Crash()
	for _, value := range []string{`{"order":"o2"}`, `{"order":"o1","cents":250}`} {
		if err := sends(w, "payment", value); err != nil {
			t.Fatal(err)
		}
	}
	w.Go(nil)
	w.want("a, paid, z", "completed")
	if s := w.state(); s.Text != "o1" || s.N != 250 || len(w.Run.Signals()) != 0 &&
		string(w.Run.Signals()[0].Value) != `{"order":"o2"}` {
		t.Errorf("got %+v with %d signals kept", s, len(w.Run.Signals()))
	}
}

// TestAwait_QueuedSignals checks that signals that arrived earlier are consumed in order, including
// in a loop and in the items of a map.
func TestAwait_QueuedSignals(t *testing.T) {
	t.Parallel()
	two := func(v graph.View[state]) bool { return len(v.State.Text) >= 2 }
	w := newWorld(t, compiled(t, graph.New[state]("t").Do("s", func(context.Context, *state) error { return nil }).
		Then(graph.Loop(two, graph.Await("paid", "payment", paid))).
		Then(graph.Map("m", func(v graph.View[state]) []entry {
			return entries("x", "y")
		}, graph.Await("got", "parcel", func(e *entry, p payment) error { e.Log = []string{p.Order}; return nil })).
			AtOnce(1).Into(func(s *state, list []entry) error {
			s.Text += list[0].Log[0] + list[1].Log[0]
			return nil
		}))))
	w.StartWith(event.RunCreated{Input: event.Value(`{"n":0}`)})
	for _, s := range []string{"payment a", "payment b", "parcel c", "parcel d"} {
		name, order, _ := strings.Cut(s, " ")
		if err := sends(w, name, `{"order":"`+order+`"}`); err != nil {
			t.Fatal(err)
		}
	}
	w.Go(nil)
	if got := w.state().Text; got != "abcd" || w.Run.Status() != event.StatusCompleted {
		t.Errorf("%s with %q\n%s", w.Run.Status(), got, w.Log())
	}
}

// TestAwaitDeadline checks that at the deadline the value is the default, unfiltered, or else the
// node fails with the code deadline, which an OnError may handle.
func TestAwaitDeadline(t *testing.T) {
	t.Parallel()
	skips := graph.NodeOptions{OnError: graph.OnError(func(_ error, c *graph.Context[state]) graph.ErrorAction[state] {
		c.State.Text = "late"
		return graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &c.State}
	})}
	never := func(graph.View[state], payment) bool { return false }
	alone, handled := graph.Await("paid", "payment", paid), graph.Await("paid", "payment", paid, skips)
	alone.Deadline, handled.Deadline = time.Hour, time.Hour
	for name, c := range map[string]struct {
		node graph.Node[state]
		end  string
		text string
	}{
		"a default": {graph.Await("paid", "payment", paid).Where(never).Within(time.Hour,
			payment{Order: "{{ $input }}"}), "completed", "{{ $input }}"},
		"a failure":         {alone, `no signal "payment" before the deadline`, ""},
		"a handled failure": {handled, "completed", "late"},
		"a timeout": {graph.Await("paid", "payment", paid, graph.NodeOptions{Timeout: time.Minute}),
			`no signal "payment" before the deadline`, ""},
	} {
		w := run(t, graph.New[state]("t").Then(c.node), state{})
		if len(w.Timers) != 1 {
			t.Fatalf("%s: %d timers", name, len(w.Timers))
		}
		w.Fire(w.Timers[0].ID)
		w.Go(nil)
		w.want("paid", c.end)
		if got := w.state().Text; got != c.text {
			t.Errorf("%s: %q, want %q", name, got, c.text)
		}
	}
}

// TestAwait_AnyJSON checks that a node may accept any JSON, and that its schema may differ from
// that of its type.
func TestAwait_AnyJSON(t *testing.T) {
	t.Parallel()
	w := run(t, graph.New[state]("t").Then(graph.Await("a", "s", func(s *state, raw json.RawMessage) error {
		s.Text =
			string(raw)
		return nil
	})), state{})
	if err := sends(w, "s", `[1,{"x":null}]`); err != nil || w.state().Text != `[1,{"x":null}]` {
		t.Errorf("got %v, %q", err, w.state().Text)
	}
	c := graph.Await("a", "s", paid)
	c.Schema = graph.SchemaJSON(
		`{"type":"object","required":["order"],"properties":{"order":{"type":"string","minLength":2}}}`)
	w = run(t, graph.New[state]("t").Then(c), state{})
	if err := sends(w, "s", `{"order":"x"}`); !errors.Is(err, waits.ErrSignal) {
		t.Errorf("too short: %v", err)
	}
	if err := sends(w, "s", `{"order":"xy","more":1}`); err != nil || w.state().Text != "xy" {
		t.Errorf("got %v, %q", err, w.state().Text)
	}
}

// TestAwaitMisuse checks that invalid use is reported with the line of the call.
func TestAwaitMisuse(t *testing.T) {
	t.Parallel()
	o := graph.NodeOptions{}
	negative, endless, odd := graph.Await("a", "s", paid), graph.Await("a", "s", paid), graph.Await("a", "s", paid)
	negative.Deadline, endless.Default, odd.Schema = -1, &payment{}, graph.SchemaJSON("{")
	for want, n := range map[string]graph.Node[state]{
		"Await node \"a\": the name of its signal is \"a b\"; it must have letters, digits, `.`, `_` and `-`, " +
			"at most 64": graph.Await("a", "a b", paid),
		`Node "a": Deadline is -1ns; it must be between 0 and ` +
			`ten years`: negative,
		`Await node "a" has a Default, but no ` +
			`Deadline`: endless,
		`The Schema of await node "a" ` +
			`cannot be read`: odd,
		`Node "a" accepts at most one ` +
			`NodeOptions, not 2`: graph.Await("a", "s", paid, o, o),
		`The Schema of await node "a" cannot ` +
			`be read: `: graph.Await("a", "s", func(*state, chan int) error { return nil }),
		`Await node "a": its Default ` +
			`is no JSON`: graph.Await("a", "s", func(*state, any) error { return nil }).Within(1, any(make(chan int))),
		`Node "a" has a budget, but calls no model ` +
			`and no tool`: graph.Await("a", "s", paid, graph.NodeOptions{Budget: graph.Budget{MaxCalls: 1}}),
	} {
		_, err := graph.New[state]("t").Then(n).Compile()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "await_test.go:") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
