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
	"github.com/hocket-run/hocket/internal/journal"
)

// Driver executes runs through Temporal, and drives all others itself. It implements driver.Driver.
// It is safe for concurrent use.
type Driver struct {
	*embedded.Driver
	cfg     Config
	commons *held.Commons
	// store is the id of the store, which is part of the names of queues.
	store  string
	sweeps time.Duration
	// host is the name of this worker's own queue without the namespace's prefix, and takes the
	// kinds of calls that it makes.
	host, takes string

	// root lives until Close stops waiting; store operations use it. work ends when Close begins.
	root, work context.Context
	kill, stop context.CancelCauseFunc
	busy       sync.WaitGroup // calls
	wg         sync.WaitGroup // everything else

	// wake makes the maintenance check the store.
	wake chan struct{}

	// noAttributes is set if the namespace rejected search attributes.
	noAttributes atomic.Bool

	mu      sync.Mutex
	closed  bool
	leaving *stopping       // set once no more calls are accepted
	workers []worker.Worker // nil until started
	// unsent holds the runs whose workflows are to be signalled; sending reports whether a
	// goroutine does it.
	unsent  map[string]bool
	sending bool
	queued  []journal.Head // pending runs that the maintenance has not seen
	keeping bool           // the maintenance runs until Close
	// failing is set if the last signal failed, so that the failure is logged once.
	failing bool
}

var _ driver.Driver = (*Driver)(nil)

// New creates a driver. It connects to nothing until a run is started, answered or resumed; then it
// accepts calls until Close.
func New(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg, host: "@" + strings.ToLower(rand.Text()[:10]), unsent: map[string]bool{}, sweeps: sweepEvery,
		wake: make(chan struct{}, 1)}
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
	if d.store, err = cfg.Store.StoreID(context.Background()); err != nil {
		return nil, errors.Join(err, d.Driver.Close(context.Background()))
	}
	d.commons = d.Commons()
	d.root, d.kill = context.WithCancelCause(context.Background())
	d.work, d.stop = context.WithCancelCause(d.root)
	return d, nil
}

func (d *Driver) now() time.Time { return d.cfg.Now().UTC().Truncate(time.Microsecond) }

// storeContext returns a context for storing data of a call after the call has ended.
func (d *Driver) storeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(d.root, cancel)
	return ctx, func() {
		release()
		cancel()
	}
}

// Drain implements driver.Driver. No more calls are accepted; calls in flight finish.
func (d *Driver) Drain(ctx context.Context) {
	var other sync.WaitGroup
	other.Go(func() { d.Driver.Drain(ctx) })
	defer other.Wait()
	select {
	case <-d.stopWorkers().all:
	case <-ctx.Done():
	}
}

// stopping is the progress of workers that were told to stop: whether they accept nothing any more,
// and whether their calls have ended.
type stopping struct{ workflows, all chan struct{} }

// stopWorkers makes this process accept no more calls.
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
		// Workflow workers stop before call workers: otherwise the end of a call would be delivered
		// to a workflow here, and a workflow task that this worker has accepted would be lost until
		// its timeout.
		first := make(chan struct{})
		stops.Go(func() {
			defer close(first)
			if len(workers) > 0 {
				workers[0].Stop()
			}
		})
		waitBriefly(first) // not to its end: the first worker of a program also makes calls
		close(s.workflows)
		for _, w := range workers[min(1, len(workers)):] {
			stops.Go(w.Stop)
		}
	}()
	return s
}

// waitBriefly waits for done for a short time, because Temporal may not respond.
func waitBriefly(done <-chan struct{}) {
	t := time.NewTimer(grace + time.Second)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Close implements driver.Driver. Calls are stopped; results that were returned are journaled, and
// all other calls are made by another worker.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	s, done := d.stopWorkers(), make(chan struct{})
	go func() {
		defer close(done)
		waitBriefly(s.workflows)
		d.stop(driver.ErrInterrupted)
		waitBriefly(s.all)
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
