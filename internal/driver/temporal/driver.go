package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
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

	mu      sync.Mutex
	closed  bool
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

// Close implements driver.Driver. Calls are stopped; what came back is journaled, and all else is made by another worker.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	workers := d.workers
	d.workers = nil
	d.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Workflows are given up before calls: the end of a call would come to the workflow here, and a task of it that this worker has taken is lost until its timeout.
		if len(workers) > 0 {
			workers[0].Stop()
		}
		d.stop(driver.ErrInterrupted)
		var stops sync.WaitGroup
		for _, w := range workers[min(1, len(workers)):] {
			stops.Go(w.Stop) // it takes no more calls, and waits for those that end
		}
		stops.Wait()
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
