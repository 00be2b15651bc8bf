package oteltrack_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/oteltrack"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }

// recorder returns a tracker whose spans are recorded.
func recorder(t *testing.T) (*oteltrack.Tracker, *sdk.TracerProvider, *tracetest.InMemoryExporter) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return oteltrack.New(oteltrack.Config{Provider: provider}), provider, exporter
}

// tree prints spans by start time, each below its parent: name, start and end in seconds after
// noon, status, events.
func tree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var below func(parent trace.SpanID, depth int)
	below = func(parent trace.SpanID, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %.0f-%.0f", strings.Repeat("  ", depth), s.Name, s.StartTime.Sub(noon).Seconds(),
				s.EndTime.Sub(noon).Seconds())
			for _, a := range s.Attributes {
				if a.Key == oteltrack.StatusKey {
					b.WriteString(" " + a.Value.AsString())
				}
			}
			if s.Status.Description != "" {
				b.WriteString(" (" + s.Status.Description + ")")
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, " %s at %.0f", e.Name, e.Time.Sub(noon).Seconds())
			}
			b.WriteString("\n")
			below(s.SpanContext.SpanID(), depth+1)
		}
	}
	below(trace.SpanID{}, 0)
	return b.String()
}

func node(run, id string, step, parent, second int) hocket.TrackedNode {
	return hocket.TrackedNode{ExecutionID: run, NodeID: id, Type: "tool", Step: step, Parent: parent, At: at(second)}
}

func exit(n hocket.TrackedNode, second int, s hocket.Status) hocket.TrackedExit {
	d := at(second).Sub(n.At)
	n.At = at(second)
	return hocket.TrackedExit{TrackedNode: n, Duration: d, Status: s}
}

// TestSpans checks that a run is one trace, that nodes are children of the run and branches of
// their block, and that failed attempts are events (S2-72).
func TestSpans(t *testing.T) {
	t.Parallel()
	tracker, provider, exporter := recorder(t)
	ctx, caller := provider.Tracer("test").Start(t.Context(), "request", trace.WithTimestamp(at(0)))
	tracker.WorkflowStart(ctx, hocket.TrackedStart{ExecutionID: "r1", WorkflowName: "review", MaxSteps: 1000,
		At: at(1)})
	both, left, right := node("r1", "parallel_1", 1, 0, 2), node("r1", "left", 2, 1, 3), node("r1", "right", 3, 1, 4)
	tracker.NodeEnter(ctx, both)
	tracker.NodeEnter(ctx, left)
	tracker.NodeEnter(ctx, right)
	tracker.NodeExit(ctx, exit(left, 5, hocket.StatusCompleted))
	tracker.Error(ctx, hocket.TrackedError{ExecutionID: "r1", NodeID: "right", Step: 3, Err: errors.New("no paper"),
		At: at(6)})
	tracker.Error(ctx, hocket.TrackedError{ExecutionID: "r1", NodeID: "right", Step: 3, Err: errors.New("no ink"),
		At: at(7)})
	tracker.NodeExit(ctx, exit(right, 7, hocket.StatusFailed))
	tracker.NodeExit(ctx, exit(both, 8, hocket.StatusFailed))
	tracker.Error(ctx, hocket.TrackedError{ExecutionID: "r1", Err: errors.New("no ink"), At: at(8)})
	tracker.WorkflowComplete(ctx, hocket.TrackedEnd{ExecutionID: "r1", WorkflowName: "review",
		Status: hocket.StatusFailed, At: at(9)})
	caller.End(trace.WithTimestamp(at(10)))
	spans := exporter.GetSpans()
	want := `request 0-10
  workflow review 1-9 failed (no ink) exception at 8
    node parallel_1 2-8 failed
      node left 3-5 completed
      node right 4-7 failed exception at 6 exception at 7
`
	if diff := cmp.Diff(want, tree(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	attributes := map[string]string{}
	for _, s := range spans {
		if s.SpanContext.TraceID() != caller.SpanContext().TraceID() {
			t.Errorf("%s is of another trace", s.Name)
		}
		if s.Name == "node left" || s.Name == "workflow review" {
			for _, a := range s.Attributes {
				attributes[s.Name+" "+string(a.Key)] = a.Value.String()
			}
		}
	}
	if diff := cmp.Diff(map[string]string{
		"workflow review hocket.run.id": "r1", "workflow review hocket.workflow.name": "review",
		"workflow review hocket.max_steps": "1000",
		"workflow review hocket.resuming":  "false", "workflow review hocket.status": "failed",
		"node left hocket.run.id": "r1", "node left hocket.node.id": "left", "node left hocket.node.type": "tool",
		"node left hocket.step":   "2",
		"node left hocket.status": "completed",
	}, attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// TestSpansEnd checks that every span that is started is ended, whatever is reported about a run,
// and that reports that belong to no run create no span.
func TestSpansEnd(t *testing.T) {
	t.Parallel()
	tracker, _, exporter := recorder(t)
	ctx := t.Context()
	stray := node("never", "a", 1, 0, 1)
	tracker.NodeEnter(ctx, stray)
	tracker.NodeExit(ctx, exit(stray, 2, hocket.StatusCompleted))
	tracker.Error(ctx, hocket.TrackedError{ExecutionID: "never", Err: errors.New("lost"), At: at(2)})
	tracker.WorkflowComplete(ctx, hocket.TrackedEnd{ExecutionID: "never", At: at(3)})

	tracker.WorkflowStart(ctx, hocket.TrackedStart{ExecutionID: "r", WorkflowName: "unnamed", At: at(1)})
	tracker.NodeEnter(ctx, node("r", "a", 1, 0, 2))
	tracker.NodeExit(ctx, exit(node("r", "b", 2, 0, 2), 3, hocket.StatusCompleted)) // never entered
	tracker.WorkflowStart(ctx, hocket.TrackedStart{ExecutionID: "r", WorkflowName: "unnamed", Resuming: true,
		At: at(4)})
	tracker.NodeEnter(ctx, node("r", "a", 1, 0, 5))
	tracker.WorkflowComplete(ctx, hocket.TrackedEnd{ExecutionID: "r", Status: hocket.StatusRunning, At: at(6)})
	want := `workflow unnamed 1-4
  node a 2-4
workflow unnamed 4-6 running
  node a 5-6
`
	if diff := cmp.Diff(want, tree(exporter.GetSpans())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSpans_ConcurrentRuns checks that one tracker serves concurrent runs, each with its own trace.
func TestSpans_ConcurrentRuns(t *testing.T) {
	t.Parallel()
	tracker, _, exporter := recorder(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			run := fmt.Sprint(i)
			tracker.WorkflowStart(t.Context(), hocket.TrackedStart{ExecutionID: run, WorkflowName: run, At: at(0)})
			for step := 1; step <= 10; step++ {
				n := node(run, run, step, 0, step)
				tracker.NodeEnter(t.Context(), n)
				tracker.NodeExit(t.Context(), exit(n, step+1, hocket.StatusCompleted))
			}
			tracker.WorkflowComplete(t.Context(), hocket.TrackedEnd{ExecutionID: run, Status: hocket.StatusCompleted,
				At: at(20)})
		})
	}
	wg.Wait()
	byTrace := map[trace.TraceID][]string{}
	for _, s := range exporter.GetSpans() {
		byTrace[s.SpanContext.TraceID()] = append(byTrace[s.SpanContext.TraceID()], strings.Fields(s.Name)[1])
	}
	if len(byTrace) != 8 {
		t.Errorf("%d traces", len(byTrace))
	}
	for _, names := range byTrace {
		if len(names) != 11 || len(slices.Compact(names)) != 1 {
			t.Errorf("one trace has %v", names)
		}
	}
}
