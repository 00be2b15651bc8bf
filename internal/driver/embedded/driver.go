package embedded

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

// Driver drives runs in this process. It implements driver.Driver and is safe for concurrent use.
type Driver struct {
	cfg   Config
	plans held.Plans
	// common holds the runs held in common, to which this driver appends on request and whose calls
	// are made elsewhere.
	common *held.Commons
	hubs   hubs
	said   *held.Said
	// slots limits the calls over all runs, and line queues waiting calls; loads limits the number
	// of runs being folded.
	slots *Slots
	queue callQueue
	loads chan struct{}
	// keepsEvents means that the store is a journal.EventKeeper.
	keepsEvents bool
	crew        workerPool

	// root lives until Close stops waiting; it is the context of store operations. work ends when
	// Close starts; it is the context of calls.
	root, work context.Context
	kill, stop context.CancelCauseFunc
	wg         sync.WaitGroup

	mu     sync.Mutex
	closed bool
	runs   map[string]*actor
	// parked holds the deadlines of paused runs.
	parked map[string]*parked
	// undrivable holds the runs that this process cannot drive.
	undrivable map[string]error
	receiving  bool // requests are being received
	// interrupted holds the runs that left memory through Interrupt and have not been requested
	// since.
	interrupted     map[string]bool
	sendsHeartbeats bool // heartbeats are being sent
	wasFull         bool // there was no capacity for a run
	maintaining     int  // number of calls of Maintain

	hasRoom   chan struct{} // holds one token when there is capacity again
	lostClaim atomic.Bool   // a claim returned an error
	reserved  int           // capacity for runs being claimed; guarded by mu
	draining  atomic.Bool   // no more calls are started

	heartbeats heartbeats
	// claiming is closed when a claim of several runs has ended and the runs are with their actors;
	// nil means that no claim is in progress. It is guarded by mu, as is claimedForActor.
	claiming chan struct{}
	// claimedForActor holds runs that were claimed while they had an actor, which finds them here.
	claimedForActor map[string]*journal.Head

	// taking is held while requests are moved from the inbox into mailboxes.
	taking sync.Mutex
}

var _ driver.Driver = (*Driver)(nil)

var errInterrupted = driver.ErrInterrupted

// New creates a driver. It starts nothing until a run is started, resumed or recovered.
func New(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		cfg:        cfg,
		plans:      held.Plans{Expressions: cfg.Expressions},
		said:       held.NewSaid(cfg.Store),
		slots:      cfg.Slots,
		loads:      make(chan struct{}, maxLoads),
		runs:       map[string]*actor{},
		parked:     map[string]*parked{},
		undrivable: map[string]error{},

		hasRoom:         make(chan struct{}, 1),
		claimedForActor: map[string]*journal.Head{},

		interrupted: map[string]bool{},
	}
	_, d.keepsEvents = cfg.Store.(journal.EventKeeper)
	d.root, d.kill = context.WithCancelCause(context.Background())
	d.work, d.stop = context.WithCancelCause(d.root)
	d.common = d.commons()
	return d, nil
}

// maxLoads is the maximum number of runs folded concurrently, so that recovering thousands of runs
// needs the memory of only a few.
const maxLoads = 32

func (d *Driver) now() time.Time { return d.cfg.Now().UTC().Truncate(time.Microsecond) }

// Close implements driver.Driver.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	for run, p := range d.parked {
		p.timer.Stop()
		delete(d.parked, run)
	}
	d.mu.Unlock()
	d.stop(errInterrupted)
	for _, a := range d.active() {
		a.interrupt(errInterrupted)
	}
	d.crew.close()
	done := make(chan struct{})
	go func() {
		d.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		d.kill(driver.ErrClosed)
		return nil
	case <-ctx.Done():
		d.kill(driver.ErrClosed)
		return fmt.Errorf("close driver: calls are still running: %w", ctx.Err())
	}
}

// definition returns the compiled definition with the given digest, as held.Plans does.
func (d *Driver) definition(ctx context.Context, digest string) (held.Compiled, error) {
	return d.plans.Load(ctx, d.cfg.Store, digest, d.cfg.Program)
}

// Forget implements driver.Driver.
func (d *Driver) Forget(digest string) {
	d.plans.Forget(digest)
	d.mu.Lock()
	defer d.mu.Unlock()
	for run, err := range d.undrivable {
		if _, ok := errors.AsType[*driver.ForeignError](err); ok {
			delete(d.undrivable, run) // its program may be available now
		}
	}
}

// Resume implements driver.Driver.
func (d *Driver) Resume(ctx context.Context, run string) error {
	err := d.ask(ctx, run, &message{resume: true, trace: tracecontext.Text(ctx)})
	if isCommon(err) {
		return d.askCommon(ctx, run, nil)
	}
	if !errors.Is(err, errElsewhere) {
		return err
	}
	head, err := d.cfg.Store.Head(ctx, run)
	if err != nil {
		return err
	}
	if continues, err := d.willBeClaimed(ctx, head); err != nil || continues {
		return err
	}
	return &driver.ElsewhereError{Run: run, Place: head.Place}
}

// Reopen implements driver.Driver.
func (d *Driver) Reopen(ctx context.Context, run string, limits workflow.Limits, by event.Actor) error {
	return d.reopen(ctx, run, engine.Reopen{Limits: limits, By: by, Trace: tracecontext.Text(ctx)})
}

// Extend implements driver.Driver.
func (d *Driver) Extend(ctx context.Context, run string, above *workflow.Budget) error {
	return d.reopen(ctx, run, engine.Reopen{Above: above, Trace: tracecontext.Text(ctx)})
}

func (d *Driver) reopen(ctx context.Context, run string, how engine.Reopen) error {
	err := d.ask(ctx, run, &message{data: how})
	if isCommon(err) {
		return d.askCommon(ctx, run, how)
	}
	return err
}

// Answer implements driver.Driver.
func (d *Driver) Answer(ctx context.Context, run string, a engine.Answer) error {
	if a.Value != nil && !json.Valid(a.Value) {
		return fmt.Errorf("%w: it is not JSON", waits.ErrAnswer)
	}
	if a.Signal != "" && a.Key == "" {
		a.Key = rand.Text() // so that a second owner of the run does not take the answer again
	}
	a.Trace = tracecontext.Text(ctx)
	return d.send(ctx, run, a)
}

// Cancel implements driver.Driver.
func (d *Driver) Cancel(ctx context.Context, run, reason string) error {
	return d.send(ctx, run, engine.Cancel{Reason: reason})
}

// Interrupt implements driver.Driver.
func (d *Driver) Interrupt(ctx context.Context, run string) error {
	d.mu.Lock()
	a := d.runs[run]
	d.mu.Unlock()
	if a == nil {
		return nil
	}
	d.mu.Lock()
	d.interrupted[run] = true
	d.mu.Unlock()
	a.interrupt(errInterrupted)
	select {
	case <-a.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask sends a message to the run's actor, loading the run if it is not in memory, and waits for
// the outcome.
func (d *Driver) ask(ctx context.Context, run string, m *message) error {
	reply := make(chan error, 1)
	m.done = func(err error) { reply <- err }
	if err := d.post(run, m); err != nil {
		return err
	}
	return await(ctx, reply)
}

func await(ctx context.Context, reply <-chan error) error {
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// active returns the actors of the runs in memory.
func (d *Driver) active() []*actor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.runs))
}

// post puts a message into the mailbox of a run. If post returns no error, the message's done is
// called exactly once.
func (d *Driver) post(run string, m *message) error {
	if m.at.IsZero() {
		m.at = d.now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return driver.ErrClosed
	}
	if a := d.runs[run]; a != nil {
		a.deliver(m)
		return nil
	}
	if m.ifRoom && !d.hasRoomNow() {
		return errNoRoom
	}
	a := d.newActor(run)
	a.mail = append(a.mail, m)
	d.launch(a)
	return nil
}

// launch starts an actor and, with the first one, the receiver of requests. d.mu must be held.
func (d *Driver) launch(a *actor) {
	d.runs[a.id] = a
	delete(d.interrupted, a.id)
	if p := d.parked[a.id]; p != nil {
		p.timer.Stop()
		delete(d.parked, a.id)
	}
	d.crew.run(d, a)
	if !d.receiving {
		d.receiving = true
		d.wg.Go(d.receive)
	}
	d.startHeartbeats()
}
