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

// Key names a schedule of a stored workflow, or of a graph of a program.
type Key = journal.ScheduleKey

// Branch is a branch of a published workflow with its schedule.
type Branch struct {
	Key
	// Version is that of the published workflow; 0 where it has none.
	Version  int
	Schedule workflow.Schedule
	// CatchUp is the policy of this schedule; "": that of the scheduler.
	CatchUp Policy
	// Err says that the workflow, or the schedule, cannot be read now. Its schedules stay registered and start nothing.
	Err error
}

// Source lists what is scheduled: every branch of every published workflow that has a schedule, or every scheduled graph of a program, in any order.
type Source interface {
	Branches(ctx context.Context) ([]Branch, error)
}

// Slot is one run that is wanted.
type Slot struct {
	Key
	// Planned is the planned time in UTC and microseconds; for a continuous branch the instant at which the run was decided on.
	Planned time.Time
	// CatchUp: the planned time was missed.
	CatchUp bool
	// Asked: a person asked for it at the time Planned.
	Asked bool
}

// Runs starts runs and tells of them. Safe for concurrent use.
type Runs interface {
	// Start begins the run of a slot and returns when that is durable. fresh is false where the slot had a run already, which is then given: of
	// two starts of one slot, in whatever processes, one is fresh.
	//
	// Errors: *BusyError; ErrRefused, wrapped, where trying again would not help before a change; any other is tried again.
	Start(ctx context.Context, slot Slot) (run string, fresh bool, err error)
	// Active gives a run of the branch that has not ended and that a process will end; "" where there is none.
	Active(ctx context.Context, key Key) (run string, err error)
	// Wait waits until a run has ended, paused ones too, and gives its status. Errors: ctx's; journal.ErrNotFound; ErrLeft, wrapped, once no process will
	// end the run, which Active gives no more.
	Wait(ctx context.Context, run string) (journal.Status, error)
}

// BusyError says that a run was not started as others go on, of which Run is one, whatever the schedule says of them. Nothing was stored.
type BusyError struct {
	Run string
	Err error
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *BusyError) Unwrap() error { return e.Err }

// ErrRefused says that a run was not acceptable: nothing was stored (D25).
var ErrRefused = errors.New("run was refused")

// ErrLeft says that a run has not ended and that no process will end it unless a person resumes it.
var ErrLeft = errors.New("run has no process that drives it")

// Policy says what becomes of planned times that were missed.
type Policy string

const (
	// CatchUpLast makes up for the last one of each branch. It is the default.
	CatchUpLast Policy = "last"
	// CatchUpNone drops them.
	CatchUpNone Policy = "none"
	// CatchUpAll makes up for all, oldest first, one after the other, at most the last MaxCatchUp.
	CatchUpAll Policy = "all"
)

// Policies lists every policy, the default first.
func Policies() []Policy { return []Policy{CatchUpLast, CatchUpNone, CatchUpAll} }

// MaxCatchUp bounds what a branch makes up for: by CatchUpAll, or, by any policy, because its runs could not be started for a while.
const MaxCatchUp = 100

// Book keeps where schedules stand, and what people said of them.
type Book interface {
	journal.Schedules
	journal.Controls
}

// AskLimit is how long a scheduler may be down and still start a run that a person asked for.
const AskLimit = 24 * time.Hour

// Config is what a Scheduler is made of. Source, Runs and Book must be set.
type Config struct {
	Source Source
	Runs   Runs
	// Program is the one whose schedules these are, "" for those of stored workflows. Schedules of others are left alone.
	Program string
	// Book keeps where schedules stand. It is a handle of this scheduler's process.
	Book Book
	// Zone is that of calendars whose document names none; nil: UTC.
	Zone *time.Location
	// CatchUp; "": CatchUpLast.
	CatchUp Policy
	// IsHung tells whether the owner with this id gives no sign of life, so that it carries out no schedules though it lives; nil: none does.
	IsHung func(owner string) bool
	// Poll is how often published workflows are looked at, and how soon a change of the machine's clock is seen. 0: one second. While nothing is scheduled they are looked at half as often.
	Poll time.Duration
	// Keep is how long a registered schedule that Source does not list is kept after this process took the lead: a program that starts lists its graphs one after another. 0: not at all.
	Keep time.Duration
	// Grace is how late a planned time may be noticed and still count as met, not missed. 0: one minute.
	Grace time.Duration
	// Now is the wall clock; nil: time.Now. Sleeping is done by the process's own clock.
	Now func() time.Time
	// Report is told what happens, in order, by one goroutine; it must be quick. Nil: no reports.
	Report func(Event)
	// Logger; nil: none.
	Logger *slog.Logger
}

const (
	defaultPoll  = time.Second
	defaultGrace = time.Minute
	// idlePolls is how many Polls there are between two looks while nothing is scheduled.
	idlePolls = 2
	// backLimit is how far the clock must have been set back to count as wrong before: then planned times up to it are not waited for.
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

// Scheduler carries out the schedules of one store.
type Scheduler struct {
	cfg Config
	// done carries what workers found out to the loop.
	done chan func()
	wg   sync.WaitGroup

	// All below belongs to the loop.
	leads  bool
	since  time.Time // planned times up to it came before this process carried out schedules
	looked time.Time // by the process's clock
	told   map[string]string
	stored map[Key]journal.Registration
	all    map[Key]*entry
}

// New makes a Scheduler. It starts nothing until Run.
func New(cfg Config) (*Scheduler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Scheduler{cfg: cfg, done: make(chan func()), told: map[string]string{}, all: map[Key]*entry{}}, nil
}

// now is the wall clock without what a store would cut off.
func (s *Scheduler) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond).Round(0) }

// Run keeps the schedules until ctx is done, and returns when no goroutine of it is left. Runs that it started go on; their driver ends
// them. It is called once.
//
// It gives no error: what goes wrong is logged and tried again.
func (s *Scheduler) Run(ctx context.Context) {
	defer s.wg.Wait()
	for ctx.Err() == nil {
		t := time.NewTimer(s.round(ctx))
		select {
		case <-ctx.Done():
		case <-t.C:
		case f := <-s.done:
			f()
		}
		t.Stop()
	}
}

// round does what there is to do now and tells how long there is nothing more.
func (s *Scheduler) round(ctx context.Context) time.Duration {
	if !s.lead(ctx) {
		return s.cfg.Poll
	}
	rest := s.cfg.Poll - time.Since(s.looked)
	if s.looked.IsZero() || rest <= 0 {
		s.looked = time.Now()
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
	// A clock that is set while we sleep is seen after Poll at the latest; a time.Duration is never the reason for a busy loop.
	return max(rest, 0)
}

// lead tells whether this process carries out the schedules now. It asks each time: another process may have taken its place while it was stopped.
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
		return s.leads // until it knows better: a slot that two processes start has one run
	case mine && s.leads:
		return true
	case !mine:
		s.leads, s.all, s.looked = false, map[Key]*entry{}, time.Time{}
		if s.told["leader"] != leader.ID {
			s.told["leader"] = leader.ID
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
	delete(s.told, "leader")
	s.cfg.Report(Event{Kind: EventLeading, At: s.since})
	return true
}

// failed logs an error of the ports, once for each that is new.
func (s *Scheduler) failed(ctx context.Context, about, doing string, err error) bool {
	switch {
	case err == nil:
		delete(s.told, about)
		return false
	case ctx.Err() == nil && s.told[about] != err.Error():
		s.told[about] = err.Error()
		s.cfg.Logger.Warn(doing, "err", err)
	}
	return true
}

// send hands what a worker found out to the loop.
func (s *Scheduler) send(ctx context.Context, f func()) {
	select {
	case s.done <- f:
	case <-ctx.Done():
	}
}
