package live

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// source is shared by the watchers of one run in one view.
type source struct {
	service *service.Service
	run     string
	view    string
}

// pump reads one run for all its watchers in one view.
type pump struct {
	*ring
	source
	def    *workflow.Workflow
	ask    streamRequest
	log    *slog.Logger
	cancel context.CancelFunc
	users  int // guarded by pumps.mu
}

// pumps holds the active pumps. It is safe for concurrent use.
type pumps struct {
	mu   sync.Mutex
	all  map[source]*pump
	work sync.WaitGroup
	// watchers is the number of watchers of all pumps.
	watchers atomic.Int64
}

// join returns the pump of a run and view, and starts one if there is none. The caller must leave
// it.
func (p *pumps) join(src source, a *streamRequest, def *workflow.Workflow, size int, log *slog.Logger) *pump {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[src]
	if one == nil {
		ctx, cancel := context.WithCancel(context.Background())
		one = &pump{ring: newRing(size, &p.watchers), source: src, def: def,
			ask: streamRequest{logs: a.logs, modes: a.modes, expand: a.expand}, log: log, cancel: cancel}
		if p.all == nil {
			p.all = map[source]*pump{}
		}
		p.all[src] = one
		p.work.Go(func() {
			one.pump(ctx)
			p.forget(one) // the next watcher starts a new pump: the run may have been reopened
		})
	}
	one.users++
	p.watchers.Add(1)
	return one
}

func (p *pumps) leave(one *pump) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers.Add(-1)
	if one.users--; one.users == 0 {
		one.cancel()
		p.drop(one)
	}
}

func (p *pumps) forget(one *pump) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(one)
}

func (p *pumps) drop(one *pump) {
	if p.all[one.source] == one {
		delete(p.all, one.source)
	}
}

// pump reads the run until it ends or has no watchers left.
func (p *pump) pump(ctx context.Context) {
	last, err := p.read(ctx)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("events of a run can no longer be streamed", "run", p.run, "err", err)
	}
	p.close(last)
}

// read returns the message that reports the run's end, or nil if it did not get that far.
func (p *pump) read(ctx context.Context) (*frame, error) {
	v, r, err := newView(ctx, &p.ask, p.service, p.run, p.def)
	if err != nil {
		return nil, err
	}
	said := outputTracker{run: p.run}
	stands := end{Run: p.run}
	for u, err := range p.service.Watch(ctx, p.run, 0) {
		if err != nil {
			return nil, err
		}
		if u.Event == nil {
			if !p.ask.deltas() {
				continue
			}
			frames, err := said.onDelta(u.Delta)
			if err != nil {
				return nil, err
			}
			p.add(frames...)
			continue
		}
		stands.record(u.Event)
		e := *u.Event
		if r != nil {
			if e, err = r.Take(e); err != nil {
				return nil, err
			}
		}
		f, err := v.add(e, 0)
		if err != nil {
			return nil, err
		}
		void, err := said.onEvent(u.Event)
		if err != nil {
			return nil, err
		}
		for _, f := range []*frame{f, void} {
			if f != nil {
				p.add(f)
			}
		}
	}
	return jsonFrame(stands.Seq, TypeEnd, stands)
}

// record records the next event.
func (e *end) record(ev *event.Event) {
	e.Seq = ev.Seq
	if s := event.StatusOf(ev.Data); s.Ended() {
		e.Status = s
	}
}
