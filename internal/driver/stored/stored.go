package stored

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Journal is the part of a store that this package uses.
type Journal interface {
	Append(ctx context.Context, a journal.Append) error
	Head(ctx context.Context, run string) (journal.Head, error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error)
	Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error
}

// Config configures Runs. Journal must be set.
type Config struct {
	Journal Journal
	// Kind is the kind of the runs that are stored here.
	Kind journal.Kind
	// Program finds the Go program of a workflow; it returns nil for a document. If Program is nil,
	// there are only documents.
	Program func(w *workflow.Workflow) (driver.Program, error)
	// Expressions compiles the expressions of documents; nil means that there are none.
	Expressions expr.Compiler
	// Now is the clock for the times of events; nil means time.Now.
	Now func() time.Time
}

// Runs operates on stored runs. It is safe for concurrent use.
type Runs struct{ cfg Config }

// New creates Runs with a configuration.
func New(cfg Config) *Runs {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Runs{cfg}
}

func (r *Runs) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// events reads all events of a run, record by record.
func (r *Runs) events(ctx context.Context, run string, take func(events []event.Event, isContinued bool) error) error {
	return journal.EachEvents(ctx, Charged{r.cfg.Journal}, run, 0, take)
}

// Charged is a source of events that reserves bytes in flight for a blob, a long value or a
// definition, before it reads it for a request of a server.
type Charged struct{ journal.TextSource }

// valueWork is the memory that a byte of a blob costs until the request ends: as read, as
// decoded, and in the answer.
const valueWork = 4

// Blob implements journal.EventSource. It also returns the errors of [inflight.Claim.Reserve].
func (s Charged) Blob(ctx context.Context, hash string) ([]byte, error) {
	if claim := inflight.From(ctx); claim != nil {
		_, size, err := s.Part(ctx, hash, 0, 0)
		if err == nil {
			err = claim.Reserve(valueWork * size)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.TextSource.Blob(ctx, hash)
}

// compile returns the plan of a workflow, with the functions of program; if program is nil, it is
// looked up.
func (r *Runs) compile(w *workflow.Workflow, program driver.Program) (*engine.Plan, error) {
	if program == nil && r.cfg.Program != nil {
		var err error
		if program, err = r.cfg.Program(w); err != nil {
			return nil, fmt.Errorf("find the program of workflow %q: %w", w.Name, err)
		}
	}
	if program == nil {
		return engine.Compile(w, nil, r.cfg.Expressions)
	}
	return engine.Compile(w, program, r.cfg.Expressions)
}

// plan returns the compiled definition with the given digest. It returns a *journal.CorruptError if
// the definition is missing or invalid.
func (r *Runs) plan(ctx context.Context, digest string) (*engine.Plan, error) {
	w, err := driver.ReadDefinition(ctx, Charged{r.cfg.Journal}, digest)
	if err != nil {
		return nil, err
	}
	return r.compile(w, nil)
}

// File returns a file that a run was started with. It returns journal.ErrNotFound if there is none.
func (r *Runs) File(ctx context.Context, run, name string) ([]byte, error) {
	head, err := r.cfg.Journal.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	hash, ok := head.Meta[driver.MetaFile+name]
	if !ok {
		return nil, fmt.Errorf("file %q of run %s: %w", name, run, journal.ErrNotFound)
	}
	return r.cfg.Journal.Blob(ctx, hash)
}

// Spent returns what has counted against the budgets of a run so far, and what its parent leaves
// for it. Errors: journal.ErrNotFound, *journal.CorruptError, *journal.NewerError.
func (r *Runs) Spent(ctx context.Context, run string) (spent event.Spent, parent *workflow.Budget, err error) {
	defer recovered(&err)
	folded, err := r.fold(ctx, run)
	if err != nil {
		return event.Spent{}, nil, err
	}
	return folded.Spent(), folded.ParentBudget(), nil
}

// TakesSignal returns the open wait of a run that a signal would answer, as
// [engine.Run.TakesSignal] does. Errors: see Spent.
func (r *Runs) TakesSignal(ctx context.Context, run string, d engine.Answer) (wait string, known bool, err error) {
	defer recovered(&err)
	folded, err := r.fold(ctx, run)
	if err != nil {
		return "", false, err
	}
	wait, known = folded.TakesSignal(d)
	return wait, known, nil
}

// fold returns the state of a run.
func (r *Runs) fold(ctx context.Context, run string) (*engine.Run, error) {
	head, err := r.cfg.Journal.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	plan, err := r.plan(ctx, head.Definition)
	if err != nil {
		return nil, journal.InRun(run, err)
	}
	folded := engine.New(plan, run)
	err = r.events(ctx, run, func(events []event.Event, _ bool) error { return folded.Apply(events) })
	return folded, err
}

// recovered converts a panic of the engine into an error: a bug that affects one run must not stop
// others.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("engine panicked: %v", v)
	}
}

// ErrForkPoint is returned when a run cannot be forked at an event: the event does not exist, or
// the run had ended with it.
var ErrForkPoint = errors.New("invalid fork point")
