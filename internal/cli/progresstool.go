package cli

import (
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Widths of a tool call's arguments and result in progress, in columns.
const (
	maxToolArgs   = 80
	maxToolResult = 100
)

// toolBoard holds what progress needs to show tool calls with their arguments and results. The zero
// toolBoard is ready to use.
type toolBoard struct {
	asked map[askedCall]string // shortened arguments from model replies
	open  map[string]openTool  // by call
	from  map[int]int          // by step: the previous step, whose reply may contain the calls
}

// askedCall identifies a tool call in a model's reply.
type askedCall struct {
	step int
	id   string
}

// openTool is a call that has no result yet.
type openTool struct {
	name, args string
	at         time.Time
}

// add processes an event and returns the line for a tool call that has its result. a is the
// activity of the event's step, or nil.
func (t *toolBoard) add(a *activity, e event.Event) *line {
	if t.open == nil {
		t.asked, t.open, t.from = map[askedCall]string{}, map[string]openTool{}, map[int]int{}
	}
	switch d := e.Data.(type) {
	case *event.StepStarted:
		t.from[e.Step] = d.From
	case *event.ModelReplied:
		for _, c := range d.Message.ToolCalls {
			t.asked[askedCall{e.Step, c.ID}] = brief(string(c.Arguments), maxToolArgs)
		}
	case *event.ToolCalled:
		o := openTool{name: clean(d.Tool), args: brief(string(d.Arguments), maxToolArgs), at: e.At}
		if o.args == "" {
			o.args = t.askedFor(e.Step, d.ToolCallID)
		}
		if before, again := t.open[d.Call]; again && o.args == "" { // a held or retried call
			o.args = before.args
		}
		t.open[d.Call] = o
		if a != nil {
			a.doing = short("tool "+o.name+" "+o.args, maxToolArgs)
		}
	case *event.ToolReturned:
		text := d.Text
		if text == "" {
			text = string(d.Structured)
		}
		return t.ended(a, e, d.Call, text, d.IsError)
	case *event.ToolFailed:
		if !d.Unknown && !d.Kept {
			return t.ended(a, e, d.Call, d.Error.Message+" ("+d.Error.Code+")", true)
		}
	}
	return nil
}

// askedFor returns the arguments of a call from a model's reply: in the step itself, or in the step
// whose calls this one executes.
func (t *toolBoard) askedFor(step int, id string) string {
	for _, s := range []int{step, t.from[step]} {
		if args, ok := t.asked[askedCall{s, id}]; ok {
			delete(t.asked, askedCall{s, id})
			return args
		}
	}
	return ""
}

func (t *toolBoard) ended(a *activity, e event.Event, call, text string, failed bool) *line {
	o, ok := t.open[call]
	if !ok {
		return nil
	}
	delete(t.open, call)
	l := &line{mark: markTool, title: "tool " + o.name + " " + o.args, facts: duration(e.At.Sub(o.at)),
		text: "→ " + brief(text, maxToolResult)}
	if failed {
		l.mark = markWarning
	}
	if a != nil {
		l.title = a.title() + "  " + l.title
	}
	return l
}

// brief returns the beginning of an external text on one line, with everything escaped that a
// terminal would not show. It examines no more of a long text than it may need.
func brief(text string, width int) string {
	const most = 4 // maximum bytes of a character
	if cut := width*most + most; len(text) > cut {
		text = strings.ToValidUTF8(text[:cut], "") + "…"
	}
	return short(escapedLine(text), width)
}
