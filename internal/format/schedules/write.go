package schedules

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/workflow"
)

// Item is a schedule in the form of JSON documents.
type Item struct {
	ID            string          `json:"id"`
	ExecutionMode string          `json:"executionMode,omitempty"`
	Schedule      string          `json:"schedule,omitempty"`
	TimeZone      string          `json:"timeZone,omitempty"`
	Inputs        json.RawMessage `json:"inputs,omitempty"`
}

// Single returns the schedule of a graph that can be written without a list, or nil if there is
// none.
func Single(w *workflow.Workflow) *workflow.Schedule {
	if len(w.Schedules) != 1 || w.Schedules[0].ID != "" || len(w.Schedules[0].Inputs) > 0 {
		return nil
	}
	return &w.Schedules[0]
}

// Listed returns the schedules of a graph to write as a list, none if [Single] covers all, and what
// the list cannot express of the others. continuous reports whether the format has that mode.
func Listed(w *workflow.Workflow, continuous bool) (list []workflow.Schedule, unsupported []string) {
	if one := Single(w); one != nil && (continuous || one.Mode == workflow.ModeInterval) {
		return nil, nil
	}
	for _, s := range w.Schedules {
		switch {
		case s.Mode != workflow.ModeInterval && !continuous:
			unsupported = append(unsupported, Title(s))
		case s.ID == "":
			unsupported = append(unsupported, fmt.Sprintf("the schedule %q without an id", s.Spec))
		default:
			list = append(list, s)
		}
	}
	return list, unsupported
}

// Title returns the name of a schedule for lists of what a conversion loses.
func Title(s workflow.Schedule) string {
	if s.ID != "" {
		return fmt.Sprintf("the schedule %q: %q of mode %s", s.ID, s.Spec, s.Mode)
	}
	return fmt.Sprintf("the schedule %q of mode %s", s.Spec, s.Mode)
}

// Items returns schedules in the form of JSON documents. If modes, each includes its mode.
func Items(list []workflow.Schedule, modes bool) []Item {
	var out []Item
	for _, s := range list {
		item := Item{ID: s.ID, Schedule: s.Spec, TimeZone: s.TimeZone, Inputs: s.Inputs}
		if modes {
			item.ExecutionMode = s.Mode
		}
		out = append(out, item)
	}
	return out
}

// Form returns the schema of the key, for editors.
func (k Keys) Form() part.Object {
	id := part.With(part.Object{"type": []string{"string", "number", "boolean"},
		"pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$"},
		"the name by which the schedule is paused, skipped and run")
	spec := part.Scalar(`when it starts a run: cron fields ("0 9 * * 1-5"), @daily, @every 90s, seconds, daily@09:00 ` +
		`or weekly@1,3`)
	forms := part.Object{
		"id": id, k.Zone: part.Word("its time zone, such as Europe/Berlin; without it that of the document"),
		"inputs": part.With(part.Object{"type": []string{"object", "null"}}, "the inputs of its runs, by name"),
	}
	needs := []string{"id"}
	if k.Mode != "" {
		forms[k.Mode] = part.OneOf("interval without it", workflow.ModeInterval, workflow.ModeContinuous)
	} else {
		needs = append(needs, "schedule")
		spec = part.Needed(spec)
	}
	forms["schedule"] = spec
	list := part.List("schedules with ids and inputs, in place of one schedule", part.Entry("", forms, needs...))
	list["maxItems"] = workflow.MaxSchedules
	return list
}
