package stored

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// Fork stores a new run that has the past of another run up to the event at, and returns its id.
// Events of one activation belong together, so the events that were stored with at are included.
// The new run has no owner: Resume and Answer continue it. Calls that were in flight at that point
// are repeated in the new run, with their own keys. allow, if not nil, is called with that past,
// and its error is returned.
//
// Errors, with nothing stored: journal.ErrNotFound, *journal.CorruptError; ErrForkPoint.
func (r *Runs) Fork(ctx context.Context, run string, at uint64, allow func(past []event.Event) error) (string, error) {
	return r.Derive(ctx, run, &Derived{Past: UpTo(run, at, allow)})
}

// UpTo returns a function that builds the past of a fork, for Derived.Past; see [Runs.Fork].
func UpTo(run string, at uint64, allow func(past []event.Event) error) func(activations [][]event.Event) (
	[]event.Event, error) {
	return func(activations [][]event.Event) ([]event.Event, error) {
		var past []event.Event
		for _, events := range activations {
			if len(past) == 0 || past[len(past)-1].Seq < at {
				past = append(past, events...)
			}
		}
		if at == 0 || len(past) == 0 || past[len(past)-1].Seq < at {
			return nil, fmt.Errorf("fork run %s at event %d: %w: it has %d events", run, at, ErrForkPoint, len(past))
		}
		if allow != nil {
			return past, allow(past)
		}
		return past, nil
	}
}

// Derived specifies how a run derived from another run differs from it.
type Derived struct {
	// Run is the id of the new run, which must not exist; "" generates one.
	Run string
	// Past builds the events of the new run from those of the other run, which it receives
	// activation by activation. It may change the slices but none of the data. Its error is
	// returned.
	Past func(activations [][]event.Event) ([]event.Event, error)
	// Reopen, if not nil, continues the run if its past ends with a limit. It is read after Past
	// was called.
	Reopen *engine.Reopen
	// Spec, if not nil, replaces the workflow, its names, the model, the meta and the files with
	// which the other run was started, and the prices and facts that it recorded. Other fields are
	// ignored.
	Spec *driver.Spec
	// Model, Prices and Files replace those of the other run if they are set. They are ignored if
	// Spec is set.
	Model  string
	Prices []event.Price
	Files  map[string][]byte
	// Parent, if not "", is the run whose call continues the new run, which may have ended. Meta
	// replaces entries of the other run's meta.
	Parent string
	Meta   map[string]string
	// Children maps child runs whose calls the new run continues to the runs that take their place.
	// It is read after Past was called. Before, if not nil, is called before the new run is stored;
	// its error is returned.
	Children map[string]string
	Before   func() error
}

// Derive stores a new run whose past is built from another run's, and returns its id. Otherwise it
// is like Fork.
//
// Errors, with nothing stored: journal.ErrNotFound, journal.ErrExists, *journal.CorruptError;
// ErrForkPoint; *engine.DivergenceError if the past does not fit the definition.
func (r *Runs) Derive(ctx context.Context, run string, q *Derived) (id string, err error) {
	defer recovered(&err)
	head, err := r.cfg.Journal.Head(ctx, run)
	if err != nil {
		return "", err
	}
	all, err := r.activations(ctx, run)
	if err != nil {
		return "", err
	}
	past, err := q.Past(all)
	if err != nil {
		return "", err
	}
	if past, err = asFork(ctx, run, past, r.now(), q); err != nil {
		return "", err
	}
	create, plan, blobs, err := r.derived(ctx, head, q, past)
	if err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, journal.InRun(run, err))
	}
	id = cmp.Or(q.Run, driver.NewRunID(r.now()))
	folded := engine.New(plan, id)
	if q.Spec != nil {
		past, err = Redefine(folded, past, r.now())
	} else {
		err = folded.Apply(past)
	}
	if err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	if folded.Status().Ended() && q.Reopen == nil && q.Parent == "" {
		return "", fmt.Errorf("fork run %s: %w: the run had ended", run, ErrForkPoint)
	}
	var ends []journal.Notice
	if q.Reopen != nil {
		done, err := folded.Activate([]engine.Input{{At: r.now(), Data: *q.Reopen}})
		if err != nil {
			return "", fmt.Errorf("fork run %s: %w", run, err)
		}
		past = append(past, done.Events...)
		if folded.Status().Ended() { // nothing was left to do except what the limit withheld
			ends = slices.DeleteFunc(driver.Notices(done.Events), func(n journal.Notice) bool {
				return n.Seq != folded.Seq()
			})
		}
	}
	first, more, values, err := journal.EncodeParts(nil, past)
	if err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	a := journal.Append{
		Run: id, At: r.now(), Status: driver.StatusOf(folded), Waiting: len(folded.Waits()), Release: true,
		Create: create,
		Record: first, More: more, Blobs: append(blobs, values...),
		Notices: append(driver.OpenWaits(past, folded), ends...), Index: driver.Index(folded, past),
	}
	if q.Before != nil {
		if err := q.Before(); err != nil {
			return "", err
		}
	}
	if err := r.cfg.Journal.Append(context.WithoutCancel(ctx), a); err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	return id, nil
}

// derived returns the listing entry of a derived run, its compiled definition, and the blobs that
// it needs. It changes the first event of past.
func (r *Runs) derived(ctx context.Context, head journal.Head, q *Derived, past []event.Event) (
	*journal.NewRun, *engine.Plan, []journal.Blob, error) {
	create := head.NewRun
	create.Parent, create.Session, create.Created, create.Kind = q.Parent, "", r.now(), r.cfg.Kind
	create.Meta = tracecontext.Keep(maps.Clone(head.Meta), tracecontext.From(ctx)) // it has a different caller
	maps.Copy(create.Meta, q.Meta)
	first := past[0].Data.(*event.RunCreated) // created by asFork
	if q.Spec != nil {
		canonical, err := q.Spec.Workflow.Canonical()
		if err != nil {
			return nil, nil, nil, err
		}
		definition := journal.NewBlob(canonical)
		plan, err := r.compile(q.Spec.Workflow, q.Spec.Program)
		if err != nil {
			return nil, nil, nil, err
		}
		blobs, meta := q.Spec.Kept()
		meta = tracecontext.Keep(meta, tracecontext.From(ctx))
		w := plan.Workflow()
		id, name := q.Spec.WorkflowID, q.Spec.WorkflowName
		if id == "" && name == "" {
			id, name = w.ID, w.Name
		}
		create.Workflow, create.WorkflowName, create.Format, create.Definition, create.Meta = cmp.Or(id, name), name,
			w.Format, definition.Hash, meta
		first.Workflow, first.Name, first.Format, first.Digest = id, cmp.Or(name, w.Name), w.Format, definition.Hash
		create.Branch, create.Trigger, create.Labels, create.Preview = q.Spec.Meta[driver.MetaBranch], q.Spec.Trigger,
			q.Spec.Labels, journal.Preview(first.Input)
		first.Trigger, first.Labels = q.Spec.Trigger, q.Spec.Labels
		first.Prices, first.Facts = q.Spec.Prices, q.Spec.Facts
		first.Meta = tracecontext.Keep(maps.Clone(q.Spec.Meta), tracecontext.From(ctx))
		return &create, plan, append(blobs, definition), nil
	}
	plan, err := r.plan(ctx, head.Definition)
	if err != nil {
		return nil, nil, nil, err
	}
	if create.Meta == nil {
		create.Meta = map[string]string{}
	}
	if q.Model != "" {
		create.Meta[driver.MetaModel] = q.Model
	}
	if q.Prices != nil {
		first.Prices = q.Prices
	}
	blobs, err := r.startBlobs(ctx, head)
	for name, data := range q.Files {
		b := journal.NewBlob(data)
		create.Meta[driver.MetaFile+name] = b.Hash
		blobs = append(blobs, b)
	}
	return &create, plan, blobs, err
}

// activations returns the events of a run, activation by activation.
func (r *Runs) activations(ctx context.Context, run string) ([][]event.Event, error) {
	var all [][]event.Event
	isContinued := false
	err := r.events(ctx, run, func(events []event.Event, more bool) error {
		if isContinued {
			last := &all[len(all)-1]
			*last = append(*last, events...)
		} else {
			all = append(all, events)
		}
		isContinued = more
		return nil
	})
	if err == nil && isContinued {
		n := len(all) - 1
		err = &journal.CorruptError{Run: run, Seq: all[n][len(all[n])-1].Seq + 1,
			Reason: "the rest of an activation is missing"}
	}
	return all, err
}

// asFork converts events of a run into those of a run forked from it.
func asFork(ctx context.Context, run string, past []event.Event, now time.Time, q *Derived) ([]event.Event, error) {
	if len(past) == 0 {
		return nil, fmt.Errorf("fork run %s: %w: no event of it is left", run, ErrForkPoint)
	}
	created, ok := past[0].Data.(*event.RunCreated)
	if !ok {
		return nil, &journal.CorruptError{Run: run, Seq: 1, Reason: "it was never created"}
	}
	RenewTimeouts(past, now)
	first := *created
	first.ForkedFrom, first.ForkedAt, first.ParentRun = run, now, q.Parent
	first.Meta = tracecontext.Keep(maps.Clone(created.Meta), tracecontext.From(ctx))
	maps.Copy(first.Meta, q.Meta)
	past[0].Data = &first
	replaceChildren(past, q.Children)
	if q.Parent != "" { // the budget that its parent left for it stays
		return past, nil
	}
	first.Above = nil
	for i := range past {
		if d, ok := past[i].Data.(*event.RunResumed); ok && d.Above != nil {
			free := *d
			free.Above = nil
			past[i].Data = &free
		}
	}
	return past, nil
}

// RenewTimeouts lets the timeouts of the steps that run at the end of past start again at now.
// Those of a fork started when it was forked.
func RenewTimeouts(past []event.Event, now time.Time) {
	var forkedAt time.Time
	timed := map[int]int{} // running steps to the positions of their starts
	for i := range past {
		switch d := past[i].Data.(type) {
		case *event.RunCreated:
			forkedAt = d.ForkedAt
		case *event.StepStarted:
			if d.Expires != nil {
				timed[past[i].Step] = i
			}
		default:
			if event.StepEnd(d) != event.Running {
				delete(timed, past[i].Step)
			}
		}
	}
	for _, i := range timed {
		d, start := *past[i].Data.(*event.StepStarted), past[i].At
		if start.Before(forkedAt) {
			start = forkedAt
		}
		d.Expires = new(now.Add(d.Expires.Sub(start)))
		past[i].Data = &d
	}
}

// Redefine folds past into a new run whose definition replaces the one that recorded it, and
// returns its events. Steps that make calls and wait to begin again do so with the input and the
// timeout that the new definition has for them, and without what they did before; other steps that
// run at the end and have a timeout have the new one, from now on.
//
// It returns a *engine.DivergenceError if the past does not fit the definition.
func Redefine(run *engine.Run, past []event.Event, now time.Time) ([]event.Event, error) {
	last := map[int]event.Data{} // by running step
	for i := range past {
		if step := past[i].Step; event.StepEnd(past[i].Data) != event.Running {
			delete(last, step)
		} else if _, ok := past[i].Data.(*event.StepStarted); ok || last[step] != nil {
			last[step] = past[i].Data
		}
	}
	restarted := map[int]bool{}
	out := make([]event.Event, 0, len(past))
	for _, ev := range past {
		d, starts := ev.Data.(*event.StepStarted)
		wait, _ := last[ev.Step].(*event.StepRetrying)
		switch {
		case starts && wait != nil && wait.Call == "" && loop.Calls(d.Kind):
			again, err := run.StartAgain(d, now)
			if err != nil {
				return nil, err
			}
			restarted[ev.Step], ev.Data = true, again
		case starts && last[ev.Step] != nil && d.Expires != nil:
			if again, err := run.StartAgain(d, now); err == nil {
				was := *d
				was.Expires, ev.Data = again.Expires, &was
			}
		case restarted[ev.Step] && ev.Data != last[ev.Step]:
			if _, ok := ev.Data.(*event.ConditionChecked); !ok {
				continue
			}
		}
		ev.Seq = uint64(len(out) + 1)
		out = append(out, ev)
		if err := run.Apply(out[len(out)-1:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replaceChildren replaces the ids of child runs that other runs take the place of. Other child
// runs that had not ended are replaced by ones that used no more than had been reported by then:
// they belong to the other run, and the calls that started them are repeated here, with their own
// runs.
func replaceChildren(past []event.Event, by map[string]string) {
	last, used := map[string]int{}, map[string]event.Used{}
	for i := range past {
		switch d := past[i].Data.(type) {
		case *event.WaitOpened:
			if d.Below != nil && by[d.Below.Run] != "" {
				c, below := *d, *d.Below
				below.Run = by[below.Run]
				c.Below, past[i].Data = &below, &c
			}
		case *event.ChildStarted:
			if run := by[d.Run]; run != "" {
				c := *d
				c.Run, past[i].Data = run, &c
				continue
			}
			last[d.Run] = i
		case *event.CallUsed:
			if run := by[d.Run]; run != "" {
				c := *d
				c.Run, past[i].Data = run, &c
				continue
			}
			if used[d.Run] = d.Used; d.Run != "" && d.Ended {
				delete(last, d.Run)
			} else if d.Run != "" {
				last[d.Run] = i
			}
		}
	}
	for run, i := range last {
		switch d := past[i].Data.(type) {
		case *event.ChildStarted:
			end := &event.CallUsed{Call: d.Call, Attempt: d.Attempt}
			if u, told := used[run]; told {
				end.Run, end.Ended, end.Used = run, true, u
			}
			past[i].Data = end
		case *event.CallUsed:
			end := *d
			end.Ended = true
			past[i].Data = &end
		}
	}
}

// startBlobs returns the blobs that a run was started with: its definition and its files.
func (r *Runs) startBlobs(ctx context.Context, head journal.Head) ([]journal.Blob, error) {
	hashes := []string{head.Definition}
	for key, hash := range head.Meta {
		if strings.HasPrefix(key, driver.MetaFile) {
			hashes = append(hashes, hash)
		}
	}
	var blobs []journal.Blob
	for _, hash := range hashes {
		data, err := r.cfg.Journal.Blob(ctx, hash)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, journal.NewBlob(data))
	}
	return blobs, nil
}
