package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Control holds the manual settings of a schedule: pause, skip the next planned time, run now. It
// is stored apart from the [Registration], which the scheduler writes, and outlives it: a pause
// applies to every version of the workflow. Times are UTC in microseconds; zero means none.
type Control struct {
	ScheduleKey
	// Revision counts the changes; it is 0 for a schedule that was never changed.
	Revision int64
	// Paused is the time since which nothing starts automatically; PausedBy is who paused the
	// schedule.
	Paused   time.Time
	PausedBy string
	// Resumed is the time at which the last pause ended: planned times up to it are not caught up.
	Resumed   time.Time
	ResumedBy string
	// SkipAfter and SkipUntil delimit the skipped planned times: those after SkipAfter and not
	// after SkipUntil start nothing. SkippedBy is who requested the skip.
	SkipAfter, SkipUntil time.Time
	SkippedBy            string
	// Asked is the time at which a run was requested; AskedBy is who requested it.
	Asked   time.Time
	AskedBy string
}

// Holds reports whether nothing starts at a planned time.
func (c Control) Holds(planned time.Time) bool {
	return !c.Paused.IsZero() || !c.Resumed.IsZero() && !planned.After(c.Resumed) || c.Skips(planned)
}

// Skips reports whether a planned time is skipped.
func (c Control) Skips(planned time.Time) bool {
	return planned.After(c.SkipAfter) && !planned.After(c.SkipUntil)
}

// Validate returns an error if no store accepts c.
func (c Control) Validate() error {
	if c.Workflow == "" {
		return errors.New("control schedule: workflow has no id")
	}
	return nil
}

func (c Control) stored() Control {
	for _, t := range []*time.Time{&c.Paused, &c.Resumed, &c.SkipAfter, &c.SkipUntil, &c.Asked} {
		if !t.IsZero() {
			*t = microseconds(*t)
		}
	}
	return c
}

// Controls stores the manual settings of schedules.
type Controls interface {
	// Controls returns all controls, in the order of CompareScheduleKeys.
	Controls(ctx context.Context) ([]Control, error)
	// Control returns the control of one schedule, with revision 0 if none was stored.
	Control(ctx context.Context, key ScheduleKey) (Control, error)
	// SetControl stores c as revision c.Revision+1, replacing revision c.Revision. It returns a
	// wrapped ErrChanged if another revision is stored.
	SetControl(ctx context.Context, c Control) error
}

func (h *memHandle) Controls(ctx context.Context) ([]Control, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list := make([]Control, 0, len(h.m.schedules.controls))
	for _, c := range h.m.schedules.controls {
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Control) int { return CompareScheduleKeys(a.ScheduleKey, b.ScheduleKey) })
	return list, nil
}

func (h *memHandle) Control(ctx context.Context, key ScheduleKey) (Control, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Control{}, err
	}
	defer unlock()
	if c, ok := h.m.schedules.controls[key]; ok {
		return c, nil
	}
	return Control{ScheduleKey: key}, nil
}

func (h *memHandle) SetControl(ctx context.Context, c Control) error {
	if err := c.Validate(); err != nil {
		return err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if old, ok := h.m.schedules.controls[c.ScheduleKey]; ok && old.Revision != c.Revision {
		return fmt.Errorf("control schedule of workflow %s: %w", c.Workflow, ErrChanged)
	}
	c.Revision++
	h.m.schedules.controls[c.ScheduleKey] = c.stored()
	return nil
}
