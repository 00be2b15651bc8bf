package workflow

import (
	"encoding/json"

	"github.com/hocket-run/hocket/diag"
)

// Schedule specifies when runs start automatically. Its values are validated by the format that it
// came from, and parsed by package schedule.
type Schedule struct {
	// ID identifies a schedule of a graph; it is empty if the graph has only one.
	ID string `json:"id,omitempty"`
	// Mode is ModeInterval or ModeContinuous.
	Mode string `json:"mode"`
	// Spec is `60`, `daily@09:00`, `weekly@1,3,5` or a cron expression; in ModeContinuous it is the
	// number of seconds between two runs, and empty means the default of one second.
	Spec string `json:"spec,omitempty"`
	// TimeZone is the name of the time zone in the IANA database; empty means the time zone of the
	// process.
	TimeZone string `json:"timeZone,omitempty"`
	// Inputs are the named inputs of the schedule's runs, a JSON object; nil means none.
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// Modes of execution.
const (
	ModeOneTime    = "one_time"
	ModeInterval   = "interval"
	ModeContinuous = "continuous"
)

// Limits of schedules: how many a workflow has, including all its branches, and the length of an ID
// in bytes.
const (
	MaxSchedules  = 100
	MaxScheduleID = 64
)

// IsScheduleID reports whether id is a valid schedule ID: letters, digits and, not at the ends,
// `.`, `_` and `-`, at most MaxScheduleID bytes.
func IsScheduleID(id string) bool {
	for i := range len(id) {
		c := id[i]
		isAlnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		isInner := c == '.' || c == '_' || c == '-'
		if !isAlnum && (!isInner || i == 0 || i == len(id)-1) {
			return false
		}
	}
	return id != "" && len(id) <= MaxScheduleID
}

// Mode returns the execution mode of the graph: that of its first schedule, or ModeOneTime if it
// has none.
func (w *Workflow) Mode() string {
	if len(w.Schedules) == 0 || w.Schedules[0].Mode == "" {
		return ModeOneTime
	}
	return w.Schedules[0].Mode
}

// Schedule returns the schedule with the given ID ("" for a schedule without an ID), or nil if
// there is none.
func (w *Workflow) Schedule(id string) *Schedule {
	for i := range w.Schedules {
		if w.Schedules[i].ID == id {
			return &w.Schedules[i]
		}
	}
	return nil
}

// checkSchedules reports errors in the IDs, the inputs and the number of schedules.
func (c *checker) checkSchedules() {
	at := diag.Span{File: c.w.Source.File}
	count := len(c.w.Schedules)
	for _, b := range c.w.Branches {
		if b != nil {
			count += len(b.Schedules)
		}
	}
	if count > MaxSchedules {
		c.errorf(at, "too-many-schedules", "there are %d schedules; the limit of a workflow is %d", count, MaxSchedules)
		return
	}
	for i := range c.w.Schedules {
		s := &c.w.Schedules[i]
		switch {
		case s.ID == "" && len(c.w.Schedules) > 1:
			c.errorf(at, "bad-schedule", "schedule %d has no id", i+1)
		case s.ID != "" && !IsScheduleID(s.ID):
			c.errorf(at, "bad-schedule", "schedule %q: an id has letters, digits and inside of it . _ and -, "+
				"at most %d", clip(s.ID), MaxScheduleID)
		case c.w.Schedule(s.ID) != s:
			c.errorf(at, "duplicate-schedule-id", "two schedules have the id %q", s.ID)
		case len(s.Inputs) > 0 && !isObject(s.Inputs):
			c.errorf(at, "bad-json", "schedule %q: the inputs are not an object", s.ID)
		}
	}
}
