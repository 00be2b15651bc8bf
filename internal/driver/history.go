package driver

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/tool"
)

// History is what a journal tells of the calls that were made: what stateful tools and reply scripts need to go on where they were (D19). Fill
// it with Add, event by event from the first.
type History struct {
	// Tools are the finished tool calls, in the journal's order.
	Tools []tool.Finished
	// Pins are the definitions of tools that the run holds on to (SEC14); nil where none was listed.
	Pins tool.Pins
	// Replies are the entries of the reply script that are used up, counted from 1.
	Replies []int

	agents map[frame]string           // whose frame it is
	asked  map[askedCall]engine.Value // arguments of tool calls that models asked for
	open   map[string]tool.Call       // by call
	run    string
	inputs func(step int) engine.Value
}

type frame struct{ step, frame int }

// own stands for a frame of a step that is its agent's, also after a hand-off.
const own = -1

type askedCall struct {
	step int
	id   string
}

// NewHistory makes the history of a run. inputs gives what a step was given, which is what a tool node calls its tool with; it is asked as long as events are
// added.
func NewHistory(run string, inputs func(step int) engine.Value) *History {
	return &History{run: run, inputs: inputs, agents: map[frame]string{}, asked: map[askedCall]engine.Value{}, open: map[string]tool.Call{}}
}

// Add takes the next event in.
func (h *History) Add(e engine.Event) {
	switch d := e.Data.(type) {
	case *engine.StepStarted:
		h.agents[frame{e.Step, 0}], h.agents[frame{e.Step, own}] = d.Agent, d.Agent
	case *engine.SubagentStarted:
		h.agents[frame{e.Step, d.Frame}] = d.Agent
	case *engine.AgentHanded:
		h.agents[frame{e.Step, d.Frame}] = d.Agent
	case *engine.ModelReplied:
		for _, c := range d.Message.ToolCalls {
			h.asked[askedCall{e.Step, c.ID}] = c.Arguments
		}
		h.used(d.Source)
	case *engine.ModelFailed:
		h.used(d.Source)
	case *engine.ToolCalled:
		c := tool.Call{Run: h.run, Node: e.Node, Name: d.Tool, Arguments: d.Arguments, Key: h.run + "/" + d.Call}
		c.Agent = h.agentOf(e.Step, d.Frame)
		switch {
		case c.Arguments != nil:
		case d.ToolCallID == "":
			c.Arguments = h.inputs(e.Step)
		default:
			c.Arguments = h.asked[askedCall{e.Step, d.ToolCallID}]
		}
		h.open[d.Call] = c
	case *engine.ToolReturned:
		if c, ok := h.open[d.Call]; ok {
			delete(h.open, d.Call)
			d = d.Whole(engine.JSONOf)
			h.Tools = append(h.Tools, tool.Finished{Call: c, Result: tool.Result{Text: d.Text, IsError: d.IsError, Structured: d.Structured}})
		}
	case *engine.ToolFailed:
		delete(h.open, d.Call)
	case *engine.ToolsPinned:
		h.pin(d.Pins)
	}
}

// pin takes definitions in. Pins that cannot be read hold nothing: what they were for is listed anew.
func (h *History) pin(raw engine.Value) {
	var pins tool.Pins
	if json.Unmarshal(raw, &pins) != nil {
		return
	}
	if h.Pins == nil {
		h.Pins = tool.Pins{}
	}
	maps.Copy(h.Pins, pins)
}

// agentOf gives the agent of a frame. A frame that began anew with a retried step is the step's own agent again.
func (h *History) agentOf(step, n int) string {
	if a, ok := h.agents[frame{step, n}]; ok {
		return a
	}
	return h.agents[frame{step, own}]
}

func (h *History) used(source string) {
	if n, err := strconv.Atoi(source); err == nil && n > 0 {
		h.Replies = append(h.Replies, n)
	}
}

// source is the entry n of a reply script as an event names it; "" for none.
func source(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
