package child_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/workflow"
)

var part, more = &workflow.Budget{MaxCalls: 3}, &workflow.Budget{MaxCalls: 5}

// world is a store, a driver, a host and a ledger that record calls.
type world struct {
	log []string
	// parent is the run whose child run c is; "" means that there is no such run. below holds the
	// child runs of each run.
	parent string
	below  map[string][]string
	// states are the successive states in which c is found, and short what is reported about each.
	states       []driver.State
	short        []bool
	resume, most error
	cancel       context.CancelCauseFunc
	reason       error
}

func (w *world) notef(format string, args ...any) {
	w.log = append(w.log, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (w *world) Head(_ context.Context, run string) (journal.Head, error) {
	if w.parent == "" {
		return journal.Head{}, journal.ErrNotFound
	}
	return journal.Head{Run: run, NewRun: journal.NewRun{Parent: w.parent}}, nil
}

func (w *world) List(_ context.Context, q journal.Query) (heads []journal.Head, next string, err error) {
	for _, run := range w.below[q.Parent] {
		heads = append(heads, journal.Head{Run: run})
	}
	return heads, "", nil
}

func (w *world) Wait(context.Context, string) (driver.State, error) { return driver.State{}, nil }

func (w *world) Cancel(_ context.Context, run, _ string) error {
	w.notef("cancel %s", run)
	return nil
}

func (w *world) Interrupt(_ context.Context, run string) error {
	w.notef("interrupt %s", run)
	return nil
}

func (w *world) Extend(_ context.Context, run string, b *workflow.Budget) error {
	w.notef("extend %s to %d", run, b.MaxCalls)
	return nil
}

func (w *world) Inherit(string, string) {}

func (w *world) Resume(_ context.Context, run string) error {
	w.notef("resume %s", run)
	return w.resume
}

func (w *world) WaitUntil(ctx context.Context, _ string, done func(driver.State) bool) (driver.State, error) {
	for {
		if len(w.states) == 0 {
			w.cancel(w.reason)
			return driver.State{}, ctx.Err()
		}
		st := w.states[0]
		w.states = w.states[1:]
		if st.Status.Ended() || done(st) {
			return st, nil
		}
	}
}

func (w *world) Usage(context.Context, string) (child.Usage, error) {
	if w.parent == "" {
		return child.Usage{}, journal.ErrNotFound
	}
	u := child.Usage{Status: event.StatusCompleted}
	if len(w.short) > 0 && w.short[0] {
		u.Short, u.Limit = part, "calls"
	}
	w.short = w.short[min(1, len(w.short)):]
	return u, nil
}

type ledger struct {
	driver.NoCaller
	*world
}

func (l ledger) Begin(_ context.Context, run string, shares int, had *workflow.Budget) (*workflow.Budget, error) {
	if had == nil {
		l.notef("begin %s of %d", run, shares)
		return part, nil
	}
	l.notef("begin %s again", run)
	return more, l.most
}

func (l ledger) Use(u engine.CallUse) error {
	l.notef("use %s, ended %t", u.Run, u.Ended)
	return nil
}

// P11, P12, P20: all child runs have the same lifecycle.
func TestDrive(t *testing.T) {
	t.Parallel()
	completed, paused, lost := driver.State{Status: event.StatusCompleted}, driver.State{Status: event.StatusPaused},
		driver.State{Status: event.StatusRunning, Interrupted: true}
	started := []string{"begin c of 2", "start c within 3"}
	used := "use c, ended true"
	broken, spent := errors.New("it cannot start"), &engine.BudgetError{Detail: "calls"}
	for _, c := range []struct {
		name  string
		world world
		start error // of Start
		waits bool
		want  []string
		err   error
	}{
		{"it runs", world{states: []driver.State{completed}}, nil, false, append(started, used), nil},
		{"it pauses", world{states: []driver.State{paused}}, nil, false, append(started, used), nil},
		{"it pauses and is waited for", world{states: []driver.State{paused, completed}}, nil, true,
			append(started, used), nil},
		{"its owner dies", world{states: []driver.State{lost, completed}}, nil, false,
			append(started, "resume c", used), nil},
		{"it was started before", world{parent: "p", states: []driver.State{completed}}, nil, false,
			[]string{"begin c of 2", "resume c", used}, nil},
		{"another process drives it", world{parent: "p", resume: journal.ErrOwned, states: []driver.State{completed}},
			nil, false, []string{"begin c of 2", "resume c", used}, nil},
		{"it had ended", world{parent: "p", resume: engine.ErrEnded, states: []driver.State{completed}}, nil, false,
			[]string{"begin c of 2", "resume c", "ended", used}, nil},
		{"another process starts it first", world{states: []driver.State{completed}}, journal.ErrExists, false,
			append(started, "resume c", used), nil},
		{"it cannot be started", world{}, broken, false, append(started, used), broken},
		{"its part is used up", world{states: []driver.State{completed, completed}, short: []bool{true}}, nil, false,
			append(started, used, "begin c again", "extend c to 5", used), nil},
		{"all is used up", world{states: []driver.State{completed}, short: []bool{true}, most: spent}, nil, false,
			append(started, used, "begin c again"), spent},
		{"the call is interrupted", world{reason: driver.ErrInterrupted}, nil, false, append(started, "interrupt c"),
			context.Canceled},
		{"the call is cancelled", world{below: map[string][]string{"c": {"d", "e"}, "d": {"f"}}}, nil, false,
			append(started, "cancel c", "cancel d", "cancel f", "cancel e", used), context.Canceled},
	} {
		w := &c.world
		ctx, cancel := context.WithCancelCause(t.Context())
		w.cancel = cancel
		r := &child.Runs{Config: child.Config{Driver: w, Journal: w, Host: w, Logger: slog.New(slog.DiscardHandler)}}
		err := r.Drive(ctx, child.Work{
			Parent: "p", Run: "c", Caller: ledger{world: w}, Shares: 2, WaitsForPerson: c.waits,
			Start: func(_ context.Context, b *workflow.Budget) error {
				w.notef("start c within %d", b.MaxCalls)
				if c.start == nil || errors.Is(c.start, journal.ErrExists) {
					w.parent = "p"
				}
				return c.start
			},
			Ended: func(context.Context) error {
				w.notef("ended")
				return nil
			},
		})
		cancel(nil)
		if d := cmp.Diff(c.want, w.log); d != "" || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v\n- want + got\n%s", c.name, err, d)
		}
	}
}

// P12: a run with the id of the work that was started by another run, or by a person, is neither
// resumed nor stopped.
func TestDrive_ForeignRun(t *testing.T) {
	t.Parallel()
	w := &world{parent: "other"}
	r := &child.Runs{Config: child.Config{Driver: w, Journal: w, Host: w, Logger: slog.New(slog.DiscardHandler)}}
	err := r.Drive(t.Context(), child.Work{Parent: "p", Run: "c", Caller: ledger{world: w}})
	if err == nil || err.Error() != "run c is not a child of run p" || len(w.log) > 0 {
		t.Errorf("%v, %q", err, w.log)
	}
}
