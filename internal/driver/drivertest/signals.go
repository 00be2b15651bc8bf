package drivertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

func awaits(id, name string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{
		Kind: workflow.WaitSignal, Await: name, Filter: &workflow.Condition{Language: workflow.LangExpr,
			Text: "{{ $signal.n > 1 }}"}, Deadline: workflow.Duration(time.Hour),
	}}
}

func signal(name, value, key string) engine.Answer {
	return engine.Answer{Signal: name, Value: event.Value(value), Key: key, By: event.LocalBy("test")}
}

// testSignals checks that signals reach a run that another process drives, survive its death, in
// the order in which they arrived, and are taken once.
func testSignals(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Minute)
	}}
	owner := c.Open(t, Options{World: w})
	other := c.Open(t, Options{World: w})
	run := start(t, owner, chain(agent("a"), awaits("s", "paid"), awaits("z", "sent")))
	synctest.Wait()
	for _, a := range []engine.Answer{signal("paid", `{"n":1}`, "k1"), signal("paid", `{"n":2}`, "k2"),
		signal("paid", `{"n":3}`, ""), signal("paid", `{"n":2}`, "k2")} {
		if err := other.Answer(t.Context(), run, a); err != nil {
			t.Fatalf("signal %s through the inbox: %v", a.Value, err)
		}
	}
	for name, tt := range map[string]struct {
		signal engine.Answer
		want   error
	}{
		"of another name":      {signal("payd", `1`, ""), waits.ErrSignalName},
		"under a key that was": {signal("sent", `{"n":2}`, "k2"), waits.ErrSignal},
		"that is not JSON":     {signal("sent", `{`, ""), waits.ErrAnswer},
	} {
		if err := other.Answer(t.Context(), run, tt.signal); !errors.Is(err, tt.want) {
			t.Errorf("a signal %s through the inbox: %v, want %v", name, err, tt.want)
		}
	}
	owner.Kill()
	if err := other.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, other, run, event.StatusPaused)
	if err := other.Answer(t.Context(), run, engine.Answer{Value: text("yes")}); !errors.Is(err, waits.ErrSignalWait) {
		t.Errorf("an answer to a wait for a signal: %v, want ErrWaitSignal", err)
	}
	third := c.Open(t, Options{World: w}) // no process drives the run now
	for range 2 {
		if err := third.Answer(t.Context(), run, signal("sent", `{"n":9}`, "last")); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, c, third, run, event.StatusCompleted)
	if err := third.Answer(t.Context(), run, signal("sent", `{"n":9}`, "")); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("a signal after the end: %v, want ErrEnded", err)
	}
	var kept, taken []string
	for _, e := range c.Events(t, run) {
		switch d := e.Data.(type) {
		case *event.SignalReceived:
			if kept = append(kept, string(d.Value)); d.Key == "" {
				t.Error("a signal without a key")
			}
		case *event.WaitAnswered:
			taken = append(taken, string(d.Answer))
		}
	}
	if want := []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}; !slices.Equal(kept, want) {
		t.Errorf("the journal keeps %s, want %s", kept, want)
	}
	if want := []string{`{"n":2}`, `{"n":9}`}; !slices.Equal(taken, want) {
		t.Errorf("the steps took %s, want %s", taken, want)
	}
	closeAll(t, other, third)
}

// signalsFor returns the signals that end a wait, including an early one; nil for a wait of another
// kind.
func signalsFor(events []event.Event, id string) []engine.Answer {
	for _, e := range events {
		if d, ok := e.Data.(*event.WaitOpened); ok && d.Wait == id && d.Signal != "" {
			return []engine.Answer{signal("sent", `{"n":7}`, "early"), signal(d.Signal, `{"n":2}`, d.Signal)}
		}
	}
	return nil
}

// testSignalKills checks that each signal is kept once and taken once, whichever write a process
// dies at, before or after it. The sender repeats both signals with their keys.
func testSignalKills(t *testing.T, c Cluster) {
	flow := func() (*flow, *sim.World) {
		return chain(awaits("s", "paid"), agent("a"), awaits("z", "sent"), agent("end")), &sim.World{}
	}
	f, w := flow()
	clean, writes := drive(t, c, w, f, func(int) func(string, int) sim.Fault { return nil })
	want := outcome(clean)
	if len(want["kept"].([]string)) != 1 || len(want["taken"].([]string)) != 2 ||
		want["end"] != event.Type("run.completed") {
		t.Fatalf("%v\n%s", want, show(clean))
	}
	for how, n := range faults(c, 1, writes, sim.FaultDieBefore, sim.FaultDieAfter) {
		f, w := flow()
		c := c.Fresh(t)
		events, _ := drive(t, c, w, f, func(process int) func(string, int) sim.Fault {
			return func(_ string, k int) sim.Fault {
				if process == 0 && k == n {
					return how
				}
				return sim.FaultNone
			}
		})
		if got := outcome(events); !cmp.Equal(got, want) {
			t.Errorf("death at write %d (%v):\n%s\n%s", n, how, cmp.Diff(want, got), show(events))
		}
	}
}

// testSignalDeadlines checks that a deadline that passes while no process drives the run ends its
// wait, and that a signal sent afterwards is refused (D21).
func testSignalDeadlines(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, chain(awaits("s", "paid")))
	settle(t, c, p, run, event.StatusPaused)
	closeAll(t, p)
	time.Sleep(2 * time.Hour)
	q := c.Open(t, Options{World: &sim.World{}})
	if err := q.Answer(t.Context(), run, signal("paid", `{"n":2}`, "late")); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("a signal after the deadline that ended the run: %v, want ErrEnded", err)
	}
	settle(t, c, q, run, event.StatusFailed)
	closeAll(t, q)
}
