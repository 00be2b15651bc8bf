package hocket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// received holds the spans sent to a collector, decoded with OpenTelemetry's protocol definitions.
type received struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func collect(t *testing.T) (*received, string) {
	t.Helper()
	c := &received{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var d tracepb.TracesData
		if r.URL.Path == "/v1/traces" && err == nil {
			err = proto.Unmarshal(body, &d)
		}
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range d.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				c.spans = append(c.spans, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return c, srv.URL
}

// TestWithTelemetry checks that a run of a Go graph is one trace, under the span in the context of
// its call, across a pause, a restart of the engine and a resume, and that it includes failed
// attempts, branches and the run of a sub-agent (P35).
func TestWithTelemetry(t *testing.T) {
	t.Parallel()
	c, url := collect(t)
	db := filepath.Join(t.TempDir(), "hocket.db")
	tries := 0
	g := compiled(t, graph.New[state]("news").
		Node(graph.Do("l", func(context.Context, *state) error { return nil })).
		Node(graph.Do("r", func(context.Context, *state) error { return nil })).
		Start(graph.Do("flaky", func(_ context.Context, s *state) error {
			if tries++; tries == 1 {
				return fmt.Errorf("canary %s", s.Text)
			}
			return nil
		}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2, Backoff: time.Millisecond}})).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"l", "r"}}).
		Then(graph.WaitConfig[state]{ID: "w", Prompt: "canary?"}).
		Then(graph.SubagentConfig[state]{
			ID: "ask", Agent: "researcher", TaskFunc: func(v graph.View[state]) string { return "canary" },
			Options: once(),
			Output:  func(*state, graph.SubagentResult) error { return nil },
		}))
	open := func() *hocket.Engine {
		e, err := hocket.Open(t.Context(), hocket.Config{DB: db, Env: func(string) string { return "" }},
			hocket.WithTelemetry(hocket.OTLP{Endpoint: url}),
			hocket.WithAgent(hocket.Agent{Name: "researcher", Model: "own/m"}),
			hocket.WithModel("own",
				hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
					return hocket.ModelReply{Text: "canary"}, nil
				})))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := open()
	caller := tracecontext.New([16]byte{1}, [8]byte{2}, true, "")
	r, err := hocket.Run(tracecontext.With(t.Context(), caller), first, g, state{Text: "canary"},
		hocket.RunOptions{ID: "n1"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open()
	r, err = hocket.Resume(t.Context(), second, g, "n1", hocket.Answer{Value: "canary"})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	byID := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		if byID[string(s.GetSpanId())] != nil {
			t.Errorf("%s came twice", s.GetName())
		}
		byID[string(s.GetSpanId())] = s
		if id := caller.TraceID(); !bytes.Equal(s.GetTraceId(), id[:]) {
			t.Errorf("%s is of another trace", s.GetName())
		}
		if raw, err := proto.Marshal(s); err != nil || bytes.Contains(raw, []byte("canary")) {
			t.Errorf("%s holds content: %v", s.GetName(), err)
		}
	}
	got := map[string]int{}
	for _, s := range c.spans {
		p := byID[string(s.GetParentSpanId())]
		if above := caller.SpanID(); p == nil && !bytes.Equal(s.GetParentSpanId(), above[:]) &&
			len(s.GetParentSpanId()) > 0 {
			t.Errorf("the parent of %s is not there", s.GetName())
			continue
		}
		got[s.GetName()+" < "+p.GetName()]++
		if p != nil && (s.GetStartTimeUnixNano() < p.GetStartTimeUnixNano() ||
			s.GetEndTimeUnixNano() > p.GetEndTimeUnixNano()) {
			t.Errorf("%s does not lie within %s", s.GetName(), p.GetName())
		}
	}
	want := map[string]int{
		"invoke_workflow news < ": 1, "run paused < invoke_workflow news": 1,
		"node flaky < invoke_workflow news": 1, "function flaky < node flaky": 1,
		"node parallel_1 < invoke_workflow news": 1, "node l < node parallel_1": 1, "function l < node l": 1,
		"node r < node parallel_1": 1, "function r < node r": 1,
		"node w < invoke_workflow news": 1, "wait w < node w": 1,
		"node ask < invoke_workflow news": 1, "function ask < node ask": 1,
		"invoke_workflow researcher < function ask": 1, "node agent < invoke_workflow researcher": 1,
		"invoke_agent researcher < node agent": 1, "chat m < invoke_agent researcher": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestWithTelemetryMisuse checks that Open returns an error for an invalid address, and that no
// address means no telemetry.
func TestWithTelemetryMisuse(t *testing.T) {
	t.Parallel()
	if _, err := hocket.Open(t.Context(), hocket.Config{},
		hocket.WithTelemetry(hocket.OTLP{Endpoint: "localhost:4318"})); err == nil {
		t.Error("an endpoint without scheme is taken")
	}
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string { return "" }},
		hocket.WithTelemetry(hocket.OTLP{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
