package canvas

import (
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// planKeys are the keys of an item of `schedules`.
var planKeys = schedules.Keys{Zone: "timeZone"}

// scheduled reads the schedules on which runs start automatically: one schedule, or a
// list of them.
func (r *reader) scheduled(f *source.Fields) {
	spec, zone, list := f.Get("schedule"), f.Get("timeZone"), f.Get(schedules.Name)
	given := schedules.Inputs{Given: r.doc.Inputs(), Node: f.Get("inputs")}
	s := workflow.Schedule{Mode: workflow.ModeInterval, Spec: strings.TrimSpace(f.Text("schedule")),
		TimeZone: f.Text("timeZone")}
	if !list.IsNull() {
		if e := f.Node().Entry("schedule"); e != nil && !schedules.Alone(list, []source.Entry{*e}, &r.diags) {
			return
		}
		if _, err := schedule.Zone(s.TimeZone, nil); err != nil && zone.IsScalar() {
			r.badSchedule(zone, err)
			s.TimeZone = ""
		}
		r.schedules = planKeys.Read(list, s.TimeZone, given, &r.diags)
		return
	}
	if spec.IsNull() {
		if !zone.IsNull() {
			r.diags.Errorf(zone.Span, zone.Path(), schedule.CodeMissingSchedule, "timeZone requires schedule")
		}
		return
	}
	if !spec.IsScalar() || !zone.IsNull() && !zone.IsScalar() {
		return // already reported
	}
	_, err := schedule.Parse(s.Mode, s.Spec)
	at := spec
	if err == nil && !zone.IsNull() {
		_, err = schedule.Zone(s.TimeZone, nil)
		at = zone
	}
	if err != nil {
		r.badSchedule(at, err)
		return
	}
	schedules.Fits(spec, nil, given, &r.diags)
	r.schedules = []workflow.Schedule{s}
}

func (r *reader) badSchedule(at *source.Node, err error) {
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		r.diags.Errorf(at.Span, at.Path(), e.Code, "%s", e.Message).Hint = e.Hint
	}
}

// schedule writes the schedules on which runs start automatically.
func (o *writer) schedule() {
	if s := schedules.Single(o.w); s != nil && s.Mode == workflow.ModeInterval {
		o.doc.Schedule, o.doc.TimeZone = s.Spec, s.TimeZone
		return
	}
	list, unsupported := schedules.Listed(o.w, false)
	for _, what := range unsupported {
		o.unsupported.Addf("workflow", "%s", what)
	}
	o.doc.Schedules = schedules.Items(list, false)
}
