package telemetry

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

// Exporter sends what was seen. Its methods are called by one goroutine at a time, and return when ctx is done at the latest.
type Exporter interface {
	Spans(ctx context.Context, spans []Span) error
	Metrics(ctx context.Context, metrics []Metric) error
	// Close gives up connections. Nothing is called after it.
	Close()
}

// Source reads what the observer was not told.
type Source interface {
	// Events gives the events of a run after the event after.
	Events(ctx context.Context, run string, after uint64) ([]engine.Event, error)
	// Workflow gives the definition of a run.
	Workflow(ctx context.Context, run string) (*workflow.Workflow, error)
	// Waiting counts the runs that wait for a person.
	Waiting(ctx context.Context) (int, error)
}

// Config is what an Observer is made of. The zero Config counts alone.
type Config struct {
	// Exporter gets spans and metrics; nil: none, and metrics are asked for by [Observer.Metrics].
	Exporter Exporter
	// Content lets prompts, replies, arguments, results and texts of errors out. Secrets are redacted before they get into events; see SEC11.
	Content bool
	// Ratio is the share of traces that is exported, decided by their ids, so alike by all processes; nil: all. Metrics count everything. For a trace that a caller began
	// the caller's flag decides instead, unless IgnoreCaller is set.
	Ratio        *float64
	IgnoreCaller bool
	// NoSpans: the exporter takes metrics alone, so that no trace context goes out.
	NoSpans bool
	// Latest counts model calls under the latest, experimental names of the conventions instead of those that Hocket has had.
	Latest bool
	// Delay is how long spans wait for more of them; 0: 5 s. Interval is the time between two exports of metrics; 0: 60 s; below 0: only at the end.
	Delay, Interval time.Duration
	// Flush bounds Close; 0: 3 s.
	Flush time.Duration
	// Logger gets one record where nothing can be sent; nil: none.
	Logger *slog.Logger
}

// sampled tells whether a trace is exported.
func (c *Config) sampled(trace TraceID, caller tracecontext.SpanContext) bool {
	if caller.IsValid() && !c.IgnoreCaller {
		return caller.IsSampled()
	}
	// As OpenTelemetry's TraceIDRatioBased does, so that other programs in the trace decide alike.
	return c.Ratio == nil || *c.Ratio >= 1 || binary.BigEndian.Uint64(trace[8:])>>1 < uint64(max(*c.Ratio, 0)*(1<<63))
}

// Bounds of what is kept for the exporter. Beyond the first, events are read from the journal later; beyond the second, spans are dropped and counted.
const (
	maxQueue  = 4096
	maxSpans  = 8192
	spanBatch = 512
	maxPaused = 256
)

// resend is how far before the last event of an owner that died its spans may not have been sent: the delay of batches and the time of one export, with some left over.
const resend = 30 * time.Second

// Observer makes telemetry of the runs of one process. Before its first event it has no goroutine. Safe for concurrent use.
type Observer struct {
	cfg    Config
	source Source
	meter  *Meter
	start  time.Time
	log    *slog.Logger

	mu      sync.Mutex
	queue   []batch
	behind  map[string]uint64 // runs of which batches were left out, with the first event that was
	started bool
	closed  bool
	wake    chan struct{}
	active  int

	out sender

	// runs belong to the goroutine that folds.
	runs map[string]*followed

	stop chan struct{}
	work sync.WaitGroup
}

type batch struct {
	run    string
	events []engine.Event
}

// followed is a run at work, or one of the last that paused.
type followed struct {
	*Tracer
	paused bool
	// live: spans are new. Else they are history, and recent holds those that may not have been sent.
	live   bool
	recent []Span
}

// New makes an observer. Close it.
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
		behind: map[string]uint64{}, wake: make(chan struct{}, 1), runs: map[string]*followed{}, stop: make(chan struct{}),
	}
	o.out.init(o)
	return o
}

// Saw takes events of a run that are durable, in order, as one activation made them. It never waits.
func (o *Observer) Saw(run string, events []engine.Event) {
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
	if _, late := o.behind[run]; late {
		return
	}
	if len(o.queue) >= maxQueue {
		o.behind[run] = events[0].Seq
		return
	}
	o.queue = append(o.queue, batch{run, events})
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Close sends what is left, for as long as Config.Flush at most, and ends the observer. The source must still answer.
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

// fold is the goroutine that makes spans of events.
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

// drain folds all that is there.
func (o *Observer) drain() {
	for {
		o.mu.Lock()
		queue, behind := o.queue, o.behind
		o.queue, o.behind = nil, map[string]uint64{}
		o.mu.Unlock()
		if len(queue)+len(behind) == 0 {
			return
		}
		ctx := o.out.context()
		for _, b := range queue {
			o.take(ctx, b.run, b.events[0].Seq, b.events)
		}
		for run, from := range behind {
			o.take(ctx, run, from, nil)
		}
		o.count()
	}
}

// take folds events of a run, from the event from on; nil: those that the journal has.
func (o *Observer) take(ctx context.Context, run string, from uint64, events []engine.Event) {
	f := o.runs[run]
	if f == nil {
		f = &followed{live: from <= 1}
		var def *workflow.Workflow
		if o.cfg.Content {
			var err error
			if def, err = o.source.Workflow(ctx, run); err != nil {
				o.log.Debug("telemetry misses events of a run", "run", run, "err", err)
				return
			}
		}
		f.Tracer = NewTracer(run, TracerConfig{Content: o.cfg.Content, Workflow: def, Sampled: o.cfg.sampled, Emit: func(s Span) { o.emit(f, s) }})
		o.runs[run] = f
	}
	if f.Seq()+1 < from || events == nil {
		missed, err := o.source.Events(ctx, run, f.Seq())
		if err != nil {
			delete(o.runs, run) // it is read anew with what comes next
			o.log.Debug("telemetry misses events of a run", "run", run, "err", err)
			return
		}
		// What a run that was paused here, or is new here, did meanwhile was another process's to tell.
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
		o.again(f, from)
	}
	for _, e := range events {
		o.add(f, e)
	}
	if !f.Running() || f.paused && len(o.runs) > maxPaused {
		delete(o.runs, run)
	}
}

// add folds one event.
func (o *Observer) add(f *followed, e engine.Event) {
	switch d := e.Data.(type) {
	case *engine.RunCreated:
		f.recent, f.paused = nil, false
		if f.live {
			o.meter.Began(cmp.Or(d.Name, d.Workflow), d.Format)
		}
	case *engine.RunResumed:
		f.recent, f.paused = nil, false
	case *engine.RunPaused:
		f.paused = true
	}
	if !f.live {
		for len(f.recent) > 0 && e.At.Sub(f.recent[0].End) > resend {
			f.recent = f.recent[1:]
		}
	}
	f.Add(e)
}

// emit takes a span of a run.
func (o *Observer) emit(f *followed, s Span) {
	if !f.live {
		f.recent = append(f.recent, s)
		return
	}
	o.meter.Count(&s)
	o.export(s)
}

// again sends once more what the former owner of a run may not have sent: it neither paused the run nor ended it.
func (o *Observer) again(f *followed, from uint64) {
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

// count notes how many runs are at work here.
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

// Metrics gives all metrics as they stand.
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
