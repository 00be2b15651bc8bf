package schedules

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// Name is the key of the list.
const Name = "schedules"

// Keys are the keys of an item whose spelling depends on the format.
type Keys struct {
	// Zone is the key of the time zone.
	Zone string
	// Mode is the key of the execution mode; "" means that items have the mode interval.
	Mode string
}

// Names returns the keys of an item.
func (k Keys) Names() []string {
	names := []string{"id", "schedule", k.Zone, "inputs"}
	if k.Mode != "" {
		names = append(names, k.Mode)
	}
	return names
}

// misspelledKeys maps keys that are often written to the keys that were meant.
var misspelledKeys = map[string]string{"cron": "schedule", "interval": "schedule", "every": "schedule",
	"at":   "schedule",
	"name": "id", "input": "inputs", "args": "inputs"}

// Inputs are the inputs of the scheduled graph.
type Inputs struct {
	// Given are the inputs that were read, Node is where they are; nil means that there are none.
	Given []workflow.Input
	Node  *source.Node
}

// broken reports whether some inputs could not be read, which was reported.
func (in Inputs) broken() bool { return !in.Node.IsNull() && len(in.Node.Entries) != len(in.Given) }

// Alone reports the keys of the single schedule, which a document with the list cannot have, and
// returns true if there are none.
func Alone(n *source.Node, others []source.Entry, diags *diag.List) bool {
	if n.IsNull() {
		return true
	}
	ok := true
	for _, e := range others {
		if !e.Value.IsNull() {
			d := diags.Errorf(e.KeySpan, e.Value.Path(), schedule.CodeConflict, "%s and schedules exclude each other",
				e.Key)
			d.Hint = "write it in an item of schedules"
			d.Related = []diag.Related{{Span: n.Span, Message: "the list of schedules"}}
			ok = false
		}
	}
	return ok
}

// Read reads the list; n may be nil. zone is the time zone of items without one. Anything that it
// reports is left out.
func (k Keys) Read(n *source.Node, zone string, in Inputs, diags *diag.List) []workflow.Schedule {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.List {
		diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "expected a list, found %s",
			n.Kind).Hint = `for example [{"id": "morning", "schedule": "0 9 * * *"}]`
		return nil
	}
	if len(n.Items) > workflow.MaxSchedules {
		diags.Errorf(n.Span, n.Path(), schedule.CodeTooMany, "there are %d schedules; the limit of a workflow is %d",
			len(n.Items), workflow.MaxSchedules)
		return nil
	}
	first := map[string]diag.Span{}
	var out []workflow.Schedule
	for _, item := range n.Items {
		f := item.Fields(diags)
		if f == nil {
			continue
		}
		s, ok := k.item(f, zone, in, diags)
		id := f.Get("id")
		if span, twice := first[s.ID]; twice && s.ID != "" {
			d := diags.Errorf(id.Span, id.Path(), schedule.CodeDuplicate, "schedule id %q is used twice", s.ID)
			source.Twice(d, span, "schedule with this id")
			d.Hint = "give one of them another id"
			continue
		}
		if s.ID != "" {
			first[s.ID] = id.Span
		}
		if ok {
			out = append(out, s)
		}
	}
	return out
}

// item reads one schedule; it returns false if a problem was reported.
func (k Keys) item(f *source.Fields, zone string, in Inputs, diags *diag.List) (workflow.Schedule, bool) {
	first := len(*diags)
	s := workflow.Schedule{Mode: workflow.ModeInterval, Spec: strings.TrimSpace(f.Text("schedule")),
		TimeZone: cmp.Or(f.Str(k.Zone), zone)}
	if id := f.Require("id"); id != nil {
		if s.ID = f.Text("id"); !workflow.IsScheduleID(s.ID) && id.IsScalar() {
			diags.Errorf(id.Span, id.Path(), schedule.CodeBadSchedule, "%q cannot be the id of a schedule",
				s.ID).Hint = "use letters, digits and between them . _ and -, at most 64"
			s.ID = ""
		}
	}
	at := f.Get("schedule")
	if at == nil {
		at = f.Node()
	}
	if k.Mode != "" {
		if mode := f.Str(k.Mode); mode != "" {
			s.Mode = mode
		}
	}
	isMisnamed := misnamed(f, s.Mode, diags) // a misnamed schedule is not also reported as missing
	if at == f.Node() && !isMisnamed || at != f.Node() && (at.IsScalar() || at.IsNull()) {
		_, err := schedule.Parse(s.Mode, s.Spec)
		if e, ok := errors.AsType[*schedule.Error](err); ok && e.Code == schedule.CodeUnknownMode || err == nil &&
			s.Mode == workflow.ModeOneTime {
			at = f.Get(k.Mode)
			if err == nil {
				err = &schedule.Error{Code: schedule.CodeUnknownMode, Message: "a schedule has no mode one_time",
					Hint: "write interval or continuous"}
			}
		}
		report(at, err, diags)
	}
	if z := f.Get(k.Zone); !z.IsNull() && z.Kind == source.String {
		_, err := schedule.Zone(s.TimeZone, nil)
		report(z, err, diags)
	}
	given := f.Get("inputs")
	if !given.IsNull() {
		if given.Kind != source.Map {
			diags.Errorf(given.Span, given.Path(), source.CodeWrongType,
				"inputs of a schedule must be a map of names to values, found %s", given.Kind)
		} else if len(given.Entries) > 0 {
			s.Inputs = given.JSON()
		}
	}
	f.Unknown(diag.Error, k.Names()...)
	if given.IsNull() {
		given = f.Node()
	}
	if len(*diags) == first {
		Fits(given, s.Inputs, in, diags)
	}
	return s, len(*diags) == first
}

// misnamed reports keys that are often written instead of another, and reports whether one of them
// contains the schedule.
func misnamed(f *source.Fields, mode string, diags *diag.List) (isSchedule bool) {
	for _, e := range f.Node().Entries {
		want := misspelledKeys[e.Key]
		if want == "" || f.Node().Get(want) != nil {
			continue
		}
		f.Get(e.Key)
		d := diags.Errorf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "the key %q is not known here", e.Key)
		if d.Hint = "did you mean " + want + "?"; want == "schedule" {
			d.Hint, isSchedule = "write schedule: "+strconv.Quote(formOf(e.Key, e.Value, mode)), true
		}
	}
	return isSchedule
}

// formOf returns the correct form of a schedule that was written under another key, or an example
// of it.
func formOf(key string, value *source.Node, mode string) string {
	forms := map[string][2]string{"cron": {"", "0 9 * * 1-5"}, "every": {"@every ", "@every 12h"},
		"interval": {"@every ", "@every 12h"}, "at": {"daily@", "daily@09:00"}}
	form := forms[key]
	if mode == workflow.ModeContinuous {
		form = [2]string{"", "5"} // this mode supports only seconds
	}
	if value.IsScalar() {
		text := strings.TrimSpace(value.Text)
		for _, spec := range []string{text, form[0] + text} {
			if s, err := schedule.Parse(mode, spec); err == nil && s.Kind != schedule.KindNever {
				return spec
			}
		}
	}
	return form[1]
}

// Fits reports why runs with these inputs would be rejected.
func Fits(at *source.Node, given json.RawMessage, in Inputs, diags *diag.List) {
	if in.broken() {
		return
	}
	if len(in.Given) == 0 {
		if len(given) > 0 {
			diags.Errorf(at.Span, at.Path(), schedule.CodeInputs,
				"the workflow has no inputs").Hint = "name them under inputs of the document"
		}
		return
	}
	_, problems := form.Read(in.Given, "", given)
	for _, p := range problems {
		where := at
		if at.Kind == source.Map {
			if v := at.Get(strings.TrimPrefix(p.Path, "/")); v != nil && p.Code != form.CodeMissing {
				where = v
			}
		}
		d := diags.Errorf(where.Span, where.Path(), schedule.CodeInputs, "runs of the schedule would be refused: %s",
			p.Message)
		if d.Hint = p.Hint; p.Code == form.CodeMissing {
			d.Hint = "give it under inputs of the schedule, or give the input a default"
		}
	}
}

func report(at *source.Node, err error, diags *diag.List) {
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		span := at.Span
		if at.Kind == source.Map {
			span.End = diag.Pos{}
		}
		diags.Errorf(span, at.Path(), e.Code, "%s", e.Message).Hint = e.Hint
	} else if err != nil {
		diags.Errorf(at.Span, at.Path(), schedule.CodeBadSchedule, "%v", err)
	}
}
