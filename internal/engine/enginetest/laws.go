package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// checkLaws checks the invariants after every activation (D1): folding the journal yields the live
// state; the open commands follow from the state and are the commands that were issued and not
// answered; no timer is lost; the sequence has no gaps; steps end once, and all of them when the
// run does (P2).
func (w *World) checkLaws() {
	w.T.Helper()
	live := State(w.Run)
	folded := w.Fold(len(w.Events))
	if got := State(folded); !bytes.Equal(got, live) {
		w.T.Fatalf("replay differs from live\nlive   %s\nreplay %s\n%s", live, got, w.Log())
	}
	if a, b := w.Run.Output(), folded.Output(); !bytes.Equal(a, b) {
		w.T.Fatalf("output of a fold differs\nlive %s\nfold %s", a, b)
	}
	w.checkStepLaws()
	w.checkOpenLaws(folded)
	w.checkStopLaws(folded)
}

// checkStopLaws checks that, after a fold, the awaited calls are the calls without a result, both
// those that were told to stop and those that were not.
func (w *World) checkStopLaws(folded *engine.Run) {
	w.T.Helper()
	if folded.Status().Ended() {
		if n := len(folded.Stopped()); n > 0 {
			w.T.Fatalf("a run that ended awaits %d calls that were told to stop\n%s", n, w.Log())
		}
		return
	}
	awaited := map[string]bool{}
	for _, c := range folded.Stopped() {
		id := engine.CallID(c)
		if awaited[id] = true; !w.Cancelled[id] {
			w.T.Fatalf("call %s was never told to stop\n%s", id, w.Log())
		}
	}
	for _, c := range folded.Unfinished() {
		awaited[engine.CallID(c)] = true
	}
	if len(awaited) != folded.InFlight() {
		w.T.Fatalf("%d calls are awaited, %d are in flight\n%s", len(awaited), folded.InFlight(), w.Log())
	}
}

// checkOpenLaws compares the commands that are open after a fold with those that were issued.
func (w *World) checkOpenLaws(folded *engine.Run) {
	w.T.Helper()
	var got, want []string
	for _, c := range folded.Open() {
		if t, ok := c.(*engine.StartTimer); ok {
			// it already took effect: the run ends once its calls have settled
			over := t.ID == "timeout" && !t.At.After(w.Now)
			if !over && !slices.ContainsFunc(w.Timers, func(x *engine.StartTimer) bool {
				// the clock may have restarted since: an early timer is issued again
				return x.ID == t.ID && (x.At.Equal(t.At) || t.ID == "timeout" && x.At.Before(t.At))
			}) {
				w.T.Fatalf("timer %s at %s is open, but was never given or has fired\n%s", t.ID, t.At, w.Log())
			}
			continue
		}
		got = append(got, Show([]engine.Command{c}))
	}
	if w.Run.Status() != event.StatusRunning {
		if len(got) > 0 {
			w.T.Fatalf("a run that is %s has open calls: %s", w.Run.Status(), got)
		}
		return
	}
	for _, c := range w.Pending {
		if !w.Cancelled[engine.CallID(c)] {
			want = append(want, Show([]engine.Command{c}))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.T.Fatalf("open commands after a fold differ from those given\nfold  %s\ngiven %s\n%s",
			strings.Join(got, "\n      "), strings.Join(want, "\n      "), w.Log())
	}
}

// checkStepLaws checks that no step continues after its end, that nothing starts in a failed branch
// or sub-flow, and that no step is left when the run has ended, unless a reopening may continue it.
func (w *World) checkStepLaws() {
	w.T.Helper()
	ended := map[int]event.Type{}
	scopes, failed := map[int]int{}, map[int]bool{}
	started := 0
	for i, e := range w.Events {
		if e.Seq != uint64(i+1) {
			w.T.Fatalf("event %d has number %d\n%s", i+1, e.Seq, w.Log())
		}
		switch d := e.Data.(type) {
		case *event.StepStarted:
			if started++; e.Step != started {
				w.T.Fatalf("event %d starts step %d, want %d\n%s", e.Seq, e.Step, started, w.Log())
			}
			if scopes[e.Step] = d.Scope; failed[d.Scope] {
				w.T.Fatalf("event %d starts a step in scope %d, which has failed\n%s", e.Seq, d.Scope, w.Log())
			}
		case *event.StepCompleted, *event.StepFailed, *event.StepCancelled, *event.StepSkipped:
			if was, ok := ended[e.Step]; ok {
				w.T.Fatalf("event %d: step %d has ended by %s before\n%s", e.Seq, e.Step, was, w.Log())
			}
			ended[e.Step] = d.Type()
			if f, ok := d.(*event.StepFailed); ok && f.Port == "" && scopes[e.Step] > 0 {
				failed[scopes[e.Step]] = true
			}
		case *event.ModelCalled, *event.ToolCalled, *event.FuncCalled, *event.StepRetrying, *event.WaitOpened,
			*event.SubagentStarted, *event.AgentHanded:
			if was, ok := ended[e.Step]; ok {
				w.T.Fatalf("event %d: step %d goes on after %s\n%s", e.Seq, e.Step, was, w.Log())
			}
		}
	}
	if w.Run.Status().Ended() && w.Run.EndedByLimit() == "" && len(ended) != started {
		w.T.Fatalf("the run is %s, but %d of %d steps have not ended\n%s", w.Run.Status(), started-len(ended), started,
			w.Log())
	}
}

// CheckPrefixes folds the journal up to the end of each activation and feeds the inputs that came
// after it again: the same events must follow (D1). Every run of the world must have started with
// Start.
func (w *World) CheckPrefixes() {
	w.T.Helper()
	for i, n := range w.Batches {
		r := w.Fold(n)
		for k := i + 1; k < len(w.Batches); k++ {
			d, err := r.Activate(w.Inputs[k])
			if err != nil {
				w.T.Fatalf("fold of %d events, then input %d: %v\n%s", n, k, err, w.Log())
			}
			want := w.Events[w.Batches[k-1]:w.Batches[k]]
			if got, want := encode(d.Events), encode(want); got != want {
				w.T.Fatalf("fold of %d events, then input %d\ngot  %s\nwant %s\n%s", n, k, got, want, w.Log())
			}
		}
	}
}

func encode(events []event.Event) string {
	if len(events) == 0 {
		return ""
	}
	b, err := json.Marshal(events)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Show formats commands by value, without their agents.
func Show(cmds []engine.Command) string {
	var b strings.Builder
	for _, c := range cmds {
		v, err := json.Marshal(deref(c))
		if err != nil {
			v = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%T%s ", c, v)
	}
	return b.String()
}

// deref returns a command by value, with its agent by id.
func deref(c engine.Command) any {
	switch c := c.(type) {
	case *engine.CallModel:
		v := *c
		v.Agent = nil
		return v
	case *engine.CallTool:
		v := *c
		v.Agent = nil
		return v
	case *engine.CallFunc:
		v := *c
		v.Outputs = engine.Outputs{}
		return struct {
			engine.CallFunc
			All map[string]event.Value
		}{v, maps.Collect(c.Outputs.All())}
	case *engine.StartTimer:
		return *c
	}
	return c
}
