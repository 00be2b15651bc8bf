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

func (r *Run) applyCall(ev *Event) error {
	switch d := ev.Data.(type) {
	case *ModelCalled:
		return r.applyModelCalled(ev, d)
	case *ModelReplied:
		r.spend(ev, d.Call, d.Usage, d.CostUSD, false, false)
		c, err := r.endCall(ev, d.Call, callModel, d.Late)
		if c == nil {
			return err
		}
		if fr := &r.step(c.Step).Agent.Frames[c.Frame]; d.Usage != nil {
			fr.Input, fr.Seen = d.Usage.InputTokens, c.Length
		}
		r.applyReply(c, &d.Message)
	case *ModelFailed:
		r.spend(ev, d.Call, d.Usage, d.CostUSD, isFree(d.Error.Code), d.Withheld())
		return r.failCall(ev, d.Call, callModel, d.Late)
	case *ToolCalled:
		if err := r.beginCall(ev, d.Call, call{Kind: callTool, Frame: d.Frame, Attempt: d.Attempt, Tool: d.Tool, ToolID: d.ToolCallID, Args: d.Arguments}); err != nil {
			return err
		}
		r.s.Calls[d.Call].Args = d.Arguments
		r.charge(ev, ledger.Amount{Calls: 1})
	case *ToolReturned:
		if d.Call == "" { // answered by the engine itself
			return r.answerTurn(ev, d.Frame, turnCall{ID: d.ToolCallID, Text: d.Text, Err: d.IsError})
		}
		c, err := r.endCall(ev, d.Call, callTool, d.Late)
		if c == nil {
			return err
		}
		r.setGiven(ev.Step, d)
		if c.ToolID != "" {
			return r.answerTurn(ev, c.Frame, turnCall{ID: c.ToolID, Text: d.Text, Err: d.IsError})
		}
	case *ToolFailed:
		if c := r.s.Calls[d.Call]; c != nil && c.ToolID != "" && c.State != callCancelled && !d.Unknown && !d.Kept {
			r.forget(d.Call, c)
			return r.answerTurn(ev, c.Frame, turnCall{ID: c.ToolID, Text: d.Error.Message, Err: true})
		}
		if c := r.s.Calls[d.Call]; c != nil && d.Unknown {
			c.Unknown++
		}
		return r.failCall(ev, d.Call, callTool, d.Late)
	case *FuncCalled:
		return r.beginCall(ev, d.Call, call{Kind: callFunc, Attempt: d.Attempt, Tool: d.Func})
	case *FuncReturned:
		if d.Error != nil {
			if c := r.s.Calls[d.Call]; c != nil && d.Kept {
				c.Kept++
			} else if c != nil && !d.Late {
				c.Last = d.Output
				if d.Error.Code != CodeCancelled {
					r.failed(ev, d.Error.Message, d.Attempt)
				}
			}
			return r.failCall(ev, d.Call, callFunc, d.Late)
		}
		c, err := r.endCall(ev, d.Call, callFunc, d.Late)
		if c == nil {
			return err
		}
		r.setGiven(ev.Step, d)
		st := r.step(ev.Step)
		if st.changed, err = st.View.ChangesOf(d.Update, d.Edits, ev.Step); err != nil {
			return r.diverge(ev, "%v", err)
		}
	}
	return nil
}

func (r *Run) applyModelCalled(ev *Event, d *ModelCalled) error {
	st := r.step(ev.Step)
	if st.Agent == nil || d.Frame < 0 || d.Frame >= len(st.Agent.Frames) {
		return r.diverge(ev, "frame %d does not exist", d.Frame)
	}
	fr := &st.Agent.Frames[d.Frame]
	fresh := r.s.Calls[d.Call] == nil
	if err := r.beginCall(ev, d.Call, call{Kind: callModel, Frame: d.Frame, Attempt: d.Attempt, Reserved: d.Reserved}); err != nil {
		return err
	}
	r.charge(ev, ledger.Amount{Calls: 1})
	if len(d.Added) > 0 {
		fr.Repairs++
		r.conv(fr.Conv, d.Added...)
	}
	if have := len(r.s.Convs[fr.Conv]); have != d.Length {
		return r.diverge(ev, "conversation %s has %d messages, not %d", fr.Conv, have, d.Length)
	}
	if fresh {
		fr.Turns++
	}
	c := r.s.Calls[d.Call]
	c.Model, c.Length = d.Model, d.Length
	if v := d.Reserved; v != nil {
		r.s.Ledger.Reserve(d.Call, ev.Step, d.Model, v.Input, v.Output)
	}
	if a := r.flowOf(ev.Step).agents[fr.Agent]; a != nil {
		fr.Model = 1 + slices.Index(a.Fallbacks, d.Model)
	}
	return nil
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
func (r *Run) answerTurn(ev *Event, frameID int, result turnCall) error {
	st := r.step(ev.Step)
	if st.Agent == nil || frameID < 0 || frameID >= len(st.Agent.Frames) {
		return r.diverge(ev, "frame %d does not exist", frameID)
	}
	fr := &st.Agent.Frames[frameID]
	i := slices.IndexFunc(fr.Turn, func(t turnCall) bool { return t.ID == result.ID && !t.Done })
	if i < 0 {
		return r.diverge(ev, "tool call %s is not open", result.ID)
	}
	fr.Turn[i].Done, fr.Turn[i].Text, fr.Turn[i].Err = true, result.Text, result.Err
	for _, t := range fr.Turn {
		if !t.Done {
			return nil
		}
	}
	r.joinTurn(fr)
	return nil
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

func (r *Run) applySubagent(ev *Event) error {
	st := r.step(ev.Step)
	switch d := ev.Data.(type) {
	case *SubagentStarted:
		if d.Frame != len(st.Agent.Frames) || d.Parent < 0 || d.Parent >= len(st.Agent.Frames) {
			return r.diverge(ev, "frame %d does not match", d.Frame)
		}
		if r.flowOf(ev.Step).agents[d.Agent] == nil {
			return r.diverge(ev, "agent %q does not exist", d.Agent)
		}
		fr := r.openFrame(ev.Step, d.Agent, d.System, d.Parent)
		fr.ToolCallID, fr.Call, fr.Depth = d.ToolCallID, d.Call, d.Depth
		r.conv(fr.Conv, chat.Message{Role: chat.RoleUser, Text: chat.NewText(d.Input)})
	case *AgentHanded:
		return r.applyHanded(ev, d)
	case *SubagentCompleted:
		fr, err := r.endFrame(ev, d.Frame)
		if err != nil {
			return err
		}
		text := expr.Text(d.Output)
		switch {
		case d.Reply:
			text = r.replyText(ev.Step, d.Frame).Text().String()
		case d.JSON:
			out, _ := JSONOf(r.lastReply(ev.Step, d.Frame).Text.String())
			text = expr.Text(out)
		}
		delete(r.s.Convs, fr.Conv)
		return r.answerTurn(ev, fr.Parent, turnCall{ID: fr.ToolCallID, Text: text})
	case *SubagentFailed:
		fr, err := r.endFrame(ev, d.Frame)
		if err != nil {
			return err
		}
		delete(r.s.Convs, fr.Conv)
		return r.answerTurn(ev, fr.Parent, turnCall{ID: fr.ToolCallID, Text: d.Error.Message, Err: true})
	}
	return nil
}

func (r *Run) endFrame(ev *Event, id int) (*frame, error) {
	st := r.step(ev.Step)
	if id < 0 || id >= len(st.Agent.Frames) || st.Agent.Frames[id].Parent < 0 || st.Agent.Frames[id].Done {
		return nil, r.diverge(ev, "frame %d is not active", id)
	}
	r.closeFrame(ev.Step, id)
	return &st.Agent.Frames[id], nil
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
