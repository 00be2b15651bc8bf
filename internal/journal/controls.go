package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Control is what people said of a schedule: it is paused, its next time is skipped, it is to run now. It is stored apart from the [Registration], which the scheduler
// writes, and outlives it: a pause holds for each version of the workflow. Times are UTC in microseconds; zero is none.
type Control struct {
	ScheduleKey
	// Revision counts the changes; 0 for a schedule of which nothing was said.
	Revision int64
	// Paused is the instant since which nothing starts by itself, PausedBy who said so.
	Paused   time.Time
	PausedBy string
	// Resumed is the instant at which the last pause ended: planned times up to it are not made up for.
	Resumed   time.Time
	ResumedBy string
	// SkipAfter and SkipUntil: planned times later than the one and not later than the other start nothing. SkippedBy is who said so.
	SkipAfter, SkipUntil time.Time
	SkippedBy            string
	// Asked is the instant at which a run was asked for, AskedBy who did.
	Asked   time.Time
	AskedBy string
}

// Holds tells whether a planned time starts nothing.
func (c Control) Holds(planned time.Time) bool {
	return !c.Paused.IsZero() || !c.Resumed.IsZero() && !planned.After(c.Resumed) || c.Skips(planned)
}

// Skips tells whether a planned time is one of those that are skipped.
func (c Control) Skips(planned time.Time) bool {
	return planned.After(c.SkipAfter) && !planned.After(c.SkipUntil)
}

// Validate tells what no store accepts.
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

// Controls keeps what people said of schedules.
type Controls interface {
	// Controls gives all of them, in the order of CompareScheduleKeys.
	Controls(ctx context.Context) ([]Control, error)
	// Control gives that of one schedule: one of revision 0 where nothing was said of it.
	Control(ctx context.Context, key ScheduleKey) (Control, error)
	// SetControl stores c as revision c.Revision+1 in place of revision c.Revision. Errors: ErrChanged, wrapped, where another revision is stored.
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
	slices.SortFunc(list, func(a, b Control) int { return CompareScheduleKeys(a.ScheduleKey, b.ScheduleKey) })
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
