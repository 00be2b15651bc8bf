package loop

import (
	"strconv"

	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
)

// CheckCompacted checks an agent.compacted event: the requested summary has arrived, or its call
// has failed.
func CheckCompacted(l *Loop, w World, ev *event.Event, d *event.AgentCompacted) string {
	if !isActive(w, ev.Step, d.Frame) {
		return "frame " + strconv.Itoa(d.Frame) + " is not active"
	}
	fr, c := frame(w, ev.Step, d.Frame), l.calls.get(d.Call)
	msgs := l.convs[fr.Conv]
	switch {
	case d.Conversation != fr.Conv || d.Before != len(msgs):
		return "conversation " + fr.Conv + " has " + strconv.Itoa(len(msgs)) + " messages, not " +
			strconv.Itoa(d.Before)
	case c != nil && (c.Compaction == nil || c.Step != ev.Step || c.Frame != d.Frame || c.State != Failed ||
		d.Error == nil):
		return "call " + d.Call + " has not failed to give a summary"
	case d.Error != nil:
		return ""
	case fr.Summary.IsBlank():
		return "frame " + strconv.Itoa(d.Frame) + " has no summary"
	}
	return compact.Check(msgs, d.Left)
}

// ApplyCompacted replaces the compacted messages with the summary, or discards the call that did
// not produce one.
func ApplyCompacted(l *Loop, w World, ev *event.Event, d *event.AgentCompacted) {
	fr := frame(w, ev.Step, d.Frame)
	summary := fr.Summary
	fr.Summary = text.Text{}
	if d.Error != nil {
		if l.calls.get(d.Call) != nil {
			l.end(w, d.Call)
		}
		return
	}
	l.convs[fr.Conv] = compact.Replace(l.convs[fr.Conv], d.Left, compact.Summary(summary.String()))
	fr.Input, fr.Seen, fr.Tried = 0, 0, 0
}
