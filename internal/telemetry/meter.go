package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// MetricKind is the shape of a metric's points.
type MetricKind int

const (
	// KindCounter is a sum that only grows. It uses Point.Value.
	KindCounter MetricKind = iota
	// KindLevel is a value that can also fall. It uses Point.Value.
	KindLevel
	// KindHistogram has counts per bucket of Metric.Bounds.
	KindHistogram
)

// Metric is the current state of one metric, cumulative since Point.Start.
type Metric struct {
	Name, Description, Unit string
	Kind                    MetricKind
	// Bounds are the upper bounds of all buckets except the last, ascending; for histograms only.
	Bounds []float64
	Points []Point
}

// Point is the state of a metric for one set of attributes.
type Point struct {
	Attrs     []Attr
	Start, At time.Time
	Value     int64
	// Count, Sum, Min, Max and Buckets (one more than there are bounds) are used for histograms.
	Count         uint64
	Sum, Min, Max float64
	Buckets       []uint64
}

// maxSets is the maximum number of attribute sets of one metric, because names of workflows, models
// and tools come from documents. Sets beyond it are counted together.
const maxSets = 1000

// Bounds recommended by the GenAI conventions, and coarser ones for whole steps.
var (
	tokenBounds = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216,
		67108864}
	callBounds     = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	costBounds     = []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}
	workflowBounds = []float64{1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200}
	agentBounds    = []float64{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6}
	stepBounds     = []float64{0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600}
)

// Meter maintains the metrics. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	start time.Time
	all   []*instrument
	// latest means that model calls are counted under the latest names of the conventions.
	latest bool
}

type instrument struct {
	Metric
	index map[string]int
}

// seconds returns a histogram of durations.
func seconds(name, description string, bounds []float64) Metric {
	return Metric{Name: name, Description: description, Unit: "s", Kind: KindHistogram, Bounds: bounds}
}

// modelMetrics returns the metrics of model calls under the conventions' names.
func modelMetrics(latest bool) []Metric {
	const took, first = "Duration of model calls, over all their attempts",
		"Time to the first chunk of a streamed answer"
	if !latest {
		return []Metric{
			{Name: MetricTokens, Description: "Tokens used by model calls", Unit: "{token}", Kind: KindHistogram,
				Bounds: tokenBounds},
			seconds(MetricModel, took, callBounds), seconds(MetricFirst, first, callBounds),
		}
	}
	out := []Metric{
		seconds(LatestModel, took, callBounds), seconds(LatestFirst, first, callBounds),
		{Name: LatestInput, Description: "Input tokens of a model call", Unit: "{token}", Kind: KindHistogram,
			Bounds: tokenBounds},
		{Name: LatestOutput, Description: "Output tokens of a model call", Unit: "{token}", Kind: KindHistogram,
			Bounds: tokenBounds},
	}
	for _, u := range usages {
		out = append(out, Metric{Name: u.name, Description: u.about, Unit: "{token}", Kind: KindCounter})
	}
	return out
}

// usages are the token counters under the latest names, with the span attributes that they add up.
var usages = []struct{ name, about, key string }{
	{LatestUsedInput, "Input tokens used by model calls", InputTokens},
	{LatestUsedOutput, "Output tokens used by model calls", OutputTokens},
	{LatestCacheRead, "Input tokens read from the provider's cache", CachedTokens},
	{LatestCacheWrite, "Input tokens written to the provider's cache", CacheWriteTokens},
	{LatestReasoning, "Output tokens that models used to reason", ReasoningTokens},
}

// NewMeter returns a meter that counts from start on. For latest, see Config.Latest.
func NewMeter(start time.Time, latest bool) *Meter {
	m := &Meter{start: start, latest: latest}
	for _, d := range append(modelMetrics(latest), []Metric{
		seconds(MetricWorkflow, "Duration of runs, including waiting", workflowBounds),
		seconds(MetricAgent, "Duration of the loops of agents", agentBounds),
		seconds(MetricTool, "Duration of tool calls, over all their attempts", callBounds),
		seconds(MetricStep, "Duration of steps, over all their attempts", stepBounds),
		{Name: MetricCost, Description: "Cost of model calls whose model has a price", Unit: "USD", Kind: KindHistogram,
			Bounds: costBounds},
		{Name: MetricStarted, Description: "Runs that began", Unit: "{run}", Kind: KindCounter},
		{Name: MetricRuns, Description: "Runs that ended", Unit: "{run}", Kind: KindCounter},
	}...) {
		m.all = append(m.all, &instrument{Metric: d, index: map[string]int{}})
	}
	return m
}

// Began counts the start of a run.
func (m *Meter) Began(workflow, format string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.point(MetricStarted, []Attr{{WorkflowName, workflow}, {Format, format}}).Value++
}

// Count counts a span that was emitted for the first time.
func (m *Meter) Count(s *Span) {
	seconds := s.End.Sub(s.Start).Seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch s.What {
	case WhatRun:
		m.point(MetricRuns, s.pick(Status, WorkflowName, Format)).Value++
		m.observe(MetricWorkflow, seconds, s.pick(WorkflowLabel, ErrorType))
	case WhatStep:
		m.observe(MetricStep, seconds, s.pick(NodeType, Status))
	case WhatAgent:
		m.observe(MetricAgent, seconds, s.pick(AgentName, ErrorType))
	case WhatTool:
		m.observe(MetricTool, seconds, s.pick(ToolName, ToolType, AgentName, ErrorType))
	case WhatModel:
		if s.Attr(Withheld) == nil { // otherwise the call was never made
			m.countModel(s, seconds)
		}
	case WhatPause, WhatFunc, WhatWait:
	}
}

// countModel counts a model call.
func (m *Meter) countModel(s *Span, seconds float64) {
	attrs := s.pick(OperationName, ProviderName, RequestModel, ResponseModel, ServerAddress, ServerPort)
	with := func(more ...Attr) []Attr { return append(slices.Clip(attrs), more...) }
	if usd, ok := s.Attr(CostUSD).(float64); ok {
		m.observe(MetricCost, usd, attrs)
	}
	took, first := MetricModel, MetricFirst
	if m.latest {
		took, first = LatestModel, LatestFirst
	}
	m.observe(took, seconds, with(s.pick(ErrorType)...))
	if f, ok := s.Attr(FirstChunk).(float64); ok {
		m.observe(first, f, attrs)
	}
	for _, used := range []struct {
		key, kind, latest string
	}{{InputTokens, "input", LatestInput}, {OutputTokens, "output", LatestOutput}} {
		switch n, ok := s.Attr(used.key).(int64); {
		case m.latest: // 0 if unknown
			m.observe(used.latest, float64(n), with(s.pick(ErrorType)...))
		case ok:
			m.observe(MetricTokens, float64(n), with(Attr{TokenType, used.kind}))
		}
	}
	if !m.latest {
		return
	}
	modality := Attr{TokenModality, "text"}
	if s.Attr(InputTokens) == nil {
		modality.Value = "unknown"
	}
	for _, u := range usages {
		n, _ := s.Attr(u.key).(int64)
		m.point(u.name, with(modality)).Value += n
	}
}

// pick returns the attributes of a span that have these keys.
func (s *Span) pick(keys ...string) []Attr {
	var out []Attr
	for _, k := range keys {
		if v := s.Attr(k); v != nil {
			out = append(out, Attr{k, v})
		}
	}
	return out
}

// point returns the point for a set of attributes.
func (m *Meter) point(name string, attrs []Attr) *Point {
	in := m.all[slices.IndexFunc(m.all, func(in *instrument) bool { return in.Name == name })]
	var key strings.Builder
	for _, a := range attrs {
		fmt.Fprintf(&key, "%s\x00%v\x00", a.Key, a.Value)
	}
	i, ok := in.index[key.String()]
	if !ok {
		if len(in.Points) >= maxSets {
			if i, ok = in.index[""]; ok {
				return &in.Points[i]
			}
			key.Reset()
			attrs = []Attr{{overflowMarker, true}}
		}
		i = len(in.Points)
		in.index[key.String()] = i
		in.Points = append(in.Points, Point{Attrs: attrs, Start: m.start})
	}
	return &in.Points[i]
}

func (m *Meter) observe(name string, v float64, attrs []Attr) {
	p := m.point(name, attrs)
	bounds := m.all[slices.IndexFunc(m.all, func(in *instrument) bool { return in.Name == name })].Bounds
	if p.Buckets == nil {
		p.Buckets, p.Min, p.Max = make([]uint64, len(bounds)+1), v, v
	}
	i, _ := slices.BinarySearch(bounds, v) // a value at a bound is in the bucket below it
	p.Buckets[i]++
	p.Count++
	p.Sum += v
	p.Min, p.Max = min(p.Min, v), max(p.Max, v)
}

// Collect returns the counts up to at: a copy, without metrics that have no points.
func (m *Meter) Collect(at time.Time) []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Metric
	for _, in := range m.all {
		if len(in.Points) == 0 {
			continue
		}
		c := in.Metric
		c.Points = slices.Clone(in.Points)
		for i := range c.Points {
			c.Points[i].At = at
			c.Points[i].Buckets = slices.Clone(c.Points[i].Buckets)
		}
		out = append(out, c)
	}
	return out
}

// level returns a KindLevel metric with the single value n.
func level(name, description string, start, at time.Time, n int) Metric {
	return Metric{Name: name, Description: description, Unit: "{run}", Kind: KindLevel,
		Points: []Point{{Start: start, At: at, Value: int64(n)}}}
}
