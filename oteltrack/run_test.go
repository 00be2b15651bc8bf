package oteltrack_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

type letters struct {
	Log []string `json:"log,omitempty"`
}

func letter(id string) graph.Node[letters] {
	return graph.Do(id, func(_ context.Context, s *letters) error {
		s.Log = append(s.Log, id)
		return nil
	})
}

// parents returns each span with its parent's name; it fails the test unless every span has ended,
// within its parent's time.
func parents(t *testing.T, spans tracetest.SpanStubs) map[string]string {
	t.Helper()
	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID()] = s
	}
	out := map[string]string{}
	for _, s := range spans {
		p := byID[s.Parent.SpanID()]
		out[s.Name] = p.Name
		if p.Name != "" && (s.StartTime.Before(p.StartTime) || s.EndTime.After(p.EndTime)) {
			t.Errorf("%s does not lie within %s", s.Name, p.Name)
		}
		if s.SpanContext.TraceID() != spans[0].SpanContext.TraceID() {
			t.Errorf("%s is of another trace", s.Name)
		}
	}
	return out
}

// TestRun checks that a run of an engine is one trace, with a span for each node below the run or
// its parallel block, and the failed attempts (S2-72).
func TestRun(t *testing.T) {
	t.Parallel()
	tracker, _, exporter := recorder(t)
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := graph.New[letters]("letters").Node(letter("l")).Node(letter("r")).Start(letter("a")).
		Parallel(graph.ParallelConfig[letters]{Branches: []string{"l", "r"}}).
		Then(graph.Do("z", func(context.Context, *letters) error { return errors.New("no paper") }, graph.NodeOptions{
			Retry: graph.Retry{MaxAttempts: 1},
		})).
		Compile(graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := hocket.Run(t.Context(), e, g, letters{}, hocket.RunOptions{WorkflowName: "mail", Telemetry: tracker})
	if err != nil || r.Status != hocket.StatusFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	spans := exporter.GetSpans()
	want := map[string]string{
		"workflow mail": "", "node a": "workflow mail", "node parallel_1": "workflow mail", "node l": "node parallel_1",
		"node r": "node parallel_1",
		"node z": "workflow mail",
	}
	if diff := cmp.Diff(want, parents(t, spans)); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	for _, s := range spans {
		if s.Name == "node z" &&
			(len(s.Events) != 1 || !strings.Contains(fmt.Sprint(s.Events[0].Attributes), "no paper")) {
			t.Errorf("events of z: %v", s.Events)
		}
	}
}
