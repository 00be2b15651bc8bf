package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/workflow"
)

// Request specifies how schedules are executed. Its zero value is valid.
type Request struct {
	// Zone is the zone of calendars whose document specifies none; nil means the machine's.
	Zone *time.Location
	// CatchUp is the policy for missed planned times; "" means that the last one is caught up.
	CatchUp scheduler.Policy
	// Model, Files and Trust apply to every run that is started, as in StartRequest.
	Model string
	resources.Files
	Trust bool
	// Report is called for each event; nil means no reports.
	Report func(scheduler.Event)
}

// Schedule executes the schedules of all published workflows until ctx is done, and resumes
// interrupted runs of this kind of process (D15). Of several processes on one store, one executes
// the schedules; the others wait until it ends (P37). The service must have been opened with
// journal.KindScheduler, or the kind of another long-running process.
//
// It returns an *InvalidError with nothing started.
func (s *Scheduler) Schedule(ctx context.Context, q Request) error {
	if q.Zone == nil {
		q.Zone = time.Local
	}
	sc, err := scheduler.New(scheduler.Config{
		Source: &publishedBranches{scheduler: s}, Runs: scheduledRuns{s, q}, Book: s.store, Zone: q.Zone,
		CatchUp: q.CatchUp,
		IsHung:  s.runs.IsHung, Report: q.Report, Logger: s.cfg.Logger,
	})
	if err != nil {
		return failure.Refuse(errcode.InvalidSchedule, nil, err)
	}
	s.request.Store(&q)
	defer s.request.Store(nil)
	var wg sync.WaitGroup
	wg.Go(func() { s.Maintain(ctx) })
	sc.Run(ctx)
	wg.Wait()
	return nil
}

// publishedBranches lists the scheduled branches of published workflows. Documents are read again
// only when something about them changed. It serves one scheduler.
type publishedBranches struct {
	scheduler *Scheduler
	known     map[string]publishedWorkflow
}

type publishedWorkflow struct {
	entry    catalog.Entry
	branches []scheduler.Branch
}

// Branches implements scheduler.Source.
func (p *publishedBranches) Branches(ctx context.Context) ([]scheduler.Branch, error) {
	entries, err := p.scheduler.definitions.Entries(ctx)
	if err != nil {
		return nil, err
	}
	next := make(map[string]publishedWorkflow, len(entries))
	var out []scheduler.Branch
	for _, e := range entries {
		if e.Published == 0 || e.Format == catalog.FormatRoutes {
			continue // drafts start nothing (P38), and rows have no schedules
		}
		w, ok := p.known[e.ID]
		if !ok || !w.entry.Equal(e) {
			w = publishedWorkflow{e, nil}
			if w.branches, err = p.scheduler.scheduledBranches(ctx, e); err != nil {
				return nil, err
			}
		}
		next[e.ID] = w
		out = append(out, w.branches...)
	}
	p.known = next
	return out, nil
}

// scheduledBranches reads the schedules of one workflow. Schedules that cannot be read are reported
// in the branch's error.
func (s *Scheduler) scheduledBranches(ctx context.Context, e catalog.Entry) ([]scheduler.Branch, error) {
	w, _, problems, err := s.definitions.LoadStored(ctx, e.ID, definition.Which{}, definition.LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, nil // it was just deleted
	case err != nil && failure.CodeOf(err) == failure.CodeInternal:
		return nil, err
	case err != nil && e.HasRows:
		return s.branchesBlockedByRows(ctx, e, err)
	case err != nil:
		return brokenBranch(e, err), nil
	case w == nil:
		return brokenBranch(e, problems.Err()), nil
	}
	return branchesOf(w, e), nil
}

// brokenBranch returns a placeholder for the schedules of a workflow whose schedules are unknown.
func brokenBranch(e catalog.Entry, err error) []scheduler.Branch {
	return []scheduler.Branch{{Key: scheduler.Key{Workflow: e.ID}, Err: err}}
}

// branchesBlockedByRows returns the schedules of a published document that cannot run because of
// rows with its id, with the reason as the error of each: the author of those rows must learn what
// they stopped.
func (s *Scheduler) branchesBlockedByRows(ctx context.Context, e catalog.Entry, reason error) (
	[]scheduler.Branch, error) {
	w, _, _, err := s.definitions.LoadStored(ctx, e.ID, definition.Which{Version: e.Published},
		definition.LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, nil // it was just deleted
	case err != nil && failure.CodeOf(err) == failure.CodeInternal:
		return nil, err
	case err != nil:
		return brokenBranch(e, err), nil
	case w == nil:
		return brokenBranch(e, reason), nil
	}
	branches := branchesOf(w, e)
	for i := range branches {
		branches[i].Err = reason
	}
	return branches, nil
}

// branchesOf returns the scheduled branches of a workflow. If it has branches, the main graph is
// never scheduled (S1-27).
func branchesOf(w *workflow.Workflow, e catalog.Entry) []scheduler.Branch {
	var out []scheduler.Branch
	add := func(branch string, list []workflow.Schedule) {
		for _, sch := range list {
			out = append(out, scheduler.Branch{Key: scheduler.Key{Workflow: e.ID, Branch: branch, Schedule: sch.ID},
				Version: e.Published, Schedule: sch})
		}
	}
	if len(w.Branches) == 0 {
		add("", w.Schedules)
	}
	for _, b := range w.Branches {
		if b != nil {
			add(b.ID, b.Schedules)
		}
	}
	return out
}

// scheduledRuns starts and watches the runs of schedules.
type scheduledRuns struct {
	scheduler *Scheduler
	q         Request
}

// Start implements scheduler.Runs. The run's id is derived from workflow, branch and planned time,
// so that the store rejects a second one (P37).
func (r scheduledRuns) Start(ctx context.Context, slot scheduler.Slot) (string, bool, error) {
	id := runOf(slot.Key, slot.Planned)
	return startResult(ctx, id, r.start(ctx, slot, id))
}

// startResult converts the result of a start for a scheduler.
func startResult(ctx context.Context, id string, err error) (string, bool, error) {
	switch {
	case err == nil:
		return id, true, nil
	case errors.Is(err, journal.ErrExists):
		return id, false, nil
	case errors.Is(err, journal.ErrBusy):
		if code, fields := errcode.Of(err); code == errcode.ConcurrencyBusy {
			run, _ := fields["run"].(string)
			return "", false, &scheduler.BusyError{Run: run, Err: err}
		}
		return "", false, fmt.Errorf("%w: %w", scheduler.ErrRefused, err)
	case failure.CodeOf(err) != failure.CodeInternal && ctx.Err() == nil:
		return "", false, fmt.Errorf("%w: %w", scheduler.ErrRefused, err)
	}
	return "", false, err
}

func (r scheduledRuns) start(ctx context.Context, slot scheduler.Slot, id string) error {
	w, d, problems, err := r.scheduler.definitions.LoadStored(ctx, slot.Workflow, definition.Which{},
		definition.LoadOptions{})
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil || w == nil {
		return &failure.InvalidError{Diagnostics: problems}
	}
	sch, err := scheduleOf(w, slot.Key)
	if err != nil {
		return err
	}
	q := r.q.start(w, d, slot, sch.Inputs)
	q.RunID = id
	_, err = r.scheduler.runs.Start(ctx, q)
	return err
}

// start returns the request for the run of a slot, without an id.
func (q *Request) start(w *workflow.Workflow, d definition.Definition, slot scheduler.Slot,
	inputs json.RawMessage) run.StartRequest {
	return run.StartRequest{
		Workflow: w, Branch: slot.Branch, Stored: d.Entry.ID, Version: d.Version, Model: q.Model, Files: q.Files,
		Trust: q.Trust, Planned: slot.Planned, Schedule: slot.Schedule, Inputs: inputs,
	}
}

// scheduleOf returns a schedule of the currently published version: its inputs are the run's
//
func scheduleOf(w *workflow.Workflow, k scheduler.Key) (*workflow.Schedule, error) {
	part := w
	if k.Branch != "" {
		i := slices.IndexFunc(w.Branches, func(b *workflow.Workflow) bool { return b != nil && b.ID == k.Branch })
		if i < 0 {
			return nil, failure.Refuse(errcode.BranchRemoved, errcode.Fields{"id": k.Workflow, "branch": k.Branch}, nil)
		}
		part = w.Branches[i]
	}
	if s := part.Schedule(k.Schedule); s != nil {
		return s, nil
	}
	var names []string
	for _, s := range part.Schedules {
		names = append(names, nameOf(scheduler.Key{Branch: k.Branch, Schedule: s.ID}))
	}
	return nil, failure.Refuse(errcode.ScheduleNotFound, errcode.Fields{"id": k.Workflow, "schedule": nameOf(k),
		"schedules": names, "meant": ""}, nil)
}

// Active implements scheduler.Runs. Runs that people started count too. An interrupted run that
// only another kind of process would resume does not count: it may never end. For a schedule with
// an id only its own runs count: other runs of its workflow have other inputs.
func (r scheduledRuns) Active(ctx context.Context, key scheduler.Key) (string, error) {
	return r.scheduler.active(ctx, key, r.scheduler.isLeft)
}

func (s *Scheduler) active(ctx context.Context, key scheduler.Key, isLeft func(journal.Head) bool) (string, error) {
	q := journal.Query{Statuses: run.Unended, Workflow: key.Workflow, Limit: 1000}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, h := range heads {
			if isOf(h, key) && !isLeft(h) {
				return h.Run, nil
			}
		}
		if q.Cursor = next; next == "" {
			return "", nil
		}
	}
}

// isOf reports whether a run counts for a schedule. A graph of a program and a stored workflow may
// have the same name.
func isOf(h journal.Head, key scheduler.Key) bool {
	return h.Meta[project.MetaTargetBranchID] == key.Branch &&
		(key.Schedule == "" || h.Meta[run.MetaSchedule] == key.Schedule) &&
		(h.Format == definition.FormatGraph) == (key.Program != "") &&
		(key.Program == "" || h.Meta[resources.MetaProgram] == key.Program)
}

// isLeft reports whether a run was interrupted and is not resumed by a process of this kind (D15).
func (s *Scheduler) isLeft(h journal.Head) bool { return h.Interrupted && h.Kind != s.cfg.Kind }

// Wait implements scheduler.Runs.
func (r scheduledRuns) Wait(ctx context.Context, run string) (journal.Status, error) {
	return r.scheduler.wait(ctx, run, r.scheduler.isLeft)
}

func (s *Scheduler) wait(ctx context.Context, run string, isLeft func(journal.Head) bool) (journal.Status, error) {
	var left error
	st, err := s.runs.WaitUntil(ctx, run, func(st driver.State) bool {
		if !st.Interrupted {
			return false
		}
		// Its process may have died since Active returned it.
		h, err := s.store.Head(ctx, run)
		if left = err; err == nil && isLeft(h) {
			left = fmt.Errorf("wait for run %s: %w", run, scheduler.ErrLeft)
		}
		return left != nil
	})
	if err = cmp.Or(err, left); err != nil {
		return "", err
	}
	return st.Status, nil
}
