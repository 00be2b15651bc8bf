package telemetry

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

// Exporter sends spans and metrics. Its methods are called by one goroutine at a time, and must
// return at the latest when ctx is done.
type Exporter interface {
	Spans(ctx context.Context, spans []Span) error
	Metrics(ctx context.Context, metrics []Metric) error
	// Close closes connections. Nothing is called after it.
	Close()
}

// Source provides what the observer was not notified of.
type Source interface {
	// Events returns the events of a run after the event after.
	Events(ctx context.Context, run string, after uint64) ([]event.Event, error)
	// Workflow returns the definition of a run.
	Workflow(ctx context.Context, run string) (*workflow.Workflow, error)
	// Waiting counts the runs that wait for a person.
	Waiting(ctx context.Context) (int, error)
}

// Config configures an Observer. The zero Config only counts.
type Config struct {
	// Exporter receives spans and metrics; if nil, nothing is exported, and metrics are available
	// through [Observer.Metrics].
	Exporter Exporter
	// Content exports prompts, replies, arguments, results and error texts. Secrets are redacted
	// before they get into events; see SEC11.
	Content bool
	// Ratio is the fraction of traces that is exported, decided by their IDs, so that all processes
	// decide alike; nil means all. Metrics count everything. For a trace that a caller started, the
	// caller's flag decides instead, unless IgnoreCaller is set.
	Ratio        *float64
	IgnoreCaller bool
	// NoSpans means that the exporter accepts only metrics, so that no trace context is sent out.
	NoSpans bool
	// Latest counts model calls under the latest, experimental names of the conventions instead of
	// Hocket's original ones.
	Latest bool
	// Delay is how long spans wait to be batched with others; 0 means 5 s. Interval is the time
	// between two exports of metrics; 0 means 60 s, a negative value only at the end.
	Delay, Interval time.Duration
	// Flush limits the duration of Close; 0 means 3 s.
	Flush time.Duration
	// Logger receives one record if nothing can be sent; nil means no logging.
	Logger *slog.Logger
}

// sampled reports whether a trace is exported.
func (c *Config) sampled(trace TraceID, caller tracecontext.SpanContext) bool {
	if caller.IsValid() && !c.IgnoreCaller {
		return caller.IsSampled()
	}
	// Same as OpenTelemetry's TraceIDRatioBased, so that other programs in the trace decide alike.
	return c.Ratio == nil || *c.Ratio >= 1 || binary.BigEndian.Uint64(trace[8:])>>1 < uint64(max(*c.Ratio, 0)*(1<<63))
}

// Limits on what is kept for the exporter. Beyond the first, events are read from the journal
// later; beyond the second, spans are dropped and counted.
const (
	maxQueue  = 4096
	maxSpans  = 8192
	spanBatch = 512
	maxPaused = 256
)

// resend is how long before a dead owner's last event spans may have ended without being sent: the
// delay of batches and the time of one export, with some margin.
const resend = 30 * time.Second

// Observer produces the telemetry of the runs of one process. Before its first event it has no
// goroutine. It is safe for concurrent use.
type Observer struct {
	cfg    Config
	source Source
	meter  *Meter
	start  time.Time
	log    *slog.Logger

	mu      sync.Mutex
	queue   []batch
	skipped map[string]uint64 // runs with skipped batches, with the first skipped event
	started bool
	closed  bool
	wake    chan struct{}
	active  int

	out sender

	// runs belongs to the folding goroutine.
	runs map[string]*trackedRun

	stop chan struct{}
	work sync.WaitGroup
}

type batch struct {
	run    string
	events []event.Event
}

// trackedRun is an active run, or one of those that paused last.
type trackedRun struct {
	*Tracer
	paused bool
	// live means that spans are new. Otherwise they are history, and recent holds those that may
	// not have been sent.
	live   bool
	recent []Span
}

// New returns an observer. The caller must close it.
func New(cfg Config, source Source) *Observer {
	if cfg.Delay == 0 {
		cfg.Delay = 5 * time.Second
	}
	if cfg.Interval == 0 {
		cfg.Interval = time.Minute
	}
	if cfg.Flush == 0 {
		cfg.Flush = 3 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	start := time.Now()
	o := &Observer{
		cfg: cfg, source: source, meter: NewMeter(start, cfg.Latest), start: start, log: cfg.Logger,
		skipped: map[string]uint64{}, wake: make(chan struct{}, 1), runs: map[string]*trackedRun{},
		stop: make(chan struct{}),
	}
	o.out.init(o)
	return o
}

// Saw reports durable events of a run, in order, as one activation produced them. It never blocks.
func (o *Observer) Saw(run string, events []event.Event) {
	if len(events) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if !o.started {
		o.started = true
		o.work.Go(o.fold)
		if o.cfg.Exporter != nil {
			o.out.work.Go(o.out.send)
		}
	}
	if _, late := o.skipped[run]; late {
		return
	}
	if len(o.queue) >= maxQueue {
		o.skipped[run] = events[0].Seq
		return
	}
	o.queue = append(o.queue, batch{run, events})
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Close sends what is left, for at most Config.Flush, and ends the observer. The source must still
// answer.
func (o *Observer) Close() {
	o.mu.Lock()
	closed, started := o.closed, o.started
	o.closed = true
	o.mu.Unlock()
	if closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.cfg.Flush)
	defer cancel()
	if started {
		o.out.ctx.Store(&ctx)
		close(o.stop)
		o.work.Wait()
		o.out.close(ctx)
	}
	if o.cfg.Exporter != nil {
		o.cfg.Exporter.Close()
	}
}

// fold is the goroutine that produces spans from events.
func (o *Observer) fold() {
	for {
		select {
		case <-o.wake:
			o.drain()
		case <-o.stop:
			o.drain()
			return
		}
	}
}

// drain folds everything in the queue.
func (o *Observer) drain() {
	for {
		o.mu.Lock()
		queue, behind := o.queue, o.skipped
		o.queue, o.skipped = nil, map[string]uint64{}
		o.mu.Unlock()
		if len(queue)+len(behind) == 0 {
			return
		}
		ctx := o.out.context()
		for _, b := range queue {
			o.foldBatch(ctx, b.run, b.events[0].Seq, b.events)
		}
		for run, from := range behind {
			o.foldBatch(ctx, run, from, nil)
		}
		o.count()
	}
}

// foldBatch folds events of a run, starting with the event from; if events is nil, they are read
// from the journal.
func (o *Observer) foldBatch(ctx context.Context, run string, from uint64, events []event.Event) {
	f := o.runs[run]
	if f == nil {
		f = &trackedRun{live: from <= 1}
		var def *workflow.Workflow
		if o.cfg.Content {
			var err error
			if def, err = o.source.Workflow(ctx, run); err != nil {
				o.log.Debug("telemetry misses events of a run", "run", run, "err", err)
				return
			}
		}
		f.Tracer = NewTracer(run, TracerConfig{Content: o.cfg.Content, Workflow: def, Sampled: o.cfg.sampled,
			Emit: func(s Span) { o.emit(f, s) }})
		o.runs[run] = f
	}
	if f.Seq()+1 < from || events == nil {
		missed, err := o.source.Events(ctx, run, f.Seq())
		if err != nil {
			delete(o.runs, run) // it is read again with the next events
			o.log.Debug("telemetry misses events of a run", "run", run, "err", err)
			return
		}
		// What happened meanwhile in a run that was paused here, or is new here, was reported by
		// another process.
		f.live = f.live && !f.paused
		for _, e := range missed {
			if e.Seq == from {
				break
			}
			o.add(f, e)
		}
		if events == nil {
			for len(missed) > 0 && missed[0].Seq < from {
				missed = missed[1:]
			}
			events = missed
		}
	}
	if !f.live {
		f.live = true
		o.resendRecent(f, from)
	}
	for _, e := range events {
		o.add(f, e)
	}
	if !f.Running() || f.paused && len(o.runs) > maxPaused {
		delete(o.runs, run)
	}
}

// add folds one event.
func (o *Observer) add(f *trackedRun, e event.Event) {
	switch d := e.Data.(type) {
	case *event.RunCreated:
		f.recent, f.paused = nil, false
		if f.live {
			o.meter.Began(cmp.Or(d.Name, d.Workflow), d.Format)
		}
	case *event.RunResumed:
		f.recent, f.paused = nil, false
	case *event.RunPaused:
		f.paused = true
	}
	if !f.live {
		for len(f.recent) > 0 && e.At.Sub(f.recent[0].End) > resend {
			f.recent = f.recent[1:]
		}
	}
	f.Add(e)
}

// emit records a span of a run.
func (o *Observer) emit(f *trackedRun, s Span) {
	if !f.live {
		f.recent = append(f.recent, s)
		return
	}
	o.meter.Count(&s)
	o.export(s)
}

// resendRecent sends once more what the run's previous owner may not have sent, since that owner
// neither paused the run nor ended it.
func (o *Observer) resendRecent(f *trackedRun, from uint64) {
	if from > 1 && f.Running() && !f.paused {
		for _, s := range f.recent {
			o.export(s)
		}
	}
	f.recent = nil
}

func (o *Observer) export(s Span) {
	if o.cfg.Exporter == nil || s.Unsampled {
		return
	}
	o.out.put(s)
}

// count records how many runs are active here.
func (o *Observer) count() {
	n := 0
	for _, f := range o.runs {
		if f.Running() && !f.paused {
			n++
		}
	}
	o.mu.Lock()
	o.active = n
	o.mu.Unlock()
}

// Metrics returns the current state of all metrics.
func (o *Observer) Metrics(ctx context.Context) []Metric {
	now := time.Now()
	all := o.meter.Collect(now)
	o.mu.Lock()
	active := o.active
	o.mu.Unlock()
	all = append(all, level(MetricActive, "Runs in progress in this process", o.start, now, active))
	if n, err := o.source.Waiting(ctx); err == nil {
		all = append(all, level(MetricWaiting, "Runs in the store that wait for a person", o.start, now, n))
	} else if !errors.Is(err, context.DeadlineExceeded) {
		o.log.Debug("cannot count waiting runs", "err", err)
	}
	return all
}
