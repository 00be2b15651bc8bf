package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

func awaits(id, name, filter string) workflow.Node {
	n := workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitSignal, Await: name}}
	if filter != "" {
		n.Wait.Filter = &workflow.Condition{Language: workflow.LangExpr, Text: filter}
	}
	return n
}

func signal(name, value string) engine.Answer {
	return engine.Answer{Signal: name, Value: event.Value(value)}
}

// openWaits returns the nodes that wait.
func openWaits(w *enginetest.World) string {
	var out []string
	for _, x := range w.Run.Waits() {
		out = append(out, x.Node)
	}
	return strings.Join(out, " ")
}

// TestSignalFilters checks that of several steps that wait for a name, the oldest whose filter
// accepts the value takes it, even if filters refer to outputs; a filter that cannot be evaluated
// accepts nothing.
func TestSignalFilters(t *testing.T) {
	t.Parallel()
	const three = "f:a -> a; f:b -> b; f:c -> c; a -> f/join; b -> f/join; c -> f/join"
	for name, c := range map[string]struct {
		filters [3]string
		value   string
		open    string // nodes that still wait
		kept    int
	}{
		"the oldest":             {[3]string{"", "", ""}, `1`, "b c", 0},
		"the first that accepts": {[3]string{"{{ $signal.n > 3 }}", "{{ $signal.n > 2 }}", ""}, `{"n":3}`, "a c", 0},
		"none": {[3]string{"{{ $signal.n > 3 }}", "{{ $signal.n > 3 }}", "{{ $signal.n > 3 }}"},
			`{"n":3}`, "a b c", 1},
		"no such member": {[3]string{"{{ $signal.m > 3 }}", "{{ $signal == 'x' }}", "{{ $signal.n == 3 }}"},
			`{"n":3}`, "a b", 0},
		"by the input of the run": {[3]string{"{{ $signal.n == $input }}", "{{ false }}", "{{ $signal.n == 'go' }}"},
			`{"n":"go"}`, "b c", 0},
		"null": {[3]string{"{{ $signal.n == 1 }}", "{{ $signal == null }}", ""}, `null`, "a c", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a", "b", "c"),
				enginetest.In("f", awaits("a", "s", c.filters[0])), enginetest.In("f", awaits("b", "s", c.filters[1])),
				enginetest.In("f", awaits("c", "s", c.filters[2]))), three), nil)
			w.Start("go")
			w.Feed(signal("s", c.value))
			if got := openWaits(w); got != c.open || len(w.Run.Signals()) != c.kept {
				t.Errorf("%s wait, %d are kept, want %s and %d\n%s", got, len(w.Run.Signals()), c.open, c.kept, w.Log())
			}
			wantStatus(t, w, event.StatusPaused)
		})
	}
}

// TestSignals_Queued checks that signals that no step takes are kept, first in first out, across a
// crash; a step that waits later takes the oldest that it accepts.
func TestSignals_Queued(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("x", awaits("a", "s", "{{ $signal > 1 }}"), awaits("b", "s", "")), "x -> a; a -> b")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	for i := range 4 {
		w.Feed(signal("s", fmt.Sprint(i)))
	}
	w.Crash()
	w.Finish("x", enginetest.Say("x"))
	wantStatus(t, w, event.StatusCompleted)
	if got := string(w.Run.Output()); got != "0" {
		t.Errorf("b took %s, want 0, the oldest", got)
	}
	if i := slices.IndexFunc(w.Events, func(e event.Event) bool {
		a, ok := e.Data.(*event.WaitAnswered)
		return ok && string(a.Answer) == "2"
	}); i < 0 {
		t.Errorf("a did not take 2, the oldest above 1\n%s", w.Log())
	}
	w.CheckPrefixes()
}

// TestSignalsRefused checks which signals a run rejects, with nothing changed.
func TestSignalsRefused(t *testing.T) {
	t.Parallel()
	start := func() *enginetest.World {
		n := awaits("a", "s", "")
		n.Wait.Schema = event.Value(`{"type":"integer"}`)
		w := enginetest.New(t, enginetest.Graph(nodes(n, awaits("b", "later", ""), "z"), "a -> b; b -> z"), nil)
		w.Start("go")
		return w
	}
	for name, c := range map[string]struct {
		signal engine.Answer
		err    error
		text   string
	}{
		"no step waits for it": {signal("t", "1"), waits.ErrSignalName, `"t" is none of later, s`},
		"a long name":          {signal(strings.Repeat("n", 999), "1"), waits.ErrSignalName, `nn"`},
		"not JSON":             {signal("s", "{"), waits.ErrSignal, "not JSON"},
		"no value":             {signal("s", ""), waits.ErrSignal, "not JSON"},
		"not of the schema":    {signal("s", `"x"`), waits.ErrSignal, "schema"},
		"too large": {signal("later", `"`+strings.Repeat("x", waits.MaxSignalBytes)+`"`), waits.ErrSignal,
			"262146 bytes"},
		"an answer": {engine.Answer{Value: event.Value("1")}, waits.ErrSignalWait, `takes "s"`},
		"an answer by its id": {engine.Answer{Wait: "w1", Value: event.Value("1")}, waits.ErrSignalWait,
			`takes "s"`},
	} {
		w := start()
		before := w.Run.Seq()
		if err := w.Try(c.signal); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) ||
			len(err.Error()) > 300 || w.Run.Seq() != before {
			t.Errorf("%s: %v, want %v with %s and nothing changed", name, err, c.err, c.text)
		}
	}
	w := start()
	w.Feed(signal("s", `"5"`)) // a person who types 5 means the number
	if !strings.Contains(w.Log(), `"answer":5`) {
		t.Errorf("the text was not read as JSON\n%s", w.Log())
	}
	w.Feed(engine.Cancel{})
	if err := w.Try(signal("s", "1")); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("after the end: %v, want ErrEnded", err)
	}
}

// TestSignals_QueueLimit checks that kept signals are limited in number and in bytes, and that
// there is room again once a step has taken one.
func TestSignals_QueueLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		most  int
		text  string
	}{
		"number": {"1", waits.MaxKept, "100 signals at most"},
		"bytes":  {`"` + strings.Repeat("x", waits.MaxSignalBytes-10) + `"`, 4, "1048576 bytes at most"},
	} {
		w := enginetest.New(t, enginetest.Graph(nodes("x", awaits("a", "s", ""), "z"), "x -> a; a -> z"), nil)
		w.Start("go")
		for i := range c.most {
			w.Feed(engine.Answer{Signal: "s", Value: event.Value(c.value), Key: fmt.Sprint(i)})
		}
		one := engine.Answer{Signal: "s", Value: event.Value(c.value), Key: "more"}
		if err := w.Try(one); !errors.Is(err, waits.ErrSignalsFull) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want ErrSignalsFull with %q", name, err, c.text)
		}
		again := one
		again.Key = "0"
		if err := w.Try(again); err != nil {
			t.Errorf("%s: the same signal again: %v", name, err)
		}
		w.Finish("x", enginetest.Say("x"))
		if err := w.Try(one); err != nil {
			t.Errorf("%s: %v after one was taken", name, err)
		}
	}
}

// TestSignalKeys checks that two signals without a key are two signals, and that with the same key
// they are one, whether taken or kept.
func TestSignalKeys(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(awaits("a", "s", ""), awaits("b", "t", ""), "z"), "a -> b; b -> z"),
		nil)
	w.Start("go")
	first := engine.Answer{Signal: "s", Value: event.Value(`{"n": 1}`), Key: "k"}
	w.Feed(first)
	seq := w.Run.Seq()
	ended := enginetest.New(t, enginetest.Graph(nodes(awaits("a", "s", "")), ""), nil)
	ended.Start("go")
	ended.Feed(first)
	if err := ended.Try(first); err != nil {
		t.Errorf("the same signal after the end: %v, want no effect", err)
	}
	for name, c := range map[string]struct {
		signal engine.Answer
		err    error
	}{
		"the same":      {first, nil},
		"another value": {engine.Answer{Signal: "s", Value: event.Value(`2`), Key: "k"}, waits.ErrSignal},
		"another name":  {engine.Answer{Signal: "t", Value: first.Value, Key: "k"}, waits.ErrSignal},
	} {
		if err := w.Try(c.signal); !errors.Is(err, c.err) || w.Run.Seq() != seq {
			t.Errorf("%s under the key of a signal that was taken: %v, want %v", name, err, c.err)
		}
	}
	w.Feed(signal("s", "1"))
	w.Feed(signal("s", "1"))
	if n := len(w.Run.Signals()); n != 2 {
		t.Errorf("%d signals are kept, want 2", n)
	}
}

// TestSignalDeadline checks that at the deadline the output is the default, or the step fails and
// names the signal.
func TestSignalDeadline(t *testing.T) {
	t.Parallel()
	for _, fallback := range []string{"", `{"n":0}`} {
		n := awaits("a", "s", "")
		n.Wait.Deadline, n.Wait.Default = workflow.Duration(time.Hour), []byte(fallback)
		w := enginetest.New(t, enginetest.Graph(nodes(n), ""), nil)
		w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Remind: workflow.Duration(time.Minute)})
		if len(w.Timers) != 1 {
			t.Fatalf("%d timers run, want the deadline alone: the run's reminders are for people", len(w.Timers))
		}
		w.Fire(w.Timers[0].ID)
		if ok := string(w.Run.Output()) == fallback && (fallback == "") == strings.Contains(w.Log(),
			`no signal \"s\" before the deadline`); !ok {
			t.Errorf("default %q: %s with %s\n%s", fallback, w.Run.Status(), w.Run.Output(), w.Log())
		}
	}
}
