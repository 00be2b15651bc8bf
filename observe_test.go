package hocket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// progressLog collects the calls of OnProgress in short form: type, node, the log in the state, and
// the other fields.
type progressLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *progressLog) progress(p hocket.Progress[state]) {
	line := fmt.Sprintf("%s %s %s", p.Type, p.NodeID, strings.Join(p.State.Log, ""))
	switch p.Type {
	case hocket.ProgressCheckpointSaved:
		line += " " + p.Label
	case hocket.ProgressNodeError:
		line += fmt.Sprintf(" #%d: %v", p.Attempt, p.Error)
	}
	if p.Timestamp.IsZero() {
		line += " without time"
	}
	l.add(line)
}

func (l *progressLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *progressLog) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.lines = nil
}

// fails returns a node that fails n times before it succeeds.
func fails(id string, n int) graph.Node[state] {
	left := n
	return graph.Do(id, func(_ context.Context, s *state) error {
		if left > 0 {
			left--
			return fmt.Errorf("failure %d", n-left)
		}
		s.Log = append(s.Log, id)
		return nil
	}, graph.NodeOptions{Retry: graph.Retry{Backoff: time.Millisecond}})
}

// TestProgress checks that node_started is reported once before the first attempt, node_error for
// each failed attempt, node_completed after the merge, and checkpoint_saved after each save, in
// this order, by both Run and Stream (S2-64, S2-65).
func TestProgress(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		for _, how := range []string{"run", "stream"} {
			g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 2)).Then(note("c")))
			l := &progressLog{}
			o := hocket.RunOptions{OnProgress: hocket.OnProgress(l.progress), Checkpointer: compat.MemoryCheckpoints()}
			if how == "run" {
				if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil ||
					r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
			} else {
				trace(t, hocket.Stream(t.Context(), e, g, state{}, o))
			}
			l.want(t,
				"node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
				"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2",
				"node_completed b ab", "checkpoint_saved b ab step_2",
				"node_started c ab", "node_completed c abc", "checkpoint_saved c abc step_3",
			)
		}
	})
}

// TestEvents checks that a stream with modes yields the updates, events and values of the steps,
// and that an unknown mode is reported before anything runs (S2-38, S2-73).
func TestEvents(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	sends := graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			c.Emit("progress", map[string]any{"percent": 50})
			s := c.State
			s.N++
			return graph.Result[state]{Update: &s,
				Signals: []graph.Signal{{Type: graph.SignalCheckpoint, Message: "no event"}}}, nil
		})
	g := compiled(t, graph.New[state]("t").Start(sends).Then(graph.Do("look", func(context.Context, *state) error {
		return nil
	})))
	var got []string
	for ev, err := range compat.StreamModes(t.Context(), e, g, state{N: 1},
		[]compat.Mode{compat.ModeUpdates, compat.ModeEvents, compat.ModeValues}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Event != nil:
			if ev.Event.Timestamp.IsZero() {
				t.Error("an event without time")
			}
			got = append(got, fmt.Sprint(ev.Mode, ev.NodeID, ev.Event.Type, ev.Event.Data))
		default:
			got = append(got, fmt.Sprintf("%s %s %v %s", ev.Mode, ev.NodeID, ev.State.N, ev.Update["n"]))
		}
	}
	want := []string{"updates a 0 2", "eventsaprogressmap[percent:50]", "values a 2 ", "values look 2 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, err := range compat.StreamModes(t.Context(), e, g, state{}, []compat.Mode{"all"},
		hocket.RunOptions{ID: "never"}) {
		if _, ok := errors.AsType[*compat.UnknownModeError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
	if _, err := hocket.SnapshotOf(t.Context(), e, g, "never"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("a run was started: %v", err)
	}
}

// TestProgressOfFailure checks that a node that fails permanently is reported for each attempt and
// never as completed (S2-64).
func TestProgressOfFailure(t *testing.T) {
	t.Parallel()
	g := compiled(t, graph.New[state]("t").Start(note("a")).Then(fails("b", 9)))
	l := &progressLog{}
	c := compat.MemoryCheckpoints()
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{},
		hocket.RunOptions{ID: "r", OnProgress: hocket.OnProgress(l.progress), Checkpointer: c})
	if err != nil || r.Status != hocket.StatusFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	l.want(t, "node_started a ", "node_completed a a", "checkpoint_saved a a step_1",
		"node_started b a", "node_error b a #1: failure 1", "node_error b a #2: failure 2",
		"node_error b a #3: failure 3")
	if labels, err := c.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"step_1"}) {
		t.Errorf("labels %v, %v", labels, err)
	}
}

// TestCheckpointJSON checks that a saved state has executionId, lastUpdated and outputs in addition
// to the fields of the state (S2-75).
func TestCheckpointJSON(t *testing.T) {
	t.Parallel()
	c := compat.MemoryCheckpoints()
	gives := graph.NewNode("a", graph.TypeTool,
		func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{Update: &state{N: 7}, Output: "done"}, nil
		})
	g := compiled(t, graph.New[state]("t").Start(gives).Then(note("b")))
	if _, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{},
		hocket.RunOptions{ID: "r", Checkpointer: c}); err != nil {
		t.Fatal(err)
	}
	raw, err := c.Load(t.Context(), "r", "step_1")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		state
		graph.BaseState
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.N != 7 || got.ExecutionID != "r" || got.LastUpdated.IsZero() || string(got.Outputs["a"]) != `"done"` ||
		len(got.Outputs) != 1 {
		t.Errorf("got %s", raw)
	}
}

// brokenCheckpoints is a Checkpointer that saves nothing.
type brokenCheckpoints struct {
	compat.Checkpointer
	panics bool
}

func (c brokenCheckpoints) Save(context.Context, string, json.RawMessage, string) error {
	if c.panics {
		panic("no disk at all")
	}
	return errors.New("disk is full")
}

// TestObservers_FailureDoesNotFailRun checks that a save that fails is logged and never fails the
// run, and neither does a panic in a Checkpointer, in OnProgress or in a Tracker (S2-65).
func TestObservers_FailureDoesNotFailRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options hocket.RunOptions
		logged  string
	}{
		"full disk": {hocket.RunOptions{Checkpointer: brokenCheckpoints{}},
			`cannot save checkpoint" run=r label=step_1 err="disk is full"`},
		"bad saver": {hocket.RunOptions{Checkpointer: brokenCheckpoints{panics: true}},
			`cannot save checkpoint" run=r label=step_2 err="panic: no disk at all"`},
		"bad caller": {hocket.RunOptions{OnProgress: hocket.OnProgress(func(hocket.Progress[state]) {
			panic("no screen")
		})}, `cannot report progress" run=r node=b err="panic: no screen"`},
		"bad spans": {hocket.RunOptions{Telemetry: badTracker{}}, `cannot report telemetry" run=r err="panic: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			e := open(t, hocket.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			tt.options.ID = "r"
			r, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("t").Start(note("a")).Then(note("b"))),
				state{}, tt.options)
			if err != nil || r.Status != hocket.StatusCompleted || strings.Join(r.State.Log, "") != "ab" {
				t.Errorf("%+v, %v", r, err)
			}
			if !strings.Contains(log.String(), tt.logged) {
				t.Errorf("log has no %s:\n%s", tt.logged, log.String())
			}
		})
	}
}

type badTracker struct{ hocket.Tracker } // every method has a nil receiver

// tracker records its calls and checks that times are in order and durations match.
type tracker struct {
	progressLog
	entered map[int]time.Time
	last    time.Time
}

func (k *tracker) at(at time.Time) {
	if at.Before(k.last) {
		k.add("time runs backwards")
	}
	k.last = at
}

func (k *tracker) WorkflowStart(_ context.Context, s hocket.TrackedStart) {
	k.at(s.At)
	k.entered = map[int]time.Time{}
	k.add(fmt.Sprintf("start %s %s max %d resuming %v", s.ExecutionID, s.WorkflowName, s.MaxSteps, s.Resuming))
}

func (k *tracker) NodeEnter(_ context.Context, n hocket.TrackedNode) {
	k.at(n.At)
	k.entered[n.Step] = n.At
	k.add(fmt.Sprintf("enter %s %s %d in %d", n.NodeID, n.Type, n.Step, n.Parent))
}

func (k *tracker) NodeExit(_ context.Context, n hocket.TrackedExit) {
	k.at(n.At)
	if _, ok := k.entered[n.Step]; !ok || n.Duration < 0 || n.Duration > time.Minute {
		k.add("a duration that cannot be")
	}
	delete(k.entered, n.Step)
	k.add(fmt.Sprintf("exit %s %s", n.NodeID, n.Status))
}

func (k *tracker) Error(_ context.Context, e hocket.TrackedError) {
	k.at(e.At)
	k.add(fmt.Sprintf("error %s: %v", e.NodeID, e.Err))
}

func (k *tracker) WorkflowComplete(_ context.Context, e hocket.TrackedEnd) {
	k.at(e.At)
	if len(k.entered) > 0 {
		k.add("nodes without exit")
	}
	k.add(fmt.Sprintf("complete %s %s", e.WorkflowName, e.Status))
}

// TestTelemetry checks that the start is reported with the name, the maximum number of steps and
// whether the run is resumed, and that entering and leaving each node, errors and completion are
// reported (S2-72).
func TestTelemetry(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	k := &tracker{}
	run := func(b *graph.Builder[state], o hocket.RunOptions) *hocket.Result[state] {
		t.Helper()
		o.Telemetry = k
		r, err := hocket.Run(t.Context(), e, compiled(t, b), state{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run(graph.New[state]("t").Start(note("a")).Then(fails("b", 1)),
		hocket.RunOptions{ID: "one", WorkflowName: "letters", MaxSteps: 7})
	k.want(t, "start one letters max 7 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter b tool 2 in 0", "error b: failure 1",
		"exit b completed", "complete letters completed")

	run(graph.New[state]("t").Start(breaks("a", "no luck")), hocket.RunOptions{ID: "two"})
	k.want(t, "start two unnamed max 1000 resuming false", "enter a tool 1 in 0", "error a: no luck", "exit a failed",
		"error : no luck",
		"complete unnamed failed")

	wait := graph.New[state]("w").Start(note("a")).Wait("go on?").Then(note("b"))
	r := run(wait, hocket.RunOptions{ID: "three"})
	k.want(t, "start three unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter wait_1 wait 2 in 0", "exit wait_1 paused",
		"complete unnamed paused")
	run(wait, hocket.RunOptions{ResumeFrom: &r.Snapshot, Answer: &hocket.Answer{Value: "yes"}})
	k.want(t, "start three unnamed max 1000 resuming true", "enter wait_1 wait 2 in 0", "exit wait_1 completed",
		"enter b tool 3 in 0", "exit b completed",
		"complete unnamed completed")
}

// TestTelemetryOfBranches checks that nodes in branches are reported with their block as parent
// (S2-72).
func TestTelemetryOfBranches(t *testing.T) {
	t.Parallel()
	k := &tracker{}
	g := compiled(t, graph.New[state]("t").Node(note("l")).Node(note("r")).Start(note("a")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"l", "r"}}).Then(note("z")),
		graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	r, err := hocket.Run(t.Context(), open(t, hocket.Config{}), g, state{}, hocket.RunOptions{ID: "p", Telemetry: k})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, want := range []string{"enter parallel_1 parallel 2 in 0", "enter l tool 3 in 2", "enter r tool 4 in 2",
		"exit parallel_1 completed", "enter z tool 5 in 0"} {
		if !slices.Contains(k.lines, want) {
			t.Errorf("no tracker got %q:\n%s", want, strings.Join(k.lines, "\n"))
		}
	}
}

// TestTelemetry_InterruptedRun checks that a run that is abandoned is reported to the tracker as
// complete, and that when it is resumed it is reported as starting again, with the nodes that were
// in progress (S2-72).
func TestTelemetry_InterruptedRun(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: t.TempDir() + "/app.db"})
	k := &tracker{}
	first := true
	g := compiled(t,
		graph.New[state]("t").Start(note("a")).Then(graph.Do("b", func(ctx context.Context, s *state) error {
			if first {
				first = false
				<-ctx.Done()
				return ctx.Err()
			}
			s.Log = append(s.Log, "b")
			return nil
		})))
	o := hocket.RunOptions{ID: "r", Telemetry: k}
	for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
		if err != nil || step.NodeID != "a" {
			t.Fatalf("%+v, %v", step, err)
		}
		break
	}
	k.want(t, "start r unnamed max 1000 resuming false", "enter a tool 1 in 0", "exit a completed",
		"enter b tool 2 in 0", "exit b running",
		"complete unnamed running")
	s, err := hocket.SnapshotOf(t.Context(), e, g, "r")
	if err != nil {
		t.Fatal(err)
	}
	o.ResumeFrom = s
	if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	k.want(t, "start r unnamed max 1000 resuming true", "enter b tool 2 in 0", "exit b completed",
		"complete unnamed completed")
}

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

// gate returns a graph whose first node sends on begun when it starts, and ends when open is
// closed.
func gate(t *testing.T) (g *graph.Compiled[state], begun chan struct{}, open chan struct{}) {
	t.Helper()
	begun, open = make(chan struct{}, 8), make(chan struct{})
	return compiled(t, graph.New[state]("gate").Start(graph.Do("a", func(ctx context.Context, s *state) error {
		begun <- struct{}{}
		select {
		case <-open:
			s.N++
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})).Then(note("z"))), begun, open
}

// TestStream_PanicInLoopBody checks that a loop whose body panics is treated like any other early
// exit: the run does not continue unobserved (D22).
func TestStream_PanicInLoopBody(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g, _, open := gate(t)
		first := compiled(t,
			graph.New[state]("t").Start(note("first")).Then(graph.SubgraphConfig[state, state]{ID: "in", Graph: g}))
		func() {
			defer func() {
				if v := recover(); v != "body" {
					t.Errorf("recovered %v, want the panic of the loop's body", v)
				}
			}()
			for range hocket.Stream(t.Context(), e, first, state{}, hocket.RunOptions{ID: "left"}) {
				panic("body")
			}
		}()
		close(open)
		r, err := e.Get(t.Context(), "left")
		if err != nil {
			t.Fatal(err)
		}
		if kept := strings.HasSuffix(t.Name(), "sqlite"); kept && !r.Interrupted ||
			!kept && r.Status != hocket.StatusCancelled {
			t.Errorf("the run is %s, interrupted %t", r.Status, r.Interrupted)
		}
	})
}

// valueContext is a context that is not comparable.
type valueContext struct {
	context.Context
	values map[string]int
}

// TestRun_CustomContextType checks that a context defined by the program may have any type.
func TestRun_CustomContextType(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	r, err := hocket.Run(valueContext{t.Context(), map[string]int{}}, e,
		compiled(t, graph.New[state]("t").Start(note("a"))), state{})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTwoFollowers checks that when one of two followers of a run leaves, the other is not
// affected, and that when the last one leaves, the run is interrupted, or cancelled in memory (D22,
// S2-36).
func TestTwoFollowers(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g, begun, open := gate(t)
		type answer struct {
			r   *hocket.Result[state]
			err error
		}
		follow := func(ctx context.Context, how func(context.Context) (*hocket.Result[state], error)) chan answer {
			out := make(chan answer, 1)
			go func() {
				r, err := how(ctx)
				out <- answer{r, err}
			}()
			return out
		}
		resume := func(ctx context.Context) (*hocket.Result[state], error) { return hocket.Resume(ctx, e, g, "x") }
		first := follow(t.Context(), func(ctx context.Context) (*hocket.Result[state], error) {
			return hocket.Run(ctx, e, g, state{}, hocket.RunOptions{ID: "x"})
		})
		<-begun
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			second := follow(ctx, resume)
			cancel()
			if a := <-second; !errors.Is(a.err, context.Canceled) {
				t.Errorf("the one who gave up got %+v, %v", a.r, a.err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Wait(ctx, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("the wait that was given up ended with %v", err)
		}
		close(open)
		if a := <-first; a.err != nil || a.r.Status != hocket.StatusCompleted || a.r.State.N != 1 {
			t.Errorf("the other one got %+v, %v", a.r, a.err)
		}
	})
}

// TestResumeWithDoneContext checks that resuming with a context that is already done leaves the run
// unchanged.
func TestResumeWithDoneContext(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("t").Wait("?").Then(note("z")))
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "w"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if _, err := hocket.Resume(ctx, e, g, "w", hocket.Answer{Value: "yes"}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if r, err := e.Get(t.Context(), "w"); err != nil || r.Status != hocket.StatusPaused {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}

type tallied struct {
	N    int    `json:"n"`
	Last string `json:"last,omitempty"`
}

// TestModes_ServerMatchesProgram checks that a server, which has the journal of a run of a Go graph
// but not the program, shows the same lines in the same order as the program itself (S2-38, S2-73).
// A server's states and changes also include what the graph keeps in addition to the fields of S
// (S2-53).
func TestModes_ServerMatchesProgram(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	opts := graph.NodeOptions{Retry: graph.Retry{Backoff: graph.Zero}}
	count := graph.NewNode("count", graph.TypeTool,
		func(_ context.Context, c *graph.Context[tallied]) (graph.Result[tallied], error) {
			c.Emit("progress", map[string]any{"attempt": c.Attempt})
			if c.State.N == 1 && c.Attempt == 1 {
				return graph.Result[tallied]{}, errors.New("once more")
			}
			c.State.N++
			return graph.Result[tallied]{}, nil
		}, opts)
	look := graph.Do("look", func(context.Context, *tallied) error { return nil })
	last := graph.Do("last", func(_ context.Context, s *tallied) error {
		s.Last = "done"
		return nil
	})
	g, err := graph.New[tallied]("t").Loop(graph.LoopConfig[tallied]{Until: func(v graph.View[tallied]) bool {
		return v.State.N == 3
	}}, count).Then(look).Then(last).End().Compile()
	if err != nil {
		t.Fatal(err)
	}
	modes := []compat.Mode{compat.ModeValues, compat.ModeUpdates, compat.ModeEvents, compat.ModeDebug}
	const run = "modes"
	var want, got []string
	for ev, err := range compat.StreamModes(t.Context(), e, g, tallied{}, modes, hocket.RunOptions{ID: run}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, withoutBase(t, ev))
	}
	events, err := e.JournalOf(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	f, err := project.NewModeFolder(run, g.Workflow(), nil, project.Modes()...)
	if err != nil {
		t.Fatal(err)
	}
	outputs := 0
	for _, ev := range events {
		shown, err := f.Add(ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range shown {
			if one.Mode == project.ModeUpdates && one.Update["n"] == nil && one.Update["last"] == nil {
				outputs++ // output of a node that changed no field of S
				continue
			}
			if one.Mode == project.ModeValues && (string(one.State["executionId"]) != `"modes"` ||
				one.State["lastUpdated"] == nil || one.State["outputs"] == nil) {
				t.Errorf("state without what every state has: %s", one.State)
			}
			got = append(got, withoutBase(t, one))
		}
	}
	if diff := cmp.Diff(got, want); diff != "" || len(want) < 20 {
		t.Errorf("%d lines, %d outputs alone (-journal +program):\n%s", len(want), outputs, diff)
	}
	if _, err := project.NewModeFolder(run, g.Workflow(), nil, "value"); err == nil {
		t.Error("a mode that is none is taken")
	}
	if _, err := f.Add(event.Event{Seq: 999, Data: &event.RunStarted{}}); err == nil {
		t.Error("an event that does not go on is taken")
	}
}

// withoutBase returns a line as JSON with only the fields of S.
func withoutBase(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "output") // program only: a server has it in the state's outputs
	trace, _ := m["trace"].(map[string]any)
	for _, part := range []any{m["state"], m["update"], trace["stateSnapshot"]} {
		if fields, ok := part.(map[string]any); ok {
			for _, name := range []string{"executionId", "lastUpdated", "outputs"} {
				delete(fields, name)
			}
		}
	}
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
