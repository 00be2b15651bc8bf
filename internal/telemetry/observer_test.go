package telemetry_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// memory is an exporter that stores what it receives, and a source that has journals.
type memory struct {
	mu       sync.Mutex
	spans    []telemetry.Span
	metrics  map[string]telemetry.Metric
	journals map[string][]event.Event
	// gate, if not nil, blocks readers of a journal until it is closed.
	gate chan struct{}
}

func (m *memory) Spans(_ context.Context, spans []telemetry.Span) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spans = append(m.spans, spans...)
	return nil
}

func (m *memory) Metrics(_ context.Context, metrics []telemetry.Metric) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.metrics = map[string]telemetry.Metric{}
	for _, x := range metrics {
		m.metrics[x.Name] = x
	}
	return nil
}

func (m *memory) Close() {}

func (m *memory) Events(_ context.Context, run string, after uint64) ([]event.Event, error) {
	if m.gate != nil {
		<-m.gate
	}
	all, ok := m.journals[run]
	if !ok {
		return nil, errors.New("no such run")
	}
	return all[after:], nil
}

func (m *memory) Workflow(context.Context, string) (*workflow.Workflow, error) { return nil, nil }

func (m *memory) Waiting(context.Context) (int, error) { return 7, nil }

// names counts spans by name.
func (m *memory) names() map[string]int {
	out := map[string]int{}
	for _, s := range m.spans {
		out[s.Name]++
	}
	return out
}

// line executes a chain of two agents with a wait between them, and returns the journal with the
// ends of its batches.
func line(t *testing.T) *enginetest.World {
	t.Helper()
	g := &workflow.Workflow{
		Entry:  "s",
		Agents: []workflow.Agent{{ID: "writer", Model: "openai/gpt-5-mini"}},
		Nodes: []workflow.Node{
			{ID: "s", Kind: workflow.KindStart},
			{ID: "a", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "writer"}},
			enginetest.Approval("ok"),
			{ID: "b", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "writer"}},
		},
		Edges: []workflow.Edge{{From: "s", To: "a"}, {From: "a", To: "ok"},
			{From: "ok", Port: workflow.PortApprove, To: "b"}},
	}
	w := enginetest.New(t, g, nil)
	w.Model = func(*engine.CallModel) *engine.ModelResult {
		r := enginetest.Reply("fine")
		r.Model = "openai/gpt-5-mini"
		r.CostUSD = new(0.25)
		return r
	}
	w.StartWith(event.RunCreated{Name: "line", Input: enginetest.Text("go")})
	w.Go(nil)
	w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: enginetest.Text(workflow.PortApprove)})
	w.Go(nil)
	if !w.Run.Status().Ended() {
		t.Fatalf("the run has not ended\n%s", w.Log())
	}
	return w
}

// lineSpans are the spans of that run.
var lineSpans = map[string]int{
	"invoke_workflow line": 1, "node s": 1, "node a": 1, "node ok": 1, "node b": 1, "invoke_agent writer": 2,
	"chat gpt-5-mini": 2, "run paused": 1, "wait ok": 1,
}

// feed notifies an observer of the batches of events between positions from and to, one at a time,
// and closes it.
func feed(m *memory, w *enginetest.World, from, to int, prepare ...func(*telemetry.Config)) {
	c := telemetry.Config{Exporter: m, Interval: -1}
	for _, p := range prepare {
		p(&c)
	}
	o := telemetry.New(c, m)
	at := 0
	for _, end := range w.Batches {
		if at >= from && end <= to {
			o.Saw("run1", w.Events[at:end])
		}
		at = end
	}
	o.Close()
	o.Saw("run1", w.Events) // late events are dropped
}

// TestObserver_RunAcrossProcesses checks that wherever a run moves from one process to another,
// there is one trace with every span in it, and that spans that occur twice, because the first
// owner died in the middle, have equal IDs (P35). If the run was paused in between, nothing occurs
// twice.
func TestObserver_RunAcrossProcesses(t *testing.T) {
	t.Parallel()
	w := line(t)
	for _, cut := range w.Batches {
		m := &memory{journals: map[string][]event.Event{"run1": w.Events}}
		feed(m, w, 0, cut)
		first := len(m.spans)
		feed(m, w, cut, len(w.Events))
		byID := map[telemetry.SpanID]telemetry.Span{}
		twice := 0
		for _, s := range m.spans {
			if old, ok := byID[s.ID]; ok {
				twice++
				if diff := cmp.Diff(old, s); diff != "" {
					t.Errorf("cut at %d: two spans of one id (-first +second):\n%s", cut, diff)
				}
			}
			byID[s.ID] = s
		}
		got := map[string]int{}
		for _, s := range byID {
			got[s.Name]++
		}
		if diff := cmp.Diff(lineSpans, got); diff != "" {
			t.Errorf("cut at %d: spans (-want +got):\n%s", cut, diff)
		}
		last := w.Events[cut-1].Data
		if _, paused := last.(*event.RunPaused); paused && twice > 0 {
			t.Errorf("cut at the pause: %d spans came twice", twice)
		}
		if _, ended := last.(*event.RunCompleted); ended && len(m.spans) > first {
			t.Errorf("after the end %d spans came again", len(m.spans)-first)
		}
	}
}

// TestObserverOverload checks that while the folding goroutine is blocked, callers that report
// events do not wait, and events that do not fit into the queue are read from the journal.
func TestObserverOverload(t *testing.T) {
	t.Parallel()
	w := line(t)
	const runs = 9000 // more than twice the queue: one batch was taken, one queue is full
	m := &memory{journals: map[string][]event.Event{"first": w.Events}, gate: make(chan struct{})}
	for i := range runs {
		m.journals[runName(i)] = w.Events
	}
	never := 0.0
	o := telemetry.New(telemetry.Config{Exporter: m, Interval: -1, Ratio: &never, Flush: time.Minute}, m)
	o.Saw("first", w.Events[w.Batches[0]:]) // its start must be read, which the gate blocks
	for i := range runs {
		o.Saw(runName(i), w.Events)
	}
	close(m.gate)
	o.Close()
	if p := m.metrics[telemetry.MetricRuns].Points; len(p) != 1 || p[0].Value != runs+1 {
		t.Errorf("runs are %+v, want %d", p, runs+1)
	}
}

func runName(i int) string { return "run" + string(rune('a'+i%26)) + time.Duration(i).String() }

// TestObserver_ChildRuns checks that child runs are in the trace of their parent run, even if the
// parent is known only from the child's journal (P35).
func TestObserver_ChildRuns(t *testing.T) {
	t.Parallel()
	w := line(t)
	var o *telemetry.Observer
	ofTop := tracecontext.Keep(nil, o.RunContext("top", nil))
	m := &memory{journals: map[string][]event.Event{
		"top": {{Seq: 1, At: enginetest.Epoch, Data: &event.RunCreated{Name: "top"}}},
		"child": {
			{Seq: 1, At: enginetest.Epoch, Data: &event.RunCreated{Name: "child", ParentRun: "top", Meta: ofTop}},
		},
	}}
	o = telemetry.New(telemetry.Config{Exporter: m, Interval: -1}, m)
	events := slices.Clone(w.Events)
	created := *events[0].Data.(*event.RunCreated)
	created.ParentRun, created.Meta = "child", tracecontext.Keep(nil, o.RunContext("child", ofTop))
	events[0].Data = &created
	o.Saw("grandchild", events)
	o.Saw("top", append(m.journals["top"], event.Event{Seq: 2, At: enginetest.Epoch, Data: &event.RunStarted{}},
		event.Event{Seq: 3, At: enginetest.Epoch, Data: &event.RunCompleted{}}))
	o.Saw("child", append(m.journals["child"], event.Event{Seq: 2, At: enginetest.Epoch, Data: &event.RunStarted{}},
		event.Event{Seq: 3, At: enginetest.Epoch, Data: &event.RunCompleted{}}))
	o.Close()
	ids := map[telemetry.SpanID]bool{}
	for _, s := range m.spans {
		ids[s.ID] = true
		if s.Trace != telemetry.TraceOf("top") {
			t.Errorf("%s of %s is of another trace", s.Name, s.Run)
		}
	}
	for _, s := range m.spans {
		if s.Run != "top" && !ids[s.Parent] {
			t.Errorf("%s of %s has no parent", s.Name, s.Run)
		}
	}
}

// TestObserverCaller checks that a run whose caller has a trace is in that trace, and that the
// caller's flag decides whether it is sent, unless it is to be ignored. A person who answers from
// another trace is linked.
func TestObserverCaller(t *testing.T) {
	t.Parallel()
	half, never, always := 0.5, 0.0, 1.0
	for name, test := range map[string]struct {
		sampled bool
		prepare func(*telemetry.Config)
		want    bool
	}{
		"sampled":               {true, func(*telemetry.Config) {}, true},
		"not sampled":           {false, func(*telemetry.Config) {}, false},
		"sampled, never":        {true, func(c *telemetry.Config) { c.Ratio = &never }, true},
		"not sampled, always":   {false, func(c *telemetry.Config) { c.Ratio = &always }, false},
		"not sampled, ignored":  {false, func(c *telemetry.Config) { c.IgnoreCaller = true }, true},
		"sampled, not in ratio": {true, func(c *telemetry.Config) { c.Ratio, c.IgnoreCaller = &half, true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := line(t)
			caller := tracecontext.New([16]byte{1, 8: 0xff}, [8]byte{2}, test.sampled, "a=1")
			answerer := tracecontext.New([16]byte{3}, [8]byte{4}, true, "")
			for i, e := range w.Events {
				switch d := e.Data.(type) {
				case *event.RunCreated:
					created := *d
					created.Meta = tracecontext.Keep(nil, caller)
					w.Events[i].Data = &created
				case *event.WaitAnswered:
					answered := *d
					answered.Trace = tracecontext.Text(tracecontext.With(t.Context(), answerer))
					w.Events[i].Data = &answered
				}
			}
			m := &memory{journals: map[string][]event.Event{"run1": w.Events}}
			feed(m, w, 0, len(w.Events), test.prepare)
			if got := len(m.spans) > 0; got != test.want {
				t.Errorf("sent is %v, want %v", got, test.want)
			}
			if len(m.metrics) == 0 {
				t.Error("nothing was counted")
			}
			for _, s := range m.spans {
				if s.Trace != telemetry.TraceID(caller.TraceID()) || s.State != "a=1" {
					t.Errorf("%s is of trace %x, state %q", s.Name, s.Trace, s.State)
				}
				if s.What == telemetry.WhatRun && (s.Parent != telemetry.SpanID(caller.SpanID()) || !s.Remote) {
					t.Errorf("the run is below %x, remote %v", s.Parent, s.Remote)
				}
				want := []telemetry.Link{
					{Trace: telemetry.TraceID(answerer.TraceID()), ID: telemetry.SpanID(answerer.SpanID())},
				}
				if s.What == telemetry.WhatWait && !slices.Equal(s.Links, want) {
					t.Errorf("links of the wait are %v", s.Links)
				}
			}
		})
	}
}

// TestObserverRatio checks that either all or no spans of a trace are sent, and that metrics count
// in both cases.
func TestObserverRatio(t *testing.T) {
	t.Parallel()
	w := line(t)
	for _, ratio := range []float64{0, 1} {
		m := &memory{journals: map[string][]event.Event{"run1": w.Events}}
		feed(m, w, 0, len(w.Events), func(c *telemetry.Config) { c.Ratio = &ratio })
		if want := map[float64]int{0: 0, 1: 11}[ratio]; len(m.spans) != want {
			t.Errorf("ratio %v: %d spans, want %d", ratio, len(m.spans), want)
		}
		if p := m.metrics[telemetry.MetricRuns].Points; len(p) != 1 || p[0].Value != 1 {
			t.Errorf("ratio %v: runs are %v", ratio, p)
		}
	}
}

// TestMetrics checks usage and duration metrics, and that nothing grows with the number of runs.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := line(t)
	m := &memory{journals: map[string][]event.Event{"run1": w.Events}}
	feed(m, w, 0, len(w.Events))
	if diff := cmp.Diff(lineSpans, m.names()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	tokens := m.metrics[telemetry.MetricTokens]
	if len(tokens.Points) != 2 || tokens.Points[0].Count != 2 || tokens.Points[0].Sum != 2 ||
		tokens.Points[0].Buckets[0] != 2 {
		t.Errorf("tokens are %+v", tokens.Points)
	}
	if p := m.metrics[telemetry.MetricStep].Points; len(p) != 3 {
		t.Errorf("steps are %+v", p)
	}
	if p := m.metrics[telemetry.MetricStarted].Points; len(p) != 1 || p[0].Value != 1 ||
		p[0].Attrs[0] != (telemetry.Attr{Key: telemetry.WorkflowName, Value: "line"}) {
		t.Errorf("runs that began are %+v", p)
	}
	if p := m.metrics[telemetry.MetricCost].Points; len(p) != 1 || p[0].Count != 2 || p[0].Sum != 0.5 {
		t.Errorf("costs are %+v", p)
	}
	if p := m.metrics[telemetry.MetricWaiting].Points; p[0].Value != 7 {
		t.Errorf("waiting runs are %+v", p)
	}
	for name, x := range m.metrics {
		for _, p := range x.Points {
			for _, a := range p.Attrs {
				if a.Value == "run1" {
					t.Errorf("%s has the attribute %s=%v", name, a.Key, a.Value)
				}
			}
		}
	}
}

// TestObserver_NoExporter checks that without an exporter everything is counted, and that a run
// that started elsewhere does not count as started here.
func TestObserver_NoExporter(t *testing.T) {
	t.Parallel()
	w := line(t)
	for from, want := range map[int]int64{0: 1, w.Batches[0]: 0} {
		m := &memory{journals: map[string][]event.Event{"run1": w.Events}}
		o := telemetry.New(telemetry.Config{}, m)
		o.Saw("run1", w.Events[from:])
		o.Close()
		values := map[string]int64{}
		for _, x := range o.Metrics(t.Context()) {
			for _, p := range x.Points {
				values[x.Name] += p.Value + int64(p.Count)
			}
		}
		if values[telemetry.MetricRuns] != 1 || values[telemetry.MetricStarted] != want ||
			values[telemetry.MetricModel] != 2 {
			t.Errorf("from %d: %v", from, values)
		}
		if len(m.spans) > 0 {
			t.Error("spans were sent")
		}
	}
}

// TestMeterOverflow checks that the number of attribute sets of a metric is limited, and that sets
// beyond the limit are counted together.
func TestMeterOverflow(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMeter(enginetest.Epoch, false)
	for i := range 3000 {
		m.Count(&telemetry.Span{What: telemetry.WhatTool, Start: enginetest.Epoch, End: enginetest.Epoch,
			Attrs: []telemetry.Attr{{Key: telemetry.ToolName, Value: runName(i)}}})
	}
	points := m.Collect(enginetest.Epoch)[0].Points
	total := uint64(0)
	for _, p := range points {
		total += p.Count
	}
	if len(points) != 1001 || total != 3000 || points[1000].Count != 2000 {
		t.Errorf("%d points, %d in all, %d in the last", len(points), total, points[len(points)-1].Count)
	}
	if _, ok := maps.Collect(attrs(points[1000]))["otel.metric.overflow"]; !ok {
		t.Errorf("the last point is %+v", points[1000].Attrs)
	}
}

func attrs(p telemetry.Point) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, a := range p.Attrs {
			if !yield(a.Key, a.Value) {
				return
			}
		}
	}
}
