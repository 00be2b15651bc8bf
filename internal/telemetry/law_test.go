package telemetry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/workflow"
)

// drawing fails the property that is being checked, so that rapid searches for a smaller case.
type drawing struct {
	testing.TB
	rt *rapid.T
}

func (d drawing) Helper()                   {}
func (d drawing) Fatal(args ...any)         { d.rt.Fatal(args...) }
func (d drawing) Fatalf(f string, a ...any) { d.rt.Fatalf(f, a...) }

// drawRun executes a random workflow to its end, with crashes, answers in any order, limits that
// end it and are raised, and cancellations.
func drawRun(t *testing.T, rt *rapid.T) *enginetest.World {
	t.Helper()
	s := enginetest.DrawWild(rt, 4)
	s.SetLoops(rapid.IntRange(1, 4).Draw(rt, "loops"))
	g := s.Compile()
	g.Limits.MaxConcurrency = max(0, rapid.IntRange(-3, 3).Draw(rt, "concurrency"))
	w := enginetest.New(drawing{t, rt}, g, enginetest.Host{})
	w.SkipLaws = true
	var limits workflow.Limits
	switch rapid.IntRange(0, 4).Draw(rt, "limit") {
	case 0:
		limits.MaxSteps = new(rapid.IntRange(1, 5).Draw(rt, "steps"))
	case 1:
		limits.Timeout = workflow.Duration(rapid.IntRange(1, 20).Draw(rt, "timeout")) *
			workflow.Duration(time.Millisecond)
	}
	cancelAt := rapid.IntRange(-60, 30).Draw(rt, "cancel at")
	s.Answers(w)
	w.StartWith(event.RunCreated{Name: "wild", Input: enginetest.Text("go"), Limits: limits})
	for n := range 3000 {
		if n == cancelAt && !w.Run.Status().Ended() {
			w.Feed(engine.Cancel{})
		}
		if !stepOn(rt, w, &limits) {
			break
		}
	}
	return w
}

func stepOn(rt *rapid.T, w *enginetest.World, limits *workflow.Limits) bool {
	if w.Run.Status().Ended() {
		switch w.Run.EndedByLimit() {
		case event.CodeMaxSteps:
			limits.MaxSteps = new(*limits.MaxSteps + rapid.IntRange(1, 30).Draw(rt, "more steps"))
		case event.CodeTimeout:
			limits.Timeout += workflow.Duration(time.Minute)
		default:
			return false
		}
		w.Pending, w.Timers, w.Cancelled = nil, nil, map[string]bool{}
		w.Feed(engine.Reopen{Limits: *limits})
		return true
	}
	if rapid.IntRange(0, 19).Draw(rt, "crash") == 0 {
		w.Crash()
		return true
	}
	timers := slices.DeleteFunc(slices.Clone(w.Timers), func(t *engine.StartTimer) bool { return t.Deadline })
	waits := w.Run.Waits()
	n := len(w.Pending) + len(timers) + len(waits)
	if n == 0 {
		return false
	}
	switch i := rapid.IntRange(0, n-1).Draw(rt, "next"); {
	case i < len(w.Pending):
		c := w.Pending[i]
		in := w.Answer(c)
		w.Pending = slices.Delete(w.Pending, i, i+1)
		w.Feed(in)
	case i < len(w.Pending)+len(waits):
		w.Feed(enginetest.Decide(waits[i-len(w.Pending)]))
	default:
		w.Fire(timers[i-len(w.Pending)-len(waits)].ID)
	}
	return true
}

// spansOf returns the spans of events, as produced by one tracer.
func spansOf(events []event.Event) []telemetry.Span {
	var out []telemetry.Span
	t := telemetry.NewTracer("run1", telemetry.TracerConfig{Emit: func(s telemetry.Span) { out = append(out, s) }})
	for _, e := range events {
		t.Add(e)
	}
	return out
}

// TestLaws checks random runs with crashes, cancellations, late answers and reopenings: all spans
// of a run are in one trace, no ID occurs twice, every parent exists and spans the time of its
// children, and every step, call and wait in the journal has its span (P35).
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawRun(t, rt)
		if !w.Run.Status().Ended() {
			rt.Fatalf("the run has not ended\n%s", w.Log())
		}
		spans := spansOf(w.Events)
		byID := map[telemetry.SpanID]*telemetry.Span{}
		count := map[telemetry.What]int{}
		for i := range spans {
			s := &spans[i]
			if s.Trace != telemetry.TraceOf("run1") {
				rt.Fatalf("%s is of another trace", s.Name)
			}
			if byID[s.ID] != nil {
				rt.Fatalf("%s and %s have one id\n%s", s.Name, byID[s.ID].Name, w.Log())
			}
			byID[s.ID] = s
			count[s.What]++
		}
		for _, s := range spans {
			if s.End.Before(s.Start) {
				rt.Fatalf("%s ends before it starts\n%s", s.Name, w.Log())
			}
			if s.What == telemetry.WhatRun {
				continue
			}
			p := byID[s.Parent]
			if p == nil {
				rt.Fatalf("%s has no parent\n%s", s.Name, w.Log())
			}
			if s.Start.Before(p.Start) || s.End.After(p.End) {
				rt.Fatalf("%s (%s to %s) does not lie within %s (%s to %s)\n%s", s.Name, s.Start, s.End, p.Name,
					p.Start, p.End, w.Log())
			}
		}
		want := map[telemetry.What]int{}
		calls := map[[2]any]bool{}
		once := func(what telemetry.What, key ...any) {
			if k := [2]any{what, [3]any(append(key, 0, 0, 0)[:3])}; !calls[k] {
				calls[k] = true
				want[what]++
			}
		}
		for _, e := range w.Events {
			switch d := e.Data.(type) {
			case *event.RunCreated:
				want[telemetry.WhatRun]++
			case *event.RunPaused:
				want[telemetry.WhatPause]++
			case *event.StepStarted:
				once(telemetry.WhatStep, e.Step)
				if d.Agent != "" {
					once(telemetry.WhatAgent, e.Step)
				}
			case *event.SubagentStarted:
				once(telemetry.WhatAgent, e.Step, d.Frame, d.Call)
			case *event.AgentHanded:
				once(telemetry.WhatAgent, e.Step, e.Seq)
			case *event.ModelCalled:
				once(telemetry.WhatModel, d.Call, d.Model)
			case *event.ToolCalled:
				once(telemetry.WhatTool, d.Call)
			case *event.FuncCalled:
				once(telemetry.WhatFunc, d.Call)
			case *event.WaitOpened:
				once(telemetry.WhatWait, d.Wait)
			}
		}
		if reopened := count[telemetry.WhatRun] > 1; reopened {
			// Work that was cut off by a limit continues after a reopening, in spans of its own.
			for what, n := range count {
				if n < want[what] {
					rt.Fatalf("%d spans of %s, want %d at least\n%s", n, what, want[what], w.Log())
				}
			}
			return
		}
		if diff := cmp.Diff(want, count); diff != "" {
			rt.Fatalf("spans (-want +got):\n%s\n%s", diff, w.Log())
		}
	})
}

// TestSpans_Deterministic checks that the same journal produces the same spans, in every process
// and wherever it is split (P35).
func TestSpans_Deterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawRun(t, rt)
		whole := spansOf(w.Events)
		at := rapid.IntRange(0, len(w.Events)).Draw(rt, "cut")
		before := spansOf(w.Events[:at])
		if diff := cmp.Diff(whole[:len(before)], before, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("a prefix of the journal gives other spans:\n%s", diff)
		}
	})
}
