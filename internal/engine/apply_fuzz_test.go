package engine_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// seeds seeds a fuzz test with bytes from which rapid draws complete cases.
func seeds(f *testing.F) {
	f.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for range 24 {
		b := make([]byte, 8192)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
}

// FuzzApply checks that folding any journal yields a *DivergenceError or a run that can be resumed.
// Nothing panics or hangs: a valid checksum does not make a journal sane.
func FuzzApply(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { applyAltered(t, rt) })(t, data)
	})
}

// TestApply_FuzzSeeds is FuzzApply with generated cases.
func TestApply_FuzzSeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { applyAltered(t, rt) })
}

func applyAltered(t *testing.T, rt *rapid.T) {
	t.Helper()
	w := randomRun(t, rt)
	j := &altered{rt: rt, events: copied(w.T, w.Events)}
	for range rapid.IntRange(1, 4).Draw(rt, "changes") {
		j.change()
	}
	r := engine.New(w.Plan, "run1")
	err := r.Apply(j.events)
	if diverged := new(engine.DivergenceError); err != nil && !errors.As(err, &diverged) {
		w.T.Fatalf("got %v, want a *DivergenceError\n%s", err, enginetest.Print(j.events))
	}
	if err != nil {
		return
	}
	parts := engine.New(w.Plan, "run1")
	for i := range j.events {
		if err := parts.Apply(j.events[i : i+1]); err != nil {
			w.T.Fatalf("event %d alone: %v\n%s", i+1, err, enginetest.Print(j.events))
		}
	}
	if got, want := enginetest.State(parts), enginetest.State(r); string(got) != string(want) {
		w.T.Fatalf("the fold event by event differs\ngot  %s\nwant %s\n%s", got, want, enginetest.Print(j.events))
	}
	resumeFolded(w, r)
}

// resumeFolded resumes a folded run as a driver would: the run may now find that nothing can
// continue, but it must not panic.
func resumeFolded(w *enginetest.World, r *engine.Run) {
	w.T.Helper()
	w.Run, w.SkipLaws, w.Pending, w.Timers, w.Cancelled = r, true, r.Open(), nil, map[string]bool{}
	r.Output()
	r.Waits()
	diverged := new(engine.DivergenceError)
	if err := w.Try(engine.Recovered{}); errors.As(err, &diverged) || errors.Is(err, engine.ErrNotStarted) {
		return
	}
	for range 60 {
		var in engine.InputData
		switch waits := r.Waits(); {
		case len(w.Pending) > 0:
			c := w.Pending[0]
			w.Pending = w.Pending[1:]
			if in = w.Answer(c); in == nil {
				continue
			}
		case len(waits) > 0 && waits[0].Kind == "approval":
			in = engine.Answer{Wait: waits[0].ID, Value: enginetest.Text("yes")}
		case len(waits) > 0:
			in = engine.Answer{Wait: waits[0].ID, Value: enginetest.Text("skip")}
		case len(w.Timers) > 0:
			w.Now = w.Timers[0].At
			in = engine.TimerDue{ID: w.Timers[0].ID}
			w.Timers = w.Timers[1:]
		default:
			in = engine.Cancel{}
		}
		if err := w.Try(in); errors.As(err, &diverged) || r.Status().Ended() {
			return
		}
	}
}

// altered is a journal that is being modified.
type altered struct {
	rt     *rapid.T
	events []event.Event
}

func (j *altered) int(name string, n int) int {
	return rapid.IntRange(0, max(0, n-1)).Draw(j.rt, name)
}

func (j *altered) change() {
	if len(j.events) == 0 {
		return
	}
	i, k := j.int("event", len(j.events)), j.int("other", len(j.events))
	switch j.int("change", 9) {
	case 0: // one event is missing
		j.events = slices.Delete(j.events, i, i+1)
	case 1: // one event is duplicated
		j.events = slices.Insert(j.events, k, j.events[i])
	case 2: // two events are swapped
		j.events[i], j.events[k] = j.events[k], j.events[i]
	case 3: // the rest is missing
		j.events = j.events[:i]
	case 4:
		j.events[i].Step = j.events[k].Step
		j.events[i].Node = j.events[k].Node
	case 5:
		j.events[i].Step = j.int("step", 12) - 2
	case 6:
		j.events[i].Node = rapid.SampledFrom([]string{"", "nowhere", j.events[k].Node}).Draw(j.rt, "node")
	default:
		j.alter(&j.events[i])
	}
	if j.int("number", 8) > 0 {
		for i := range j.events {
			j.events[i].Seq = uint64(i + 1)
		}
	}
}

// alter changes one field of an event's data.
func (j *altered) alter(ev *event.Event) {
	raw, err := json.Marshal(ev.Data)
	if err != nil {
		j.rt.Fatal(err)
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	// Fields that are omitted when empty are set too.
	for _, name := range []string{"scope", "frame", "branch", "late", "call", "held", "same", "reply", "from",
		"attempt", "toolCallId", "wait", "goto", "token", "length", "output", "detail", "key", "value"} {
		if _, ok := fields[name]; !ok && j.int("more", 12) == 0 {
			fields[name] = nil
		}
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return
	}
	name := names[j.int("field", len(names))]
	other := j.events[j.int("other data", len(j.events))]
	switch j.int("value", 6) {
	case 0:
		delete(fields, name)
	case 1:
		fields[name] = j.int("number", 14) - 2
	case 2:
		fields[name] = rapid.SampledFrom([]string{"", "x", "1", "w1", "2.0.1", "2.0", "n1", "n2", "max_steps",
			"timeout", "handoff", "error"}).Draw(j.rt, "text")
	case 3:
		fields[name] = rapid.Bool().Draw(j.rt, "bool")
	case 4:
		fields[name] = []any{j.int("first", 9), j.int("second", 9)}
	default: // the value of another event
		raw, err := json.Marshal(other.Data)
		var theirs map[string]any
		if err != nil || json.Unmarshal(raw, &theirs) != nil {
			return
		}
		fields[name] = theirs[name]
	}
	if raw, err = json.Marshal(fields); err != nil {
		j.rt.Fatal(err)
	}
	fresh, _ := engine.NewData(ev.Data.Type())
	if json.Unmarshal(raw, fresh) == nil {
		ev.Data = fresh
	}
}

// copied returns a deep copy of events.
func copied(t testing.TB, events []event.Event) []event.Event {
	t.Helper()
	out := slices.Clone(events)
	for i := range out {
		raw, err := json.Marshal(out[i].Data)
		if err != nil {
			t.Fatal(err)
		}
		fresh, _ := engine.NewData(out[i].Data.Type())
		if err := json.Unmarshal(raw, fresh); err != nil {
			t.Fatal(err)
		}
		out[i].Data = fresh
	}
	return out
}
