package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Registration is the state of the schedule of one branch, which a scheduler continues from. Times are UTC in
// microseconds; zero is none.
type Registration struct {
	// Workflow is the id of the stored workflow; Branch is empty for its main graph, Schedule for a schedule without an id. The three together are the key.
	Workflow, Branch, Schedule string
	// Version is that of the workflow when the schedule was registered; 0 where it has none.
	Version int
	// Mode, Spec and TimeZone are the schedule in the words of the document.
	Mode, Spec, TimeZone string
	// Registered is the instant from which intervals count (S1-37).
	Registered time.Time
	// Planned: every planned time up to and including it is done with, save those that are still to be caught up.
	Planned time.Time
	// CatchUpAfter and CatchUpTo: planned times later than the one and not later than the other are still to be caught up, oldest first.
	CatchUpAfter, CatchUpTo time.Time
	// Run is the last run that the schedule started, or empty.
	Run string
	// Asked: what was asked for by [Control.Asked] up to then is done with.
	Asked time.Time
}

// Validate tells what no store accepts.
func (r Registration) Validate() error {
	if r.Workflow == "" {
		return errors.New("register schedule: workflow has no id")
	}
	return nil
}

// stored gives r as stores keep it.
func (r Registration) stored() Registration {
	for _, t := range []*time.Time{&r.Registered, &r.Planned, &r.CatchUpAfter, &r.CatchUpTo, &r.Asked} {
		if !t.IsZero() {
			*t = microseconds(*t)
		}
	}
	return r
}

// Schedules keeps the state of schedules, and which of several processes is the scheduler (P37).
type Schedules interface {
	// Registrations gives all of them, by workflow, branch and schedule.
	Registrations(ctx context.Context) ([]Registration, error)
	// Register stores r in place of what was stored for its key.
	Register(ctx context.Context, r Registration) error
	// Unregister forgets a schedule. One that is not there is no error.
	Unregister(ctx context.Context, workflow, branch, schedule string) error
	// Lead makes the handle the scheduler, unless another living handle is, and gives the one that is now; mine tells that it is
	// this handle. A handle leads until it is closed, its process dies, which is seen at once, as with [Ownership], or another one takes its place: one that leads has to
	// ask again. hung is the id of an owner that does not count though it lives, because it gives no sign of life; empty for none.
	Lead(ctx context.Context, hung string) (leader Owner, mine bool, err error)
	// Leader gives the handle that is the scheduler; false where none that lives is.
	Leader(ctx context.Context) (Owner, bool, error)
}

// memSchedules is the part of Memory that keeps schedules; guarded by Memory.mu.
type memSchedules struct {
	leader   Owner
	entries  map[[3]string]Registration
	controls map[[3]string]Control
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
	slices.SortFunc(list, func(a, b Registration) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Schedule, b.Schedule))
	})
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
	h.m.schedules.entries[[3]string{r.Workflow, r.Branch, r.Schedule}] = r.stored()
	return nil
}

func (h *memHandle) Unregister(ctx context.Context, workflow, branch, schedule string) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	delete(h.m.schedules.entries, [3]string{workflow, branch, schedule})
	return nil
}

func (h *memHandle) Lead(ctx context.Context, hung string) (Owner, bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Owner{}, false, err
	}
	defer unlock()
	if l := h.m.schedules.leader; !h.m.owners[l.ID] || l.ID == hung {
		h.m.schedules.leader = h.owner
	}
	l := h.m.seen(h.m.schedules.leader)
	return l, l.ID == h.owner.ID, nil
}

func (h *memHandle) Leader(ctx context.Context) (Owner, bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Owner{}, false, err
	}
	defer unlock()
	l := h.m.schedules.leader
	return h.m.seen(l), h.m.owners[l.ID], nil
}
