package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// ScheduleKey identifies a schedule.
type ScheduleKey struct {
	// Program is the program whose Go graph is scheduled; empty for a stored workflow.
	Program string
	// Workflow is the id of the stored workflow, or the name of the graph; Branch is empty for the
	// main graph, Schedule for a schedule without an id.
	Workflow, Branch, Schedule string
}

func (k ScheduleKey) String() string {
	text := k.Workflow
	if k.Branch != "" {
		text += "/" + k.Branch
	}
	if k.Schedule != "" {
		text += "#" + k.Schedule
	}
	if k.Program != "" {
		text += " of " + k.Program
	}
	return text
}

// CompareScheduleKeys orders keys by program, workflow, branch and schedule: those of stored
// workflows come first.
func CompareScheduleKeys(a, b ScheduleKey) int {
	return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Workflow, b.Workflow),
		cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Schedule, b.Schedule))
}

// Registration is the state of the schedule of one branch, from which a scheduler continues. Times
// are UTC in microseconds; zero means none.
type Registration struct {
	ScheduleKey
	// Version is the version of the workflow when the schedule was registered; 0 if it has none.
	Version int
	// Mode, Spec and TimeZone are the schedule as written in the document.
	Mode, Spec, TimeZone string
	// Registered is the time from which intervals are counted (S1-37).
	Registered time.Time
	// Planned is the time up to which, inclusive, every planned time has been handled, except those
	// still to be caught up.
	Planned time.Time
	// CatchUpAfter and CatchUpTo delimit the planned times still to be caught up, oldest first:
	// those after CatchUpAfter and not after CatchUpTo.
	CatchUpAfter, CatchUpTo time.Time
	// Run is the last run that the schedule started, or empty.
	Run string
	// Asked is the [Control.Asked] up to which requests have been handled.
	Asked time.Time
	// Refused is since when its runs have been refused for the reason Refusal; zero if the last
	// start was not refused.
	Refused time.Time
	Refusal string
}

// Validate returns an error if no store accepts r.
func (r Registration) Validate() error {
	if r.Workflow == "" {
		return errors.New("register schedule: workflow has no id")
	}
	return nil
}

// stored returns r as stores keep it.
func (r Registration) stored() Registration {
	for _, t := range []*time.Time{&r.Registered, &r.Planned, &r.CatchUpAfter, &r.CatchUpTo, &r.Asked, &r.Refused} {
		if !t.IsZero() {
			*t = microseconds(*t)
		}
	}
	return r
}

// Schedules stores the state of schedules, and which of several processes is the scheduler (P37).
// Stored workflows have one scheduler, and so does each program that schedules its own graphs
//
type Schedules interface {
	// Registrations returns all registrations, in the order of CompareScheduleKeys.
	Registrations(ctx context.Context) ([]Registration, error)
	// Register stores r, replacing the registration stored for its key.
	Register(ctx context.Context, r Registration) error
	// Unregister removes a schedule. It is not an error if the schedule does not exist.
	Unregister(ctx context.Context, key ScheduleKey) error
	// Lead makes the handle the scheduler of a program (empty for stored workflows), unless another
	// living handle is, and returns the current scheduler; mine reports whether it is this handle.
	// A handle leads until it is closed, its process dies, which is detected immediately, as with
	// [Ownership], or another handle replaces it: a leader must call Lead again to find out. hung
	// is the id of an owner that does not count although it is alive, because it sends no
	// heartbeat; empty for none.
	Lead(ctx context.Context, program, hung string) (leader Owner, mine bool, err error)
	// Leader returns the handle that is the scheduler of a program, and reports whether a living
	// one exists.
	Leader(ctx context.Context, program string) (Owner, bool, error)
}

// memSchedules is the part of Memory that stores schedules; guarded by Memory.mu.
type memSchedules struct {
	leaders  map[string]Owner
	entries  map[ScheduleKey]Registration
	controls map[ScheduleKey]Control
}

func (h *memHandle) Registrations(ctx context.Context) ([]Registration, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list := make([]Registration, 0, len(h.m.schedules.entries))
	for _, r := range h.m.schedules.entries {
		list = append(list, r)
	}
	slices.SortStableFunc(list,
		func(a, b Registration) int { return CompareScheduleKeys(a.ScheduleKey, b.ScheduleKey) })
	return list, nil
}

func (h *memHandle) Register(ctx context.Context, r Registration) error {
	if err := r.Validate(); err != nil {
		return err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	h.m.schedules.entries[r.ScheduleKey] = r.stored()
	return nil
}

func (h *memHandle) Unregister(ctx context.Context, key ScheduleKey) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	delete(h.m.schedules.entries, key)
	return nil
}

func (h *memHandle) Lead(ctx context.Context, program, hung string) (Owner, bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Owner{}, false, err
	}
	defer unlock()
	if l := h.m.schedules.leaders[program]; !h.m.owners[l.ID] || l.ID == hung {
		h.m.schedules.leaders[program] = h.owner
	}
	l := h.m.withHeartbeat(h.m.schedules.leaders[program])
	return l, l.ID == h.owner.ID, nil
}

func (h *memHandle) Leader(ctx context.Context, program string) (Owner, bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Owner{}, false, err
	}
	defer unlock()
	l := h.m.schedules.leaders[program]
	return h.m.withHeartbeat(l), h.m.owners[l.ID], nil
}
