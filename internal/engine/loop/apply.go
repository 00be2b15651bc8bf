package loop

import (
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
)

// ApplyModelCalled starts an attempt of a model call. Messages that it adds to the conversation ask
// the model to correct its reply.
func ApplyModelCalled(l *Loop, w World, ev *event.Event, d *event.ModelCalled) {
	fr := frame(w, ev.Step, d.Frame)
	switch k := d.Compaction; {
	case k != nil:
		fr.Tried = d.Length
		if k.Overflow != "" && l.calls.get(k.Overflow) != nil {
			l.end(w, k.Overflow)
			fr.Overflowed = true
		}
	case l.calls.get(d.Call) == nil:
		fr.Turns++
	}
	c := Call{Kind: Model, Frame: d.Frame, Attempt: d.Attempt, Model: d.Model, Length: d.Length, Reserved: d.Reserved,
		Instead: d.Instead, Compaction: d.Compaction}
	l.beginModel(w, ev, d, &c)
	l.begin(w, ev, d.Call, c)
	if len(d.Added) > 0 {
		fr.Repairs++
		l.Say(fr.Conv, d.Added...)
	}
}

// ApplyModelReplied appends a reply to its conversation and opens the turn of its tool calls.
func ApplyModelReplied(l *Loop, w World, ev *event.Event, d *event.ModelReplied) {
	c := l.end(w, d.Call)
	if d.Late {
		return
	}
	fr := frame(w, c.Step, c.Frame)
	l.answeredBy(w, ev, fr.Agent, c)
	if c.Compaction != nil {
		fr.Summary = d.Message.Text
		return
	}
	fr.Overflowed, fr.Stop = false, ""
	if d.Stop == event.StopLength || d.Stop == event.StopRefusal {
		fr.Stop = d.Stop
	}
	if d.Usage != nil {
		fr.Input, fr.Seen = d.Usage.InputTokens, c.Length
	}
	msg := d.Message
	msg.Text = storedText(w, fr.Conv, msg.Text)
	if a := w.Agent(c.Step, fr.Agent); fr.HasSpeakers(a) {
		msg.Name = a.Title()
	}
	l.Say(fr.Conv, msg)
	fr.Turn = nil
	for i, tc := range d.Message.ToolCalls {
		fr.Turn = append(fr.Turn, TurnCall{ID: tc.ID, Name: tc.Name, Concurrent: slices.Contains(d.Concurrent, i),
			Asks: slices.Contains(d.Asks, i), Guarded: slices.Contains(d.Guarded, tc.Name)})
		if sig := tc.Name + "\x00" + string(tc.Arguments); sig == fr.Sig {
			fr.Same++
		} else {
			fr.Sig, fr.Same = sig, 1
		}
	}
}

// ApplyModelFailed keeps the call; what happens to it is decided next.
func ApplyModelFailed(l *Loop, w World, _ *event.Event, d *event.ModelFailed) {
	l.fail(w, d.Call, d.Late)
}

// ApplyToolCalled starts an attempt of a tool call.
func ApplyToolCalled(l *Loop, w World, ev *event.Event, d *event.ToolCalled) {
	l.begin(w, ev, d.Call, Call{Kind: Tool, Frame: d.Frame, Attempt: d.Attempt, Tool: d.Tool, ToolID: d.ToolCallID,
		Args: d.Arguments, CheckOnly: d.CheckOnly})
}

// ApplyToolReturned ends a tool call, or answers a tool call that the engine handles itself, and
// passes the result to the model that requested it. A call that the permissions allow stays open in
// its turn, for the engine to carry out.
func ApplyToolReturned(l *Loop, w World, ev *event.Event, d *event.ToolReturned) {
	id, toolCall, note := d.Frame, d.ToolCallID, ""
	if d.Call != "" {
		c := l.end(w, d.Call)
		if d.Late {
			return
		}
		id, toolCall, note = c.Frame, c.ToolID, c.edit()
	}
	if d.Permitted {
		turn := frame(w, ev.Step, id).Turn
		t := &turn[slices.IndexFunc(turn, func(t TurnCall) bool { return t.ID == toolCall && !t.Done })]
		t.Guarded, t.Asks = false, false
		return
	}
	if toolCall != "" {
		l.answer(w, ev.Step, id, TurnCall{ID: toolCall, Text: note + d.Text, Err: d.IsError})
	}
}

// edit returns what the model that requested a call reads before its result if a person changed the
// arguments; "" if nobody did.
func (c *Call) edit() string {
	if c.Held == nil {
		return ""
	}
	return "A person changed the arguments of this call. It was called with: " + string(c.Args) + "\n\n"
}

// ApplyToolFailed passes the failure to the model that requested the call. If the call is a node's,
// or no model reads it, the call is kept, and what happens to it is decided next.
func ApplyToolFailed(l *Loop, w World, ev *event.Event, d *event.ToolFailed) {
	c := l.calls.get(d.Call)
	if c.ToolID != "" && !d.Late && !d.Unknown && !d.Kept {
		l.end(w, d.Call)
		l.answer(w, ev.Step, c.Frame, TurnCall{ID: c.ToolID, Text: c.edit() + d.Error.Message, Err: true})
		return
	}
	if d.Unknown {
		c.Unknown++
	}
	l.fail(w, d.Call, d.Late)
}

// ApplyFuncCalled starts an attempt of a function. errors is the number of failed attempts of the
// run so far, updated the time of the last change to its state.
func ApplyFuncCalled(l *Loop, w World, ev *event.Event, d *event.FuncCalled, errors int, updated time.Time) {
	l.begin(w, ev, d.Call, Call{Kind: Func, Attempt: d.Attempt, Tool: d.Func, Errors: errors, Updated: updated})
}

// ApplyFuncReturned ends the call of a function, or keeps it if the function failed.
func ApplyFuncReturned(l *Loop, w World, _ *event.Event, d *event.FuncReturned) {
	switch c := l.calls.get(d.Call); {
	case d.Error == nil:
		l.end(w, d.Call)
		return
	case d.Kept:
		c.Kept++
	case !d.Late:
		c.Last = d.Output
	}
	l.fail(w, d.Call, d.Late)
}

// ApplyFuncNoted stores a note.
func ApplyFuncNoted(l *Loop, w World, ev *event.Event, d *event.FuncNoted) {
	st := w.Step(ev.Step)
	st.Notes = append(st.Notes, Note{Key: d.Key, Value: d.Value})
}

// ApplySubagentStarted starts the loop of a sub-agent.
func ApplySubagentStarted(l *Loop, w World, ev *event.Event, d *event.SubagentStarted) {
	fr := openFrame(w, ev.Step, d.Agent, d.System, d.Parent)
	fr.ToolCallID, fr.Call, fr.Depth = d.ToolCallID, d.Call, d.Depth
	l.Say(fr.Conv, chat.Message{Role: chat.RoleUser, Text: chat.NewText(d.Input)})
}

// ApplySubagentCompleted passes the output of a sub-agent to the model that requested it.
func ApplySubagentCompleted(l *Loop, w World, ev *event.Event, d *event.SubagentCompleted) {
	out := expr.Text(d.Output)
	if d.Reply || d.JSON {
		out = l.Reply(frame(w, ev.Step, d.Frame).Conv).Text.String()
	}
	if d.JSON && !d.Reply {
		v, _ := event.JSONOf(out)
		out = expr.Text(v)
	}
	l.endSubagent(w, ev, d.Frame, out, false)
}

// ApplySubagentFailed passes the failure of a sub-agent to the model that requested it.
func ApplySubagentFailed(l *Loop, w World, ev *event.Event, d *event.SubagentFailed) {
	l.endSubagent(w, ev, d.Frame, d.Error.Message, true)
}

// ApplyRunCancelling starts the period in which calls in flight may finish.
func (l *Loop) ApplyRunCancelling(ev *event.Event) {
	at := ev.At
	l.cancelled = &at
}

// endSubagent ends the frame of a sub-agent, and answers the call that started it.
func (l *Loop) endSubagent(w World, ev *event.Event, id int, out string, failed bool) {
	l.close(w, ev.At, ev.Step, id)
	fr := frame(w, ev.Step, id)
	delete(l.convs, fr.Conv)
	l.answer(w, ev.Step, fr.Parent, TurnCall{ID: fr.ToolCallID, Text: out, Err: failed})
}

// ApplyAgentHanded hands a frame over to another agent. The turns of each agent are counted across
// all the times that it has the frame, so that agents cannot hand over to each other forever.
func ApplyAgentHanded(l *Loop, w World, ev *event.Event, d *event.AgentHanded) {
	fr := frame(w, ev.Step, d.Frame)
	turns := maps.Clone(fr.TurnsBy)
	if turns == nil {
		turns, fr.First = map[string]int{}, fr.System
	}
	turns[fr.Agent] = fr.Turns
	fr.Agent, fr.System, fr.Turns, fr.TurnsBy = d.Agent, d.System, turns[d.Agent], turns
	fr.Repairs = 0
	l.answer(w, ev.Step, d.Frame, TurnCall{ID: d.ToolCallID, Text: "The conversation is handed over to " +
		w.Agent(ev.Step, d.Agent).Title() + "."})
}
