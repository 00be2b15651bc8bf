package run

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// shrinking fails the property under test, so that rapid looks for a smaller case.
type shrinking struct {
	testing.TB
	rt *rapid.T
}

func (s shrinking) Helper()                   {}
func (s shrinking) Fatal(args ...any)         { s.rt.Fatal(args...) }
func (s shrinking) Fatalf(f string, a ...any) { s.rt.Fatalf(f, a...) }

// retried is a random workflow whose runs fail, are cancelled or reach limits, and are retried.
type retried struct {
	*enginetest.World
	rt    *rapid.T
	shape *enginetest.Shape
	// kept holds the ids of calls whose success the run has, according to the events of its past
	// and its own.
	kept map[string]bool
	// breaks means that calls fail and the run may be cancelled; crashes means that the process
	// sometimes dies.
	breaks, crashes bool
}

func newRetried(t testing.TB, rt *rapid.T) *retried {
	s := enginetest.DrawWild(rt, 3)
	s.SetLoops(rapid.IntRange(1, 4).Draw(rt, "loops"))
	withoutFailures(s)
	g := s.Compile()
	g.Limits.MaxConcurrency = max(0, rapid.IntRange(-3, 3).Draw(rt, "concurrency"))
	g.Rules.HoldWhilePaused = rapid.IntRange(0, 3).Draw(rt, "hold") == 0
	g.Rules.OnFailure = rapid.SampledFrom([]string{"", workflow.FailDrain}).Draw(rt, "on failure")
	w := &retried{World: enginetest.New(shrinking{t, rt}, g, enginetest.Host{}), rt: rt, shape: s,
		kept: map[string]bool{}, breaks: true}
	w.crashes = rapid.IntRange(0, 2).Draw(rt, "crashes") == 0
	s.Answers(w.World)
	var l workflow.Limits
	switch rapid.IntRange(0, 5).Draw(rt, "limit") {
	case 0:
		l.MaxSteps = new(rapid.IntRange(1, 5).Draw(rt, "steps"))
	case 1:
		l.MaxTokens = int64(rapid.IntRange(1, 9).Draw(rt, "tokens"))
	}
	w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Limits: l})
	return w
}

// withoutFailures removes the failures from a shape: the test adds its own.
func withoutFailures(s *enginetest.Shape) {
	s.Fails = 0
	for _, p := range s.Parts {
		withoutFailures(p)
	}
}

// drive runs the run to its end.
func (w *retried) drive() {
	w.T.Helper()
	for n := 0; !w.Run.Status().Ended(); n++ {
		if n > 3000 {
			w.T.Fatalf("no end for %s\n%s", w.shape, w.Log())
		}
		if w.crashes && rapid.IntRange(0, 9).Draw(w.rt, "crash") == 0 {
			w.Crash()
			continue
		}
		if w.breaks && rapid.IntRange(0, 39).Draw(w.rt, "cancel") == 0 {
			w.Feed(engine.Cancel{Reason: "test"})
			continue
		}
		timers := slices.DeleteFunc(slices.Clone(w.Timers), func(t *engine.StartTimer) bool { return t.Deadline })
		waits := w.Run.Waits()
		n := len(w.Pending) + len(timers) + len(waits)
		if n == 0 {
			w.T.Fatalf("the run is %s and nothing is left to do: %s\n%s", w.Run.Status(), w.shape, w.Log())
		}
		switch i := rapid.IntRange(0, n-1).Draw(w.rt, "next"); {
		case i < len(w.Pending):
			w.answer(i)
		case i < len(w.Pending)+len(waits):
			w.Feed(enginetest.Decide(waits[i-len(w.Pending)]))
		default:
			w.Fire(timers[i-len(w.Pending)-len(waits)].ID)
		}
	}
}

func (w *retried) answer(i int) {
	w.T.Helper()
	c := w.Pending[i]
	id := engine.CallID(c)
	if w.kept[id] {
		w.T.Fatalf("call %s is made again though its success is kept: %s\n%s", id, w.shape, w.Log())
	}
	in := w.Answer(c)
	if w.breaks && !w.Cancelled[id] && rapid.IntRange(0, 5).Draw(w.rt, "fails") == 0 {
		f := &event.Failure{Code: "server", Message: "boom", Retryable: rapid.Bool().Draw(w.rt, "retryable")}
		switch in.(type) {
		case engine.ModelResult:
			in = engine.ModelResult{ID: id, Failure: f, Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}}
		case engine.ToolResult:
			in = engine.ToolResult{ID: id, Failure: f}
		case engine.FuncResult:
			in = engine.FuncResult{ID: id, Failure: f}
		}
	} else if c, ok := c.(*engine.CallTool); ok && !w.Cancelled[id] && rapid.IntRange(0, 4).Draw(w.rt, "hold") == 0 {
		if held := w.shape.Hold(w.World, c, rapid.Bool().Draw(w.rt, "question")); held != nil {
			in = *held
		}
	}
	w.Pending = slices.Delete(w.Pending, i, i+1)
	w.Feed(in)
	w.note()
}

// note collects the calls whose success is in the journal.
func (w *retried) note() {
	for id := range idsOf(w.Events) {
		w.kept[id] = true
	}
}

// idsOf returns the ids of the calls whose success is among events.
func idsOf(events []event.Event) map[string]bool {
	out := map[string]bool{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ModelReplied:
			out[callID(d.Call, d.Attempt)] = true
		case *event.ToolReturned:
			out[callID(d.Call, d.Attempt)] = true
		case *event.FuncReturned:
			if d.Error == nil {
				out[callID(d.Call, d.Attempt)] = true
			}
		}
	}
	return out
}

// retry derives a run from the ended one, as Runner.derive does, and reports whether all successful
// work parallel to the failure was kept.
func (w *retried) retry(q RetryRequest) (next *retried, whole bool) {
	w.T.Helper()
	for _, keep := range []bool{true, false} {
		past, reopen, err := q.past("run1", slices.Clone(w.Events), keep)
		if err != nil {
			w.T.Fatalf("no past: %v: %s\n%s", err, w.shape, w.Log())
		}
		q.setLimits(past, w.Plan.Workflow(), nil)
		stored.RenewTimeouts(past, w.Now)
		next := &retried{World: enginetest.New(w.T, w.Plan.Workflow(), enginetest.Host{}), rt: w.rt, shape: w.shape,
			kept: idsOf(past), crashes: w.crashes}
		r := engine.New(w.Plan, "run1")
		if q.With != nil {
			if past, err = readHistory(past).replaced(w.Plan.Workflow(), w.Plan.Workflow()); err != nil {
				w.T.Fatalf("%v: %s\n%s", err, w.shape, w.Log())
			}
			kept := past
			if past, err = stored.Redefine(r, past, w.Now); err != nil {
				past = kept
			}
			next.kept = idsOf(past)
		} else {
			err = r.Apply(past)
		}
		if err != nil {
			if keep && errors.As(err, new(*engine.DivergenceError)) {
				continue
			}
			w.T.Fatalf("the past does not fold: %v: %s\npast:\n%s\nrun:\n%s", err, w.shape, enginetest.Print(past),
				w.Log())
		}
		w.shape.Answers(next.World)
		next.Events, next.Now, next.Run = past, w.Now, r
		if reopen != nil {
			next.Feed(*reopen)
			if r.Status().Ended() {
				return next, keep
			}
		}
		if r.Status().Ended() {
			w.T.Fatalf("the past has ended: %s\npast:\n%s\nrun:\n%s", w.shape, enginetest.Print(past), w.Log())
		}
		next.Crash()
		return next, keep
	}
	panic("unreachable")
}

// TestRetryProperty checks that, whatever a workflow consists of and however a run of it ended, its
// retry with working replies ends like a run that never failed, with the same output and no more
// successful calls; that no call whose success is kept is made again; and that the laws of World
// hold from its first step on. The same holds for a retry of a retry.
func TestRetryProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newRetried(t, rt)
		w.drive()
		for again := 0; w.Run.Status() != event.StatusCompleted; again++ {
			if again > 2 {
				break
			}
			// Few passes: a sub-flow whose state holds its input and its output doubles the state
			// with each pass of an enclosing loop.
			limits := workflow.Limits{MaxSteps: new(1000 * (again + 1)), MaxTokens: int64(1_000_000 * (again + 1)),
				MaxLoopIterations: 6 + again}
			w.shape.SetLoops(limits.MaxLoopIterations)
			q := RetryRequest{Limits: limits}
			if rapid.Bool().Draw(rt, "with a document") {
				q.With = &StartRequest{}
			}
			w, _ = w.retry(q)
			w.breaks = again < 2 && rapid.Bool().Draw(rt, "breaks again")
			if !w.breaks {
				again = 3
			}
			w.drive()
		}
		w.compare()
	})
}

// TestRetryFromProperty checks that a retry from any executed step, of a run that ended in any way,
// terminates, and repeats no call whose success is kept.
func TestRetryFromProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newRetried(t, rt)
		w.drive()
		limits := workflow.Limits{MaxSteps: new(1000), MaxTokens: 1_000_000, MaxLoopIterations: 6}
		w.shape.SetLoops(limits.MaxLoopIterations)
		for range rapid.IntRange(1, 2).Draw(rt, "retries") {
			nodes := w.started()
			if len(nodes) == 0 {
				return // it ended before any step
			}
			w, _ = w.retry(RetryRequest{Limits: limits, From: rapid.SampledFrom(nodes).Draw(rt, "from")})
			w.breaks = rapid.Bool().Draw(rt, "breaks again")
			w.drive()
		}
	})
}

// started returns the nodes of the executed steps.
func (w *retried) started() []string {
	var nodes []string
	for _, e := range w.Events {
		if _, ok := e.Data.(*event.StepStarted); ok && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	return nodes
}

// compare checks a run against the result of the shape without failing calls.
func (w *retried) compare() {
	w.T.Helper()
	if w.breaks && w.Run.Status() != event.StatusCompleted {
		return
	}
	want := enginetest.Twin(w.shape, enginetest.Text("go"))
	failed, again := false, false
	agents := map[int]bool{}
	for _, e := range w.Events {
		switch d := e.Data.(type) {
		case *event.StepStarted:
			agents[e.Step] = d.Kind == workflow.KindAgent
		case *event.ToolFailed:
			failed = failed || agents[e.Step] // the failure is reported to the agent
		case *event.StepFailed:
			failed = true // a failure that the workflow handles is part of the past
		case *event.StepRetrying:
			again = again || d.Call == ""
		}
	}
	calls := len(idsOf(w.Events))
	switch got := w.Run.Status(); {
	case want.Failed:
		return // a loop runs too often
	case got != event.StatusCompleted && !failed:
		w.T.Fatalf("the retry is %s: %s\n%s", got, w.shape, w.Log())
	case failed || again:
		return
	case want.Ok && !want.Vague && expr.Text(w.Run.Output()) != expr.Text(want.Output):
		w.T.Fatalf("output %s, twin's %s: %s\n%s", w.Run.Output(), want.Output, w.shape, w.Log())
	case want.Ok && want.Calls >= 0 && calls != want.Calls:
		w.T.Fatalf("%d calls succeeded, twin made %d: %s\n%s", calls, want.Calls, w.shape, w.Log())
	}
}

// callID returns the id of a command from the call and attempt of its events.
func callID(call string, attempt int) string { return fmt.Sprintf("%s#%d", call, attempt) }
