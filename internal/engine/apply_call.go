package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// sharedConv is the conversation of all agents of a run (S3-23).
const sharedConv = "run"

// openFrame begins an agent loop in a step.
func (r *Run) openFrame(id int, agent, system string, parent int) *frame {
	st := r.step(id)
	if st.Agent == nil {
		st.Agent = &agentRun{}
	}
	fr := frame{Agent: agent, System: system, Parent: parent, Conv: convID(id, len(st.Agent.Frames))}
	if n := r.stepNode(id); parent < 0 && (n.Kind == workflow.KindExec || n.Agent.Prompt.Mode == workflow.PromptShared) {
		fr.Conv = sharedConv
	}
	st.Agent.Frames = append(st.Agent.Frames, fr)
	return &st.Agent.Frames[len(st.Agent.Frames)-1]
}

// openExec gives an exec step the tool calls of the agent step before it; none where no agent of the shared conversation is before it, or where the
// calls have their results: an agent may route to an executor by a call too.
func (r *Run) openExec(id, from int) {
	if from < 1 || r.stepScope(from).Flow != r.stepScope(id).Flow {
		return
	}
	caller := r.stepNode(from)
	if caller.Kind != workflow.KindAgent || caller.Agent.Prompt.Mode != workflow.PromptShared {
		return
	}
	if msgs := r.s.Convs[sharedConv]; len(msgs) == 0 || msgs[len(msgs)-1].Role != chat.RoleAssistant {
		return
	}
	fr := r.openFrame(id, caller.Agent.Agent, "", -1)
	for _, tc := range r.lastReply(id, 0).ToolCalls {
		fr.Turn = append(fr.Turn, turnCall{ID: tc.ID, Name: tc.Name})
	}
}

// applyModelCalled begins an attempt of a model call. What it adds to the conversation asks the model to mend its reply.
func (r *Run) applyModelCalled(ev *Event, d *ModelCalled) {
	fr := r.frame(ev.Step, d.Frame)
	fresh := r.s.Calls[d.Call] == nil
	c := r.beginCall(ev, d.Call, call{Kind: callModel, Frame: d.Frame, Attempt: d.Attempt, Model: d.Model, Length: d.Length, Reserved: d.Reserved})
	r.charge(ev, ledger.Amount{Calls: 1})
	if len(d.Added) > 0 {
		fr.Repairs++
		r.conv(fr.Conv, d.Added...)
	}
	if fresh {
		fr.Turns++
	}
	if v := c.Reserved; v != nil {
		r.s.Ledger.Reserve(d.Call, ev.Step, d.Model, v.Input, v.Output)
	}
	if a := r.flowOf(ev.Step).agents[fr.Agent]; a != nil {
		fr.Model = 1 + slices.Index(a.Fallbacks, d.Model)
	}
}

func (r *Run) applyModelReplied(ev *Event, d *ModelReplied) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, false, false)
	c := r.endCall(d.Call)
	if d.Late {
		return
	}
	if d.Usage != nil {
		fr := r.frame(c.Step, c.Frame)
		fr.Input, fr.Seen = d.Usage.InputTokens, c.Length
	}
	r.applyReply(c, &d.Message)
}

func (r *Run) applyModelFailed(ev *Event, d *ModelFailed) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, isFree(d.Error.Code), d.Withheld())
	r.failCall(d.Call, d.Late)
}

func (r *Run) applyToolCalled(ev *Event, d *ToolCalled) {
	r.beginCall(ev, d.Call, call{Kind: callTool, Frame: d.Frame, Attempt: d.Attempt, Tool: d.Tool, ToolID: d.ToolCallID, Args: d.Arguments})
	r.charge(ev, ledger.Amount{Calls: 1})
}

func (r *Run) applyToolReturned(ev *Event, d *ToolReturned) {
	frame, id := d.Frame, d.ToolCallID
	if d.Call != "" { // else the engine itself answered
		c := r.endCall(d.Call)
		if d.Late {
			return
		}
		r.graph.setGiven(ev.Step, d)
		frame, id = c.Frame, c.ToolID
	}
	if id != "" {
		r.answerTurn(ev.Step, frame, turnCall{ID: id, Text: d.Text, Err: d.IsError})
	}
}

func (r *Run) applyToolFailed(ev *Event, d *ToolFailed) {
	c := r.s.Calls[d.Call]
	if c.ToolID != "" && !d.Late && !d.Unknown && !d.Kept {
		r.endCall(d.Call)
		r.answerTurn(ev.Step, c.Frame, turnCall{ID: c.ToolID, Text: d.Error.Message, Err: true})
		return
	}
	if d.Unknown {
		c.Unknown++
	}
	r.failCall(d.Call, d.Late)
}

func (r *Run) applyFuncCalled(ev *Event, d *FuncCalled) {
	r.beginCall(ev, d.Call, call{Kind: callFunc, Attempt: d.Attempt, Tool: d.Func, Errors: len(r.s.Errors), Updated: r.s.Updated})
}

func (r *Run) applyFuncReturned(ev *Event, d *FuncReturned) {
	switch c := r.s.Calls[d.Call]; {
	case d.Error == nil:
		r.endCall(d.Call)
		if !d.Late {
			r.graph.setGiven(ev.Step, d)
			st := r.step(ev.Step)
			st.changed = st.View.ChangesOf(d.Update, d.Edits, ev.Step)
		}
		return
	case d.Kept:
		c.Kept++
	case !d.Late:
		c.Last = d.Output
		if d.Error.Code != CodeCancelled {
			r.failed(ev, d.Error.Message, d.Attempt)
		}
	}
	r.failCall(d.Call, d.Late)
}

// applyReply appends a reply to its conversation and opens the turn of its tool calls.
func (r *Run) applyReply(c *call, m *chat.Message) {
	st := r.step(c.Step)
	fr := &st.Agent.Frames[c.Frame]
	msg := *m
	if a := r.flowOf(c.Step).agents[fr.Agent]; fr.named(a) {
		msg.Name = a.Title()
	}
	r.conv(fr.Conv, msg)
	fr.Turn = nil
	for _, tc := range m.ToolCalls {
		fr.Turn = append(fr.Turn, turnCall{ID: tc.ID, Name: tc.Name})
		if sig := tc.Name + "\x00" + string(tc.Arguments); sig == fr.Sig {
			fr.Same++
		} else {
			fr.Sig, fr.Same = sig, 1
		}
	}
}

// answerTurn notes the result of one tool call. When it was the last one of its turn, all results join the conversation, in the order in which
// the model asked: which result came first does not matter (P42).
func (r *Run) answerTurn(step, frame int, result turnCall) {
	fr := r.frame(step, frame)
	i := slices.IndexFunc(fr.Turn, func(t turnCall) bool { return t.ID == result.ID && !t.Done })
	fr.Turn[i].Done, fr.Turn[i].Text, fr.Turn[i].Err = true, result.Text, result.Err
	if !slices.ContainsFunc(fr.Turn, func(t turnCall) bool { return !t.Done }) {
		r.joinTurn(fr)
	}
}

// joinTurn appends the results of a turn to the conversation.
func (r *Run) joinTurn(fr *frame) {
	for _, t := range fr.Turn {
		if t.Done {
			r.conv(fr.Conv, chat.Message{Role: chat.RoleTool, Text: chat.NewText(t.Text), ToolCallID: t.ID, ToolName: t.Name, IsError: t.Err})
		}
	}
	r.progressed(fr)
	fr.Turn = nil
}

func (r *Run) applySubagentStarted(ev *Event, d *SubagentStarted) {
	fr := r.openFrame(ev.Step, d.Agent, d.System, d.Parent)
	fr.ToolCallID, fr.Call, fr.Depth = d.ToolCallID, d.Call, d.Depth
	r.conv(fr.Conv, chat.Message{Role: chat.RoleUser, Text: chat.NewText(d.Input)})
}

func (r *Run) applySubagentCompleted(ev *Event, d *SubagentCompleted) {
	text := expr.Text(d.Output)
	switch {
	case d.Reply:
		text = r.replyText(ev.Step, d.Frame).Text().String()
	case d.JSON:
		out, _ := JSONOf(r.lastReply(ev.Step, d.Frame).Text.String())
		text = expr.Text(out)
	}
	r.endSubagent(ev.Step, d.Frame, text, false)
}

func (r *Run) applySubagentFailed(ev *Event, d *SubagentFailed) {
	r.endSubagent(ev.Step, d.Frame, d.Error.Message, true)
}

// endSubagent ends the frame of a sub-agent, and answers the call that began it.
func (r *Run) endSubagent(step, id int, text string, failed bool) {
	r.closeFrame(step, id)
	fr := r.frame(step, id)
	delete(r.s.Convs, fr.Conv)
	r.answerTurn(step, fr.Parent, turnCall{ID: fr.ToolCallID, Text: text, Err: failed})
}

// closeFrame ends a frame and those inside it: what they still wait for counts no more.
func (r *Run) closeFrame(step, id int) {
	frames := r.step(step).Agent.Frames
	frames[id].Done = true
	r.dropCalls(func(c *call) bool { return c.Step == step && c.Frame == id })
	for i := range frames {
		if frames[i].Parent == id && !frames[i].Done {
			r.closeFrame(step, i)
		}
	}
}
