package steps

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// planKeys are the keys of an item of `schedules`.
var planKeys = schedules.Keys{Zone: "time_zone"}

// scheduled reads the schedules on which runs start automatically: one schedule, or a
// list of them.
func (r *reader) scheduled(root *source.Node, spec, zone *field) {
	said := func(f *field) bool { return f != nil && !f.value.IsNull() }
	list, given := root.Get(schedules.Name), schedules.Inputs{Given: r.w.Inputs, Node: root.Get("inputs")}
	var diags diag.List
	defer func() {
		for _, d := range diags {
			r.diags.Add(d)
		}
	}()
	var zoneName string
	if said(zone) {
		zoneName = r.text(*zone)
		if _, err := schedule.Zone(zoneName, nil); err != nil {
			r.badSchedule(*zone, err)
			zoneName = ""
		}
	}
	if !list.IsNull() {
		if e := root.Entry("schedule"); e == nil || schedules.Alone(list, []source.Entry{*e}, &diags) {
			r.w.Schedules = planKeys.Read(list, zoneName, given, &diags)
		}
		return
	}
	if !said(spec) {
		if said(zone) {
			r.diags.Errorf(zone.span, zone.path, codeMissingKey, "time_zone requires schedule")
		}
		return
	}
	s := workflow.Schedule{Mode: workflow.ModeInterval, Spec: strings.TrimSpace(r.text(*spec)), TimeZone: zoneName}
	if !spec.value.IsScalar() {
		return
	}
	if _, err := schedule.Parse(s.Mode, s.Spec); err != nil {
		r.badSchedule(*spec, err)
		return
	}
	schedules.Fits(spec.value, nil, given, &diags)
	r.w.Schedules = []workflow.Schedule{s}
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

// concurrency writes the limit on concurrently active runs.
func (o *writer) concurrency(doc *yaml.Node) {
	c := o.w.Concurrency
	if c == nil {
		return
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if c.Key != "" {
		put(m, "key", text(c.Key))
	}
	put(m, "max", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(c.Runs())})
	if c.IfBusy != "" {
		put(m, "if_busy", text(c.IfBusy))
	}
	put(doc, "concurrency", m)
}

// schedule writes the schedules on which runs start automatically.
func (o *writer) schedule(doc *yaml.Node) {
	if s := schedules.Single(o.w); s != nil && s.Mode == workflow.ModeInterval {
		o.times(doc, s)
		return
	}
	list, unsupported := schedules.Listed(o.w, false)
	for _, what := range unsupported {
		o.unsupported.Addf("workflow", "%s", what)
	}
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range list {
		item := mapping()
		put(item, "id", text(list[i].ID))
		o.times(item, &list[i])
		if len(list[i].Inputs) > 0 {
			values, err := fromJSON(list[i].Inputs)
			if err != nil {
				o.unsupported.Addf("workflow", "inputs of the schedule %q", list[i].ID)
				continue
			}
			put(item, "inputs", values)
		}
		seq.Content = append(seq.Content, item)
	}
	if len(seq.Content) > 0 {
		put(doc, schedules.Name, seq)
	}
}

func (o *writer) times(m *yaml.Node, s *workflow.Schedule) {
	put(m, "schedule", text(s.Spec))
	if s.TimeZone != "" {
		put(m, "time_zone", text(s.TimeZone))
	}
}
