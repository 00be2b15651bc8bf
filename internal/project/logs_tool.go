package project

import (
	"github.com/hocket-run/hocket/internal/engine/event"
)

// addTool logs a tool call with its name and arguments, and later its name and result. A call that
// is held or retried is logged once, and so is its result.
func (l *LogFolder) addTool(log *entries, st *step, data event.Data) {
	switch d := data.(type) {
	case *event.ToolCalled:
		if _, again := l.calls[d.Call]; again {
			return
		}
		l.calls[d.Call] = d.Tool
		text := d.Tool
		if args := l.argumentsOf(st, d); len(args) > 0 {
			text += " " + string(args)
		}
		log.add(LogToolCall, text)
	case *event.ToolReturned:
		name, ok := l.calls[d.Call]
		if !ok {
			return
		}
		delete(l.calls, d.Call)
		kind, text := LogToolResult, d.Text
		if d.IsError {
			kind = LogToolError
		}
		if text == "" && len(d.Structured) > 0 {
			text = string(d.Structured)
		}
		log.add(kind, name+": "+text)
	case *event.ToolFailed:
		name, ok := l.calls[d.Call]
		if !ok || d.Unknown || d.Kept {
			return
		}
		delete(l.calls, d.Call)
		log.add(LogToolError, name+": "+d.Error.Message)
	}
}
