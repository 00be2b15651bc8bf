package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Key identifies a schedule of a stored workflow or of a graph of a program.
type Key = journal.ScheduleKey

// Branch is a branch of a published workflow with its schedule.
type Branch struct {
	Key
	// Version is the version of the published workflow; 0 if it has none.
	Version  int
	Schedule workflow.Schedule
	// CatchUp is the policy of this schedule; "" means the scheduler's policy.
	CatchUp Policy
	// Err is why the workflow or the schedule cannot be read now. Its schedules stay registered and
	// start nothing.
	Err error
}

// Source lists the scheduled items: every branch of every published workflow that has a schedule,
// or every scheduled graph of a program, in any order.
type Source interface {
	Branches(ctx context.Context) ([]Branch, error)
}

// Slot is one run to be started.
type Slot struct {
	Key
	// Planned is the planned time in UTC and microseconds; for a continuous branch, the instant at
	// which the run was decided on.
	Planned time.Time
	// CatchUp means that the planned time was missed.
	CatchUp bool
	// Asked means that a person requested the run at the time Planned.
	Asked bool
}

// Runs starts runs and reports on them. Implementations must be safe for concurrent use.
type Runs interface {
	// Start begins the run of a slot and returns once the run is durable. fresh is false if the
	// slot already had a run, which is then returned: of two starts of one slot, in any processes,
	// exactly one is fresh.
	//
	// Errors: *BusyError; ErrRefused, wrapped, if a retry would not help until something changes;
	// any other error is retried.
	Start(ctx context.Context, slot Slot) (run string, fresh bool, err error)
	// Active returns an unfinished run of the branch that some process will finish, or "" if there
	// is none.
	Active(ctx context.Context, key Key) (run string, err error)
	// Wait waits until a run has ended, paused runs too, and returns its status. Errors: ctx's;
	// journal.ErrNotFound; ErrLeft, wrapped, once no process will finish the run; Active then no
	// longer returns it.
	Wait(ctx context.Context, run string) (journal.Status, error)
}

// BusyError is returned when a run was not started because other runs, Run among them, are active,
// whatever schedule they belong to. Nothing was stored.
type BusyError struct {
	Run string
	Err error
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BusyError) Unwrap() error { return e.Err }

// ErrRefused is returned when a run was not acceptable; nothing was stored (D25).
var ErrRefused = errors.New("run was refused")

// ErrLeft is returned when a run has not ended and no process will finish it unless a person
// resumes it.
var ErrLeft = errors.New("run has no process that drives it")

// Policy determines what happens to missed planned times.
type Policy string

const (
	// CatchUpLast catches up the last missed time of each branch. It is the default.
	CatchUpLast Policy = "last"
	// CatchUpNone drops missed times.
	CatchUpNone Policy = "none"
	// CatchUpAll catches up all missed times, oldest first, one at a time, but at most the last
	// MaxCatchUp.
	CatchUpAll Policy = "all"
)

// Policies returns all policies, the default first.
func Policies() []Policy { return []Policy{CatchUpLast, CatchUpNone, CatchUpAll} }

// MaxCatchUp is the maximum number of times that a branch catches up, with CatchUpAll or, with any
// policy, after its runs could not be started for a while.
const MaxCatchUp = 100

// Book stores the state of schedules, and the controls that people set on them.
type Book interface {
	journal.Schedules
	journal.Controls
}

// AskLimit is how long a scheduler may be down and still start a run that a person requested.
const AskLimit = 24 * time.Hour

// Config configures a Scheduler. Source, Runs and Book must be set.
type Config struct {
	Source Source
	Runs   Runs
	// Program is the program whose schedules these are, or "" for the schedules of stored
	// workflows. Other schedules are not touched.
	Program string
	// Book stores the state of schedules. It is a handle of this scheduler's process.
	Book Book
	// Zone is the zone of calendars whose document specifies none; nil means UTC.
	Zone *time.Location
	// CatchUp is the default policy; "" means CatchUpLast.
	CatchUp Policy
	// IsHung reports whether the owner with the given id sends no heartbeat, so that it executes no
	// schedules although it is alive; nil means that no owner is hung.
	IsHung func(owner string) bool
	// Poll is how often published workflows are read, and how soon a change of the machine's clock
	// is noticed. 0 means one second. While nothing is scheduled, workflows are read half as often.
	Poll time.Duration
	// Keep is how long a registered schedule that Source does not list is kept after this process
	// took the lead: a starting program lists its graphs one after another. 0 means not at all.
	Keep time.Duration
	// Grace is how late a planned time may be noticed and still count as met, not missed. 0 means
	// one minute.
	Grace time.Duration
	// Now is the wall clock; nil means time.Now. Sleeping uses the process's own clock.
	Now func() time.Time
	// Report receives the events, in order, from one goroutine; it must be quick. Nil means no
	// reports.
	Report func(Event)
	// Logger is the logger; nil means no logging.
	Logger *slog.Logger
}

const (
	defaultPoll  = time.Second
	defaultGrace = time.Minute
	// idlePolls is the number of Polls between two reads while nothing is scheduled.
	idlePolls = 2
	// backLimit is how far back the clock must be set for the time that it showed before to count
	// as wrong; the scheduler then does not wait for that time to come again.
	backLimit = 24 * time.Hour
)

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Source == nil || c.Runs == nil || c.Book == nil:
		return c, errors.New("scheduler: Source, Runs or Book is not set")
	case c.Poll < 0 || c.Grace < 0 || c.Keep < 0:
		return c, errors.New("scheduler: Poll, Grace and Keep must not be negative")
	}
	c.CatchUp = cmp.Or(c.CatchUp, CatchUpLast)
	if !slices.Contains(Policies(), c.CatchUp) {
		return c, fmt.Errorf("scheduler: unknown policy %q", c.CatchUp)
	}
	c.Poll, c.Grace = cmp.Or(c.Poll, defaultPoll), cmp.Or(c.Grace, defaultGrace)
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.IsHung == nil {
		c.IsHung = func(string) bool { return false }
	}
	if c.Report == nil {
		c.Report = func(Event) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Scheduler executes the schedules of one store.
type Scheduler struct {
	cfg Config
	// done carries results of workers to the loop.
	done chan func()
	wg   sync.WaitGroup

	// All fields below belong to the loop.
	leads    bool
	since    time.Time // when this process took the lead; earlier planned times were missed
	lastPoll time.Time // on the process's clock
	logged   map[string]string
	unread   map[Key]unread
	stored   map[Key]journal.Registration
	all      map[Key]*entry
}

// New returns a Scheduler. It starts nothing until Run.
func New(cfg Config) (*Scheduler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Scheduler{cfg: cfg, done: make(chan func()), logged: map[string]string{}, all: map[Key]*entry{},
		unread: map[Key]unread{}}, nil
}

// now returns the wall clock, truncated to the precision of a store.
func (s *Scheduler) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond).Round(0) }

// Run executes the schedules until ctx is done, and returns when none of its goroutines is left.
// Runs that it started continue; their driver ends them. It must be called only once.
//
// It returns no error: failures are logged and retried.
func (s *Scheduler) Run(ctx context.Context) {
	defer s.wg.Wait()
	for ctx.Err() == nil {
		t := time.NewTimer(s.runDue(ctx))
		select {
		case <-ctx.Done():
		case <-t.C:
		case f := <-s.done:
			f()
		}
		t.Stop()
	}
}

// runDue performs the due work and returns the time until there is more to do.
func (s *Scheduler) runDue(ctx context.Context) time.Duration {
	if !s.lead(ctx) {
		return s.cfg.Poll
	}
	rest := s.cfg.Poll - time.Since(s.lastPoll)
	if s.lastPoll.IsZero() || rest <= 0 {
		s.lastPoll = time.Now()
		s.refresh(ctx)
		rest = s.cfg.Poll
	}
	if len(s.all) == 0 {
		return idlePolls * s.cfg.Poll
	}
	now := s.now()
	for _, key := range slices.SortedFunc(maps.Keys(s.all), journal.CompareScheduleKeys) {
		e := s.all[key]
		if wake := s.step(ctx, e, now); !wake.IsZero() {
			rest = min(rest, wake.Sub(now))
		}
		s.save(ctx, e)
	}
	// A clock change during the sleep is noticed after Poll at the latest. Sub saturates, so a
	// distant wake time causes no busy loop.
	return max(rest, 0)
}

// lead reports whether this process executes the schedules now. It checks each time: another
// process may have taken over while this one was stopped.
func (s *Scheduler) lead(ctx context.Context) bool {
	hung := ""
	if !s.leads {
		if leader, alive, err := s.cfg.Book.Leader(ctx, s.cfg.Program); err == nil && alive && s.cfg.IsHung(leader.ID) {
			hung = leader.ID
		}
	}
	leader, mine, err := s.cfg.Book.Lead(ctx, s.cfg.Program, hung)
	switch {
	case s.failed(ctx, "lead", "cannot become the scheduler", err):
		return s.leads // until known otherwise: a slot started by two processes has one run
	case mine && s.leads:
		return true
	case !mine:
		s.leads, s.all, s.lastPoll = false, map[Key]*entry{}, time.Time{}
		if s.logged["leader"] != leader.ID {
			s.logged["leader"] = leader.ID
			s.cfg.Report(Event{Kind: EventWaiting, At: s.now(), Detail: leader.String()})
		}
		return false
	}
	list, err := s.cfg.Book.Registrations(ctx)
	if s.failed(ctx, "book", "cannot read the registered schedules", err) {
		return false
	}
	s.stored = map[Key]journal.Registration{}
	for _, r := range list {
		if r.Program == s.cfg.Program {
			s.stored[r.ScheduleKey] = r
		}
	}
	s.leads, s.since = true, s.now()
	delete(s.logged, "leader")
	s.cfg.Report(Event{Kind: EventLeading, At: s.since})
	return true
}

// failed reports whether err is not nil, and logs it with args unless it was the last error logged
// for about.
func (s *Scheduler) failed(ctx context.Context, about, doing string, err error, args ...any) bool {
	switch {
	case err == nil:
		delete(s.logged, about)
		return false
	case ctx.Err() == nil && s.logged[about] != err.Error():
		s.logged[about] = err.Error()
		s.cfg.Logger.Warn(doing, append(args, "err", err)...)
	}
	return true
}

// send passes a worker's result to the loop.
func (s *Scheduler) send(ctx context.Context, f func()) {
	select {
	case s.done <- f:
	case <-ctx.Done():
	}
}
