package canvas

import (
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// scheduled reads when runs start by themselves.
func (r *reader) scheduled(f *source.Fields) {
	spec, zone := f.Get("schedule"), f.Get("timeZone")
	s := workflow.Schedule{Mode: workflow.ModeInterval, Spec: strings.TrimSpace(f.Text("schedule")), TimeZone: f.Text("timeZone")}
	if spec.IsNull() {
		if !zone.IsNull() {
			r.diags.Errorf(zone.Span, zone.Path(), schedule.CodeMissingSchedule, "timeZone requires schedule")
		}
		return
	}
	if !spec.IsScalar() || !zone.IsNull() && !zone.IsScalar() {
		return // that was said
	}
	_, err := schedule.Parse(s.Mode, s.Spec)
	at := spec
	if err == nil && !zone.IsNull() {
		_, err = schedule.Zone(s.TimeZone, nil)
		at = zone
	}
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		r.diags.Errorf(at.Span, at.Path(), e.Code, "%s", e.Message).Hint = e.Hint
		return
	}
	r.schedule = &s
}

// schedule writes when runs start by themselves.
func (o *writer) schedule() {
	switch s := o.w.Schedule; {
	case s == nil:
	case s.Mode != workflow.ModeInterval:
		o.unsaid.Addf("workflow", "the schedule %q of mode %s", s.Spec, s.Mode)
	default:
		o.doc.Schedule, o.doc.TimeZone = s.Spec, s.TimeZone
	}
}
