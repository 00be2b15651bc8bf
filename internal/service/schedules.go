package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/workflow"
)

// ScheduleRequest says how schedules are minded. Its zero value is good.
type ScheduleRequest struct {
	// Zone is that of calendars whose document names none; nil: the machine's.
	Zone *time.Location
	// CatchUp says what becomes of planned times that were missed; "": the last one is made up for.
	CatchUp scheduler.Policy
	// Model, Files and Trust are given to every run that is started, as in StartRequest.
	Model string
	Files
	Trust bool
	// Report is told what happens; nil: nobody.
	Report func(scheduler.Event)
}

// Schedule minds the schedules of all published workflows until ctx is done, and takes up interrupted runs of this kind of process (D15). Of several
// processes on one store one minds the schedules; the others wait for its end (P37). The service must have been opened with journal.KindScheduler,
// or another kind that stays.
//
// Errors: *InvalidError with nothing started.
func (s *Service) Schedule(ctx context.Context, q ScheduleRequest) error {
	if q.Zone == nil {
		q.Zone = time.Local
	}
	sc, err := scheduler.New(scheduler.Config{
		Source: &publishedBranches{service: s}, Runs: scheduledRuns{s, q}, Book: s.store, Zone: q.Zone, CatchUp: q.CatchUp,
		Report: q.Report, Logger: s.cfg.Logger,
	})
	if err != nil {
		return invalidf("%v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.Tend(ctx) })
	sc.Run(ctx)
	wg.Wait()
	return nil
}

// publishedBranches lists the scheduled branches of what is published. Documents are read again only when something about them changed. It serves one
// scheduler.
type publishedBranches struct {
	service *Service
	known   map[string]publishedWorkflow
}

type publishedWorkflow struct {
	entry    catalog.Entry
	branches []scheduler.Branch
}

// Branches implements scheduler.Source.
func (p *publishedBranches) Branches(ctx context.Context) ([]scheduler.Branch, error) {
	entries, err := p.service.stored.Entries(ctx)
	if err != nil {
		return nil, err
	}
	next := make(map[string]publishedWorkflow, len(entries))
	var out []scheduler.Branch
	for _, e := range entries {
		if e.Published == 0 || e.HasRows {
			continue // drafts start nothing (P38), and rows have no schedules
		}
		w, ok := p.known[e.ID]
		if !ok || w.entry != e {
			w = publishedWorkflow{e, nil}
			if w.branches, err = p.service.scheduledBranches(ctx, e); err != nil {
				return nil, err
			}
		}
		next[e.ID] = w
		out = append(out, w.branches...)
	}
	p.known = next
	return out, nil
}

// scheduledBranches reads the schedules of one workflow. What cannot be read is told as the branch's error.
func (s *Service) scheduledBranches(ctx context.Context, e catalog.Entry) ([]scheduler.Branch, error) {
	broken := func(err error) []scheduler.Branch {
		return []scheduler.Branch{{Key: scheduler.Key{Workflow: e.ID}, Err: err}}
	}
	w, _, problems, err := s.LoadStored(ctx, e.ID, Which{}, LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, nil // it was deleted just now
	case err != nil && CodeOf(err) != CodeInternal:
		return broken(err), nil
	case err != nil:
		return nil, err
	case w == nil:
		return broken(problems.Err()), nil
	}
	return branchesOf(w, e), nil
}

// branchesOf gives the scheduled branches of a workflow. With branches the main graph is never scheduled (S1-27).
func branchesOf(w *workflow.Workflow, e catalog.Entry) []scheduler.Branch {
	var out []scheduler.Branch
	add := func(branch string, sch *workflow.Schedule) {
		if sch != nil {
			out = append(out, scheduler.Branch{Key: scheduler.Key{Workflow: e.ID, Branch: branch}, Version: e.Published, Schedule: *sch})
		}
	}
	if len(w.Branches) == 0 {
		add("", w.Schedule)
	}
	for _, b := range w.Branches {
		if b != nil {
			add(b.ID, b.Schedule)
		}
	}
	return out
}

// scheduledRuns starts and watches the runs of schedules.
type scheduledRuns struct {
	service *Service
	q       ScheduleRequest
}

// Keys of a run's meta that tell why it was started.
const (
	metaPlanned = "planned" // the planned time, RFC 3339
)

// Start implements scheduler.Runs. The run's id is made of workflow, branch and planned time, so that the store refuses a second one (P37).
func (r scheduledRuns) Start(ctx context.Context, slot scheduler.Slot) (string, bool, error) {
	id := driver.DerivedRunID(slot.Planned, slot.Workflow, slot.Branch)
	err := r.start(ctx, slot, id)
	switch {
	case err == nil:
		return id, true, nil
	case errors.Is(err, journal.ErrExists):
		return id, false, nil
	case CodeOf(err) != CodeInternal && ctx.Err() == nil:
		return "", false, fmt.Errorf("%w: %w", scheduler.ErrRefused, err)
	}
	return "", false, err
}

func (r scheduledRuns) start(ctx context.Context, slot scheduler.Slot, id string) error {
	w, d, problems, err := r.service.LoadStored(ctx, slot.Workflow, Which{}, LoadOptions{})
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil || w == nil {
		return &InvalidError{Diagnostics: problems}
	}
	if w.Graph(slot.Branch) == nil {
		return invalidf("workflow %s has no branch %q any more", slot.Workflow, slot.Branch)
	}
	_, err = r.service.Start(ctx, StartRequest{
		Workflow: w, Branch: slot.Branch, Version: d.Version, RunID: id, Model: r.q.Model, Files: r.q.Files, Trust: r.q.Trust,
		meta: map[string]string{metaPlanned: slot.Planned.Format(time.RFC3339Nano)},
	})
	return err
}

// unended are the statuses of runs that have not ended.
var unended = slices.DeleteFunc(journal.Statuses(), journal.Status.IsEnded)

// Active implements scheduler.Runs. Runs that people started count too. One that was interrupted and that only another kind of process would take up
// does not: nobody may ever end it.
func (r scheduledRuns) Active(ctx context.Context, key scheduler.Key) (string, error) {
	s := r.service
	q := journal.Query{Statuses: unended, Workflow: key.Workflow, Limit: 1000}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, h := range heads {
			if h.Meta[project.MetaTargetBranchID] == key.Branch && (!h.Interrupted || h.Kind == s.cfg.Kind) {
				return h.Run, nil
			}
		}
		if q.Cursor = next; next == "" {
			return "", nil
		}
	}
}

// restEvery is how often a run that is paused, or has no owner for a moment, is looked at.
const restEvery = time.Second

// Wait implements scheduler.Runs.
func (r scheduledRuns) Wait(ctx context.Context, run string) (journal.Status, error) {
	for {
		st, err := r.service.Wait(ctx, run)
		if err != nil {
			return "", err
		}
		if st.Status.Ended() {
			return journal.Status(st.Status), nil
		}
		t := time.NewTimer(restEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return "", ctx.Err()
		}
	}
}

// Scheduled is a schedule of a published workflow as a list shows it.
type Scheduled struct {
	scheduler.Branch
	// Next is the next planned time in the schedule's zone; zero where there is none or nobody knows: a continuous branch, an interval that no scheduler
	// has registered.
	Next time.Time
	// Zone is the zone of the calendar.
	Zone string
	// LastRun is the last run that was started by the schedule, LastStatus where it stands; empty where there is none. A run that was pruned has no
	// status.
	LastRun    string
	LastStatus journal.Status
}

// Schedules lists the schedules of all published workflows by workflow and branch, and who minds them; false: nobody. zone is that of calendars whose
// document names none; nil: the machine's.
func (s *Service) Schedules(ctx context.Context, zone *time.Location) ([]Scheduled, journal.Owner, bool, error) {
	zone = cmp.Or(zone, time.Local)
	leader, alive, err := s.store.Leader(ctx)
	if err != nil {
		return nil, leader, false, err
	}
	branches, err := (&publishedBranches{service: s}).Branches(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	list, err := s.store.Registrations(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	registered := map[scheduler.Key]journal.Registration{}
	for _, r := range list {
		registered[scheduler.Key{Workflow: r.Workflow, Branch: r.Branch}] = r
	}
	now := time.Now()
	out := make([]Scheduled, len(branches))
	for i, b := range branches {
		sc := Scheduled{Branch: b}
		if r, ok := registered[b.Key]; ok {
			if sc.LastRun = r.Run; r.Run != "" {
				h, err := s.store.Head(ctx, r.Run)
				if err != nil && !errors.Is(err, journal.ErrNotFound) {
					return nil, leader, alive, err
				}
				sc.LastStatus = h.Status
			}
		}
		if b.Err == nil {
			sc.next(registered, zone, now)
		}
		out[i] = sc
	}
	slices.SortStableFunc(out, func(a, b Scheduled) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Branch.Branch, b.Branch.Branch))
	})
	return out, leader, alive, nil
}

// next works out the zone and the next planned time.
func (sc *Scheduled) next(registered map[scheduler.Key]journal.Registration, zone *time.Location, now time.Time) {
	sched, err := schedule.Parse(sc.Schedule.Mode, sc.Schedule.Spec)
	loc, zerr := schedule.Zone(sc.Schedule.TimeZone, zone)
	if err = errors.Join(err, zerr); err != nil {
		sc.Err = err
		return
	}
	r, known := registered[sc.Key]
	known = known && r.Mode == sc.Schedule.Mode && r.Spec == sc.Schedule.Spec && r.TimeZone == sc.Schedule.TimeZone
	switch sched.Kind {
	case schedule.KindDaily, schedule.KindWeekly:
		sc.Zone = loc.String()
		sc.Next = sched.Next(now, loc)
	case schedule.KindEvery:
		if known && r.Version == sc.Version {
			sc.Next = sched.NextFrom(r.Registered, now, loc)
		}
	default:
	}
}

// Preview is the schedule of a document or a stored workflow that Preview looked at.
type Preview struct {
	Branch   string
	Schedule schedule.Schedule
	Zone     *time.Location
	// Times are the planned times; none for a schedule that has none.
	Times []time.Time
}

// PreviewRequest says which planned times are wanted.
type PreviewRequest struct {
	// Branch is the branch; "" is the main graph, or the only thing that is scheduled.
	Branch string
	// Zone, if not nil, is used whatever the document says; Local is that of documents that name none; nil: the machine's.
	Zone, Local *time.Location
	From        time.Time
	Count       int
}

// PreviewOf tells when a workflow would start by itself. Errors: *InvalidError, such as for an unknown branch (S1-21).
func PreviewOf(w *workflow.Workflow, q PreviewRequest) (Preview, error) {
	id, words, err := scheduledPart(w, q.Branch)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Branch: id, Zone: cmp.Or(q.Zone, q.Local, time.Local)}
	if words == nil {
		return p, nil
	}
	if p.Schedule, err = schedule.Parse(words.Mode, words.Spec); err == nil && q.Zone == nil {
		p.Zone, err = schedule.Zone(words.TimeZone, p.Zone)
	}
	if err != nil {
		return p, &InvalidError{Message: err.Error(), Err: err}
	}
	if p.Schedule.IsTimed() {
		for at := q.From; len(p.Times) < q.Count; {
			if at = p.Schedule.NextFrom(q.From, at, p.Zone); at.IsZero() {
				break
			}
			p.Times = append(p.Times, at)
		}
	}
	return p, nil
}

// scheduledPart picks a branch with its schedule, which is nil where there is none.
func scheduledPart(w *workflow.Workflow, branch string) (string, *workflow.Schedule, error) {
	ids := map[string]*workflow.Schedule{}
	var scheduled []string
	for _, b := range w.Branches {
		if b == nil {
			continue
		}
		if ids[b.ID] = b.Schedule; b.Schedule != nil {
			scheduled = append(scheduled, b.ID)
		}
	}
	names := slices.Sorted(maps.Keys(ids))
	sch, ok := ids[branch]
	switch {
	case ok:
		return branch, sch, nil
	case branch != "" && len(names) == 0:
		return "", nil, invalidf("there is no branch %q: the document has no branches", branch)
	case branch != "":
		hint := cmp.Or(diag.DidYouMean(branch, names), "there are "+quoted(names))
		return "", nil, invalidf("there is no branch %q; %s", branch, hint)
	case len(names) == 0:
		return "", w.Schedule, nil
	case len(scheduled) == 1:
		return scheduled[0], ids[scheduled[0]], nil
	}
	return "", nil, invalidf("the document has branches: say with --branch which one, of %s", quoted(names))
}

// quoted lists names for people.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strconv.Quote(n)
	}
	return strings.Join(out, ", ")
}
