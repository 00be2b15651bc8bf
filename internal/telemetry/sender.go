package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sender queues spans until they are sent.
type sender struct {
	o *Observer

	mu      sync.Mutex
	spans   []Span
	dropped int

	full chan struct{}
	stop chan struct{}
	work sync.WaitGroup
	// ctx is set when the observer is being closed, and limits all work from then on.
	ctx atomic.Pointer[context.Context]
	// base is done when that time has expired, whatever is in flight.
	base   context.Context //nolint:containedctx,nolintlint // the life of a goroutine
	cancel context.CancelFunc
	// failing means that the last export failed, which was logged.
	failing bool
}

func (s *sender) init(o *Observer) {
	s.o, s.full, s.stop = o, make(chan struct{}, 1), make(chan struct{})
	s.base, s.cancel = context.WithCancel(context.Background())
}

// context returns the context of the current work.
func (s *sender) context() context.Context {
	if c := s.ctx.Load(); c != nil {
		return *c
	}
	return s.base
}

// put queues a span. If nothing can be sent for a long time, the newest spans are dropped.
func (s *sender) put(span Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spans) >= maxSpans {
		s.dropped++
		return
	}
	if s.spans = append(s.spans, span); len(s.spans) >= spanBatch {
		select {
		case s.full <- struct{}{}:
		default:
		}
	}
}

func (s *sender) take() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.spans), spanBatch)
	out := s.spans[:n:n]
	if s.spans = s.spans[n:]; len(s.spans) == 0 {
		s.spans = nil
	}
	return out
}

// send is the goroutine that exports.
func (s *sender) send() {
	spans := time.NewTicker(s.o.cfg.Delay)
	defer spans.Stop()
	var metrics <-chan time.Time
	if s.o.cfg.Interval > 0 {
		t := time.NewTicker(s.o.cfg.Interval)
		defer t.Stop()
		metrics = t.C
	}
	for {
		select {
		case <-s.full:
			s.sendSpans(s.base)
		case <-spans.C:
			s.sendSpans(s.base)
		case <-metrics:
			s.report(s.o.cfg.Exporter.Metrics(s.base, s.o.Metrics(s.base)))
		case <-s.stop:
			ctx := s.context()
			s.sendSpans(ctx)
			s.report(s.o.cfg.Exporter.Metrics(ctx, s.o.Metrics(ctx)))
			return
		}
	}
}

func (s *sender) sendSpans(ctx context.Context) {
	for list := s.take(); len(list) > 0; list = s.take() {
		if err := s.o.cfg.Exporter.Spans(ctx, list); err != nil {
			s.mu.Lock()
			s.dropped += len(list)
			s.mu.Unlock()
			s.report(err)
			if ctx.Err() != nil {
				return
			}
			continue
		}
		s.report(nil)
	}
}

// report logs when exports start to fail, and, with the number of lost spans, when they succeed
// again.
func (s *sender) report(err error) {
	switch {
	case err != nil && !s.failing:
		s.o.log.Warn("telemetry export failed; runs continue without it", "err", err)
	case err == nil && s.failing:
		s.mu.Lock()
		dropped := s.dropped
		s.dropped = 0
		s.mu.Unlock()
		s.o.log.Warn("telemetry export recovered", "lostSpans", dropped)
	}
	s.failing = err != nil
}

// close sends the rest until ctx is done, and leaves nothing in flight.
func (s *sender) close(ctx context.Context) {
	stopped := context.AfterFunc(ctx, s.cancel)
	defer stopped()
	close(s.stop)
	s.work.Wait()
	s.cancel()
}
