package steps

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// scheduled reads when runs start by themselves. zone may be nil.
func (r *reader) scheduled(spec, zone *field) {
	said := func(f *field) bool { return f != nil && !f.value.IsNull() }
	if !said(spec) {
		if said(zone) {
			r.diags.Errorf(zone.span, zone.path, codeMissingKey, "time_zone requires schedule")
		}
		return
	}
	s := workflow.Schedule{Mode: workflow.ModeInterval, Spec: strings.TrimSpace(r.text(*spec))}
	if said(zone) {
		s.TimeZone = r.text(*zone)
		if _, err := schedule.Zone(s.TimeZone, nil); err != nil {
			r.badSchedule(*zone, err)
		}
	}
	if !spec.value.IsScalar() {
		return
	}
	if _, err := schedule.Parse(s.Mode, s.Spec); err != nil {
		r.badSchedule(*spec, err)
		return
	}
	r.w.Schedule = &s
}

func (r *reader) badSchedule(f field, err error) {
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		r.diags.Errorf(f.value.Span, f.path, e.Code, "%s", e.Message).Hint = e.Hint
		return
	}
	r.diags.Errorf(f.value.Span, f.path, schedule.CodeBadSchedule, "%v", err)
}

// labels writes the labels of runs.
func (o *writer) labels(doc *yaml.Node) {
	if len(o.w.Labels) > 0 {
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range slices.Sorted(maps.Keys(o.w.Labels)) {
			put(m, key, text(o.w.Labels[key]))
		}
		put(doc, "labels", m)
	}
}

// schedule writes when runs start by themselves.
func (o *writer) schedule(doc *yaml.Node) {
	s := o.w.Schedule
	switch {
	case s == nil:
		return
	case s.Mode != workflow.ModeInterval:
		o.unsaid.Addf("workflow", "the schedule %q of mode %s", s.Spec, s.Mode)
		return
	}
	put(doc, "schedule", text(s.Spec))
	if s.TimeZone != "" {
		put(doc, "time_zone", text(s.TimeZone))
	}
}
