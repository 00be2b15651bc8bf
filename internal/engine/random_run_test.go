package engine_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// wild is a random workflow in progress: results, answers and timers arrive in any order, and it
// crashes, reaches limits and is reopened.
type wild struct {
	*enginetest.World
	rt    *rapid.T
	shape *enginetest.Shape
	// done are the results in the journal; again counts how often commands may have been issued
	// again, after a crash or a reopening.
	done map[string]bool
	// notes are the accepted notes, by step.
	notes map[int][]loop.Note
	again int
	// held is the number of calls that a person was asked about first.
	held   int
	holds  bool
	crash  bool
	limits workflow.Limits
}

// failRapid fails the property being checked, so that rapid looks for a smaller case.
type failRapid struct {
	testing.TB
	rt *rapid.T
}

func (s failRapid) Helper()                   {}
func (s failRapid) Fatal(args ...any)         { s.rt.Fatal(args...) }
func (s failRapid) Fatalf(f string, a ...any) { s.rt.Fatalf(f, a...) }

// newWild draws a workflow, applies change to it, and starts it.
func newWild(t *testing.T, rt *rapid.T, depth int, change ...func(*workflow.Workflow)) *wild {
	t.Helper()
	s := enginetest.DrawTimed(rt, depth)
	s.SetLoops(rapid.IntRange(1, 4).Draw(rt, "loops"))
	g := s.Compile()
	g.Limits.MaxConcurrency = max(0, rapid.IntRange(-3, 3).Draw(rt, "concurrency"))
	g.Rules.HoldWhilePaused = rapid.IntRange(0, 3).Draw(rt, "hold") == 0
	g.Rules.OnFailure = rapid.SampledFrom([]string{"", workflow.FailDrain}).Draw(rt, "on failure")
	for _, c := range change {
		c(g)
	}
	w := &wild{World: enginetest.New(failRapid{t, rt}, g, enginetest.Host{}), rt: rt, shape: s, done: map[string]bool{},
		notes: map[int][]loop.Note{}}
	w.SkipLaws = rapid.IntRange(0, 3).Draw(rt, "laws") > 0
	w.holds = rapid.IntRange(0, 2).Draw(rt, "holds") == 0
	w.crash = rapid.IntRange(0, 2).Draw(rt, "crashes") == 0
	switch rapid.IntRange(0, 5).Draw(rt, "limit") {
	case 0:
		w.limits.MaxSteps = new(rapid.IntRange(1, 5).Draw(rt, "steps"))
	case 1:
		w.limits.MaxTokens = int64(rapid.IntRange(1, 9).Draw(rt, "tokens"))
	case 2:
		w.limits.Timeout = workflow.Duration(rapid.IntRange(1, 20).Draw(rt, "timeout")) * workflow.Duration(time.Second)
	}
	s.Answers(w.World)
	w.Stored = rapid.Bool().Draw(rt, "stored")
	if rapid.IntRange(0, 2).Draw(rt, "cuts") == 0 {
		w.Stop = func() bool { return rapid.IntRange(0, 2).Draw(rt, "cut") == 0 }
	}
	w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Limits: w.limits})
	return w
}

// step performs one possible action. It returns false if none is left.
func (w *wild) step() bool {
	w.T.Helper()
	if limit := w.Plan.Workflow().Limits.MaxConcurrency; limit > 0 {
		busy := map[int]bool{}
		for _, c := range w.Pending {
			if !w.Cancelled[engine.CallID(c)] {
				busy[stepOf(c)] = true
			}
		}
		if len(busy) > limit {
			w.T.Fatalf("%d steps have calls out, at most %d may\n%s", len(busy), limit, w.Log())
		}
	}
	if w.Run.Status().Ended() {
		return w.reopen()
	}
	if w.crash && rapid.IntRange(0, 9).Draw(w.rt, "crash") == 0 {
		w.again++
		w.Crash()
		return true
	}
	if w.note() || w.signal() {
		return true
	}
	if w.Run.IsCut() && rapid.Bool().Draw(w.rt, "continue") {
		w.Feed(engine.Continue{})
		return true
	}
	timers := slices.DeleteFunc(slices.Clone(w.Timers), func(t *engine.StartTimer) bool {
		return t.Deadline && !strings.HasPrefix(t.ID, "timeout:")
	})
	waits := w.Run.Waits()
	slices.SortStableFunc(w.Pending, func(a, b engine.Command) int {
		return cmp.Compare(w.hangCount(a), w.hangCount(b))
	})
	pending := w.Pending
	for len(pending) > 0 && w.hangCount(pending[len(pending)-1]) > 0 {
		pending = pending[:len(pending)-1]
	}
	n := len(pending) + len(timers) + len(waits)
	switch {
	case n == 0 && w.Run.IsCut():
		w.Feed(engine.Continue{})
		return true
	case n == 0:
		return false
	}
	switch i := rapid.IntRange(0, n-1).Draw(w.rt, "next"); {
	case i < len(pending):
		w.answer(i)
	case i < len(pending)+len(waits):
		w.Feed(enginetest.Decide(waits[i-len(pending)]))
	default:
		w.Fire(timers[i-len(pending)-len(waits)].ID)
	}
	return true
}

// hangCount returns 1 for a call that is answered only once it is cancelled, 0 for all others.
func (w *wild) hangCount(c engine.Command) int {
	if w.Answer(c) == nil {
		return 1
	}
	return 0
}

func (w *wild) answer(i int) {
	w.T.Helper()
	c := w.Pending[i]
	id := engine.CallID(c)
	if w.done[id] {
		w.T.Fatalf("call %s was made again though its result is in the journal (D8)\n%s", id, w.Log())
	}
	w.done[id] = true
	if w.Calls[id] > 1+w.again {
		w.T.Fatalf("call %s was given %d times\n%s", id, w.Calls[id], w.Log())
	}
	if c, ok := c.(*engine.CallFunc); ok && !w.Cancelled[id] && !slices.EqualFunc(c.Notes, w.notes[c.Step], sameNote) {
		w.T.Fatalf("step %d was given the notes %s, want %s\n%s", c.Step, c.Notes, w.notes[c.Step], w.Log())
	}
	in := w.Answer(c)
	if res, ok := in.(engine.ModelResult); ok && w.holds && rapid.Bool().Draw(w.rt, "guard") {
		for _, tc := range engine.Delegating(c.(*engine.CallModel).Agent, res.Message) {
			res.Guarded = append(res.Guarded, tc.Name)
		}
		in = res
	}
	if c, ok := c.(*engine.CallTool); ok && w.holds && !w.Cancelled[id] && rapid.IntRange(0, 2).Draw(w.rt, "hold") > 0 {
		if held := w.shape.Hold(w.World, c, rapid.Bool().Draw(w.rt, "question") && !c.Delegates); held != nil {
			if in = *held; held.Hold.Kind == workflow.WaitApproval {
				w.held++ // it is made again
			}
		}
	}
	if res, ok := in.(engine.ToolResult); ok && res.Permitted {
		w.held++ // the twin asks nobody
	}
	w.Pending = slices.Delete(w.Pending, i, i+1)
	w.Feed(in)
}

// signal sends a signal that perhaps no step takes yet, or ever; occasionally it repeats
// one, which changes nothing.
func (w *wild) signal() bool {
	w.T.Helper()
	ids := w.shape.Signals()
	if len(ids) == 0 || len(w.Run.Signals()) > 4 || rapid.IntRange(0, 11).Draw(w.rt, "signal") > 0 {
		return false
	}
	a := enginetest.Signal(rapid.SampledFrom(ids).Draw(w.rt, "to"))
	a.Key = fmt.Sprintf("k%d", w.Run.Seq())
	w.Feed(a)
	if w.Run.Status().Ended() {
		return true
	}
	before := w.Run.Seq()
	if w.Feed(a); w.Run.Seq() != before {
		w.T.Fatalf("the same signal under the same key changed the run\n%s", w.Log())
	}
	return true
}

// reopen lets a run that was ended by a limit continue under a larger one (D20).
func (w *wild) reopen() bool {
	w.T.Helper()
	var more workflow.Limits
	switch w.Run.EndedByLimit() {
	case "":
		return false
	case event.CodeMaxSteps:
		w.limits.MaxSteps = new(*w.limits.MaxSteps + rapid.IntRange(1, 30).Draw(w.rt, "more steps"))
		more.MaxSteps = w.limits.MaxSteps
	case event.CodeBudget:
		w.limits.MaxTokens += int64(rapid.IntRange(1, 99).Draw(w.rt, "more tokens"))
		more.MaxTokens = w.limits.MaxTokens
	case event.CodeTimeout:
		w.limits.Timeout += workflow.Duration(rapid.IntRange(1, 60).Draw(w.rt, "more time")) *
			workflow.Duration(time.Second)
		more.Timeout = w.limits.Timeout
	}
	w.again++
	w.Pending, w.Timers, w.Cancelled = nil, nil, map[string]bool{}
	w.Feed(engine.Reopen{Limits: more})
	return true
}

func stepOf(c engine.Command) int {
	switch c := c.(type) {
	case *engine.CallModel:
		return c.Step
	case *engine.CallTool:
		return c.Step
	case *engine.CallFunc:
		return c.Step
	}
	return 0
}

// TestEngine_RandomWorkflows checks that whatever a workflow consists of and in whatever order
// things happen, the run ends as the twin predicts, with its output if that does not depend on the
// order (P1, P2, P5, P31, D8, D10, D12, D20); the laws of World hold throughout, and those of an
// ended run at the end.
func TestEngine_RandomWorkflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWild(t, rt, 4)
		for n := 0; w.step(); n++ {
			if n > 3000 {
				w.T.Fatalf("no end for %s\n%s", w.shape, w.Log())
			}
		}
		want := enginetest.Twin(w.shape, enginetest.Text("go"))
		got := w.Run.Status()
		switch {
		case !got.Ended():
			w.T.Fatalf("the run is %s and nothing is left to do: %s\n%s", got, w.shape, w.Log())
		case want.Failed && got != event.StatusFailed || (want.Ok || want.Ended) && got != event.StatusCompleted:
			w.T.Fatalf("the run is %s, the twin says %+v: %s\n%s", got, want, w.shape, w.Log())
		case want.Ok && !want.Vague && expr.Text(w.Run.Output()) != expr.Text(want.Output):
			w.T.Fatalf("output %s, twin's %s: %s\n%s", w.Run.Output(), want.Output, w.shape, w.Log())
		case want.Ok && want.Calls >= 0 && len(w.done)-w.held != want.Calls:
			w.T.Fatalf("made %d calls, twin made %d: %s\n%s", len(w.done), want.Calls, w.shape, w.Log())
		}
		w.checkEnded()
		w.checkPositions()
		if len(w.Batches) < 40 && w.Stop == nil {
			w.CheckPrefixes()
		}
	})
}

// checkEnded checks that an ended run takes no further step.
func (w *wild) checkEnded() {
	w.T.Helper()
	if n := len(w.Run.Waits()); n > 0 || w.Run.InFlight() > 0 {
		w.T.Fatalf("the run has ended with %d waits and %d calls\n%s", n, w.Run.InFlight(), w.Log())
	}
	before := len(w.Events)
	for id := range w.Calls {
		w.Feed(engine.ModelResult{ID: id})
		w.Feed(engine.ToolResult{ID: id})
		w.Feed(engine.FuncResult{ID: id})
	}
	for _, timer := range w.Timers {
		w.Feed(engine.TimerDue{ID: timer.ID})
	}
	if err := w.Try(engine.Recovered{}); !errors.Is(err, engine.ErrEnded) {
		w.T.Fatalf("recovered after the end: %v", err)
	}
	if err := w.Try(engine.Cancel{}); !errors.Is(err, engine.ErrEnded) {
		w.T.Fatalf("cancelled after the end: %v", err)
	}
	if len(w.Events) > before {
		w.T.Fatalf("the run has ended and goes on\n%s", w.Log())
	}
}

// checkPositions checks that folding a prefix of the journal and then the rest yields the whole
// run, wherever it is split.
func (w *wild) checkPositions() {
	w.T.Helper()
	whole := enginetest.State(w.Run)
	for range 5 {
		n := rapid.IntRange(0, len(w.Events)).Draw(w.rt, "position")
		r := w.Fold(n)
		if err := r.Apply(w.Events[n:]); err != nil {
			w.T.Fatalf("fold to %d, then the rest: %v\n%s", n, err, w.Log())
		}
		if got := enginetest.State(r); !bytes.Equal(got, whole) {
			w.T.Fatalf("fold to %d and the rest\ngot  %s\nwant %s", n, got, whole)
		}
	}
}
