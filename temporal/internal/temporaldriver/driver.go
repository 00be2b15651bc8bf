package temporaldriver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/held"
)

// Driver carries runs by way of Temporal, and drives all others itself. It implements driver.Driver. Safe for concurrent use.
type Driver struct {
	*embedded.Driver
	cfg     Config
	commons *held.Commons
	sweeps  time.Duration
	// host is the name of this worker's own queue, behind the namespace's, and takes the kinds of calls that it makes.
	host, takes string

	// root lives until Close gives up waiting; stores are asked under it. work ends when Close begins.
	root, work context.Context
	kill, stop context.CancelCauseFunc
	busy       sync.WaitGroup // calls
	wg         sync.WaitGroup // all else

	// noAttributes: the namespace refused search attributes.
	noAttributes atomic.Bool

	mu      sync.Mutex
	closed  bool
	leaving *stopping       // no calls are taken any more; nil: they are
	workers []worker.Worker // nil: not started
	// unsent are the runs whose workflows are to be signalled, and sending says that a goroutine does it.
	unsent  map[string]bool
	sending bool
	keeping bool // upkeep is at work, until Close
	// failing: the last signal failed; it is logged once.
	failing bool
}

var _ driver.Driver = (*Driver)(nil)

// New makes a driver. It connects to nothing until a run is started, answered or taken up; then it takes calls until Close.
func New(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg, host: "@" + strings.ToLower(rand.Text()[:10]), unsent: map[string]bool{}, sweeps: sweepEvery}
	for _, q := range cfg.Queues {
		d.takes += string(q[0])
	}
	if cfg.Functions != "" {
		d.takes = kindModel + kindTool + kindFunc
	}
	d.cfg.Common = d.signal
	if d.Driver, err = embedded.New(d.cfg.Config); err != nil {
		return nil, err
	}
	d.commons = d.Commons()
	d.root, d.kill = context.WithCancelCause(context.Background())
	d.work, d.stop = context.WithCancelCause(d.root)
	return d, nil
}

func (d *Driver) now() time.Time { return d.cfg.Now().UTC().Truncate(time.Microsecond) }

// afterwards gives a context for what is stored of a call although the call is over.
func (d *Driver) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(d.root, cancel)
	return ctx, func() {
		release()
		cancel()
	}
}

// Drain implements driver.Driver. No call is taken any more; those that are under way end.
func (d *Driver) Drain(ctx context.Context) {
	var other sync.WaitGroup
	other.Go(func() { d.Driver.Drain(ctx) })
	defer other.Wait()
	select {
	case <-d.stopWorkers().all:
	case <-ctx.Done():
	}
}

// stopping is how far workers have come that were told to stop: they take nothing any more, and what they had has ended.
type stopping struct{ workflows, all chan struct{} }

// stopWorkers has this process take no more calls.
func (d *Driver) stopWorkers() *stopping {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leaving != nil {
		return d.leaving
	}
	s := &stopping{workflows: make(chan struct{}), all: make(chan struct{})}
	d.leaving = s
	workers := d.workers
	go func() {
		defer close(s.all)
		var stops sync.WaitGroup
		defer stops.Wait()
		// Workflows are given up before calls: the end of a call would come to the workflow here, and a task of it that this worker has taken is lost until its timeout.
		first := make(chan struct{})
		stops.Go(func() {
			defer close(first)
			if len(workers) > 0 {
				workers[0].Stop()
			}
		})
		within(first) // calls of a program are among them
		close(s.workflows)
		for _, w := range workers[min(1, len(workers)):] {
			stops.Go(w.Stop)
		}
	}()
	return s
}

// within waits for done, for a moment: Temporal may not answer.
func within(done <-chan struct{}) {
	t := time.NewTimer(grace + time.Second)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Close implements driver.Driver. Calls are stopped; what came back is journaled, and all else is made by another worker.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	s, done := d.stopWorkers(), make(chan struct{})
	go func() {
		defer close(done)
		within(s.workflows)
		d.stop(driver.ErrInterrupted)
		within(s.all)
		d.busy.Wait()
		d.wg.Wait()
		d.commons.Close()
	}()
	var late error
	select {
	case <-done:
	case <-ctx.Done():
		late = fmt.Errorf("close driver: calls are still running: %w", ctx.Err())
	}
	d.kill(driver.ErrClosed)
	return errors.Join(d.Driver.Close(ctx), late)
}
