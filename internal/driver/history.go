package driver

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/tool"
)

// History is the record of past calls in a journal, which stateful tools and reply scripts need to
// continue where they left off (D19). Fill it with Add, event by event from the first.
type History struct {
	// Tools are the finished tool calls, in journal order.
	Tools []tool.Finished
	// Pins are the tool definitions that the run has pinned (SEC14); nil if none were listed.
	Pins tool.Pins
	// Replies are the used entries of the reply script, counted from 1.
	Replies []int

	run  string
	fold *engine.Run
	open map[string]tool.Call // by call
}

// NewHistory creates the history of a run. fold must fold the same events.
func NewHistory(run string, fold *engine.Run) *History {
	return &History{run: run, fold: fold, open: map[string]tool.Call{}}
}

// Add adds the next event, which must be the last one passed to the fold.
func (h *History) Add(e event.Event) {
	switch d := e.Data.(type) {
	case *event.ModelReplied:
		h.used(d.Source)
	case *event.ModelFailed:
		h.used(d.Source)
	case *event.ToolCalled:
		if agent, arguments, ok := h.fold.ToolCall(d.Call); ok {
			h.open[d.Call] = tool.Call{Run: h.run, Agent: agentID(agent), Node: e.Node, Name: d.Tool,
				Arguments: arguments, Key: h.run + "/" + d.Call}
		}
	case *event.ToolReturned:
		if c, ok := h.open[d.Call]; ok {
			delete(h.open, d.Call)
			d = d.Whole(event.JSONOf)
			h.Tools = append(h.Tools, tool.Finished{Call: c, Result: tool.Result{Text: d.Text, IsError: d.IsError,
				Structured: d.Structured}})
		}
	case *event.ToolFailed:
		delete(h.open, d.Call)
	case *event.ToolsPinned:
		h.pin(d.Pins)
	}
}

// pin adds pinned definitions. Pins that cannot be read are ignored: their tools are listed again.
func (h *History) pin(raw event.Value) {
	var pins tool.Pins
	if json.Unmarshal(raw, &pins) != nil {
		return
	}
	if h.Pins == nil {
		h.Pins = tool.Pins{}
	}
	maps.Copy(h.Pins, pins)
}

func (h *History) used(source string) {
	if n, err := strconv.Atoi(source); err == nil && n > 0 {
		h.Replies = append(h.Replies, n)
	}
}

// source returns the name that events use for entry n of a reply script, or "" if there is none.
func source(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
