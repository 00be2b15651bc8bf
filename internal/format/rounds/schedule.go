package rounds

import (
	"errors"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// mode reads an execution mode. The node is nil if none is written. An unknown mode is reported and
// counts as one_time.
func (r *reader) mode(f *source.Fields, top inherited) (string, *source.Node) {
	mode, ok := f.OptStr(keyExecutionMode)
	if !ok {
		return top.mode, nil
	}
	at := f.Get(keyExecutionMode)
	if _, err := schedule.Parse(mode, ""); hasCode(err, schedule.CodeUnknownMode) {
		r.problem(at.Span, at.Path(), err)
		return "", at
	}
	return mode, at
}

// zone reads the name of a time zone; top is that of the workflow. An unknown zone is reported and
// counts as absent.
func (r *reader) zone(f *source.Fields, top string) string {
	name, ok := f.OptStr(keyTimeZone)
	if !ok {
		return top
	}
	if _, err := schedule.Zone(name, nil); err != nil {
		at := f.Get(keyTimeZone)
		r.problem(at.Span, at.Path(), err)
		return ""
	}
	return name
}

// planKeys are the keys of an item of `schedules`.
var planKeys = schedules.Keys{Zone: keyTimeZone, Mode: keyExecutionMode}

// schedules reads the schedules on which runs of a graph start (S1-22, X-77): one schedule, or a
// list of them. own is the mode and zone that f specifies or inherits.
func (r *reader) schedules(f *source.Fields, w *workflow.Workflow, own inherited) []workflow.Schedule {
	given, list := schedules.Inputs{Given: w.Inputs, Node: f.Get("inputs")}, f.Get(keySchedules)
	if !list.IsNull() {
		var others []source.Entry
		for _, key := range []string{keyExecutionMode, keySchedule} {
			f.Get(key)
			if e := f.Node().Entry(key); e != nil {
				others = append(others, *e)
			}
		}
		if !schedules.Alone(list, others, &r.diags) {
			return nil
		}
		return planKeys.Read(list, own.zone, given, &r.diags)
	}
	s := r.schedule(f, own)
	if s == nil {
		return nil
	}
	at := f.Get(keySchedule)
	if at.IsNull() {
		at = f.Get(keyExecutionMode)
	}
	if at.IsNull() {
		at = f.Node()
	}
	schedules.Fits(at, nil, given, &r.diags)
	return []workflow.Schedule{*s}
}

// schedule reads one schedule; it returns nil if there is none (S1-22, S1-23, S1-27, S1-39).
func (r *reader) schedule(f *source.Fields, own inherited) *workflow.Schedule {
	spec := f.Text(keySchedule) // people often write a number of seconds without quotes
	at := f.Get(keySchedule)
	if at != nil && !at.IsScalar() {
		return nil // already reported
	}
	if own.mode == "" || own.mode == workflow.ModeOneTime {
		if written := f.Get(keyExecutionMode); !at.IsNull() && (written.IsNull() || written.Text == own.mode) {
			e := f.Node().Entry(keySchedule)
			d := r.diags.Warnf(e.KeySpan, at.Path(), codeUnusedSchedule,
				"schedule %q has no effect: the execution mode is %s", spec, workflow.ModeOneTime)
			d.Hint = `for runs at these times write "executionMode": "interval"`
		}
		return nil
	}
	_, err := schedule.Parse(own.mode, spec)
	switch {
	case hasCode(err, schedule.CodeMissingSchedule) && at.IsNull():
		span := diag.Span{File: f.Node().Span.File, Start: f.Node().Span.Start}
		if mode := f.Get(keyExecutionMode); mode != nil {
			span = mode.Span
		}
		d := r.problem(span, f.Node().Path(), err)
		if f.Get(keyExecutionMode) == nil && own.modeAt != nil {
			d.Related = []diag.Related{{Span: own.modeAt.Span, Message: "the mode is inherited from here"}}
		}
		return nil
	case err != nil:
		r.problem(at.Span, at.Path(), err)
		return nil
	}
	return &workflow.Schedule{Mode: own.mode, Spec: spec, TimeZone: own.zone}
}

// neverScheduled checks the schedule of a main graph that has branches (S1-27).
func (r *reader) neverScheduled(f *source.Fields) {
	for _, key := range []string{keySchedule, keySchedules} {
		if n := f.Get(key); !n.IsNull() {
			e := f.Node().Entry(key)
			d := r.diags.Warnf(e.KeySpan, n.Path(), codeUnusedSchedule,
				"the %s of the main graph has no effect: the document has branches", key)
			d.Hint = "move the schedule into its branch"
		}
	}
}

// problem reports an error of package schedule.
func (r *reader) problem(span diag.Span, path string, err error) *diag.Diagnostic {
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		d := r.diags.Errorf(span, path, e.Code, "%s", e.Message)
		d.Hint = e.Hint
		return d
	}
	return r.diags.Errorf(span, path, schedule.CodeBadSchedule, "%v", err)
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*schedule.Error](err)
	return ok && e.Code == code
}
