package loop

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// Agent is a running agent loop. Root is the frame of the step's own agent.
type Agent struct {
	Root   int
	Frames []Frame
}

// Frame is one agent loop: the step's own, or a sub-agent's inside another frame.
type Frame struct {
	Agent  string
	Conv   string
	System string // set if it differs from the definition's
	// Parent frame and tool call of a sub-agent; Parent is -1 for a root.
	Parent     int
	ToolCallID string
	Call       string
	Depth      int
	Turns      int
	Repairs    int
	// Input is the number of input tokens of the last call, as its provider counted them, and Seen
	// the number of messages in it.
	Input int64
	Seen  int
	// Summary is the reply to a call for a summary, until the conversation has been compacted.
	// Tried is the number of messages in the conversation when a summary was requested but not
	// obtained; 0 means there was none. Overflowed reports that the provider rejected the
	// conversation as too long and has not answered since.
	Summary    text.Text
	Tried      int
	Overflowed bool
	Done       bool
	// Stop is why the last reply ended, if that is unusual: event.StopLength or event.StopRefusal.
	Stop string
	// Turn is the list of tool calls of the last reply, while not all of them are answered.
	Turn []TurnCall
	// Sig and Same count consecutive identical tool calls (P27). Recent are the most recently
	// answered calls with their results: see stuck.go.
	Sig    string
	Same   int
	Recent []string
	// TurnsBy is the number of turns of agents that handed the frame over, by agent id; nil if
	// there are none. Turns is that of the current agent.
	TurnsBy map[string]int
	// First is the System of the agent that started a frame which was handed over.
	First string
}

// TurnCall is one tool call of a turn, with its result once Done is set. Guarded means that the
// permissions have not allowed yet that the engine carries out the call.
type TurnCall struct {
	ID   string
	Name string
	// Concurrent and Asks are as in event.ModelReplied.
	Concurrent, Asks bool
	Guarded          bool
	Done             bool
	Text             string
	Err              bool
}

// HasSpeakers reports whether the replies of a frame carry the names of their agents: the
// conversation involves several agents, or may come to.
func (f *Frame) HasSpeakers(a *workflow.Agent) bool {
	return f.Conv == Shared || f.TurnsBy != nil || len(a.Handoffs) > 0
}

// Awaits reports whether the model of the frame waits for the result of a tool call.
func (f *Frame) Awaits(toolCall string) bool {
	return slices.ContainsFunc(f.Turn, func(t TurnCall) bool { return t.ID == toolCall && !t.Done })
}

// Inside reports whether frame fr is frame outer or is nested in it.
func (a *Agent) Inside(fr, outer int) bool {
	for fr >= 0 && fr != outer {
		fr = a.Frames[fr].Parent
	}
	return fr >= 0
}

// Within returns the ids of the agents as whose sub-agent a frame works, innermost first.
func (a *Agent) Within(fr int) []string {
	var ids []string
	for fr = a.Frames[fr].Parent; fr >= 0; fr = a.Frames[fr].Parent {
		ids = append(ids, a.Frames[fr].Agent)
	}
	return ids
}

// frame returns a frame of a step.
func frame(w World, step, id int) *Frame { return &w.Step(step).Agent.Frames[id] }

// openFrame starts an agent loop in a step.
func openFrame(w World, step int, agent, system string, parent int) *Frame {
	st := w.Step(step)
	if st.Agent == nil {
		st.Agent = &Agent{}
	}
	fr := Frame{Agent: agent, System: system, Parent: parent, Conv: ConvID(step, len(st.Agent.Frames))}
	if n := w.Node(step); parent < 0 && (n.Kind == workflow.KindExec || n.Shared) {
		fr.Conv = Shared
	}
	st.Agent.Frames = append(st.Agent.Frames, fr)
	return &st.Agent.Frames[len(st.Agent.Frames)-1]
}

// Start starts the agent loop of an agent step.
func (l *Loop) Start(w World, step int, system string) {
	n := w.Node(step)
	fr := openFrame(w, step, n.Agent, system, -1)
	if !n.Shared {
		l.Say(fr.Conv, chat.Message{Role: chat.RoleUser, Text: w.Text(step)})
	}
}

// StartExec passes to an exec step the tool calls of the agent step before it. It passes none if
// that step is not an agent step of the shared conversation, or if the calls already have their
// results: an agent may route to an executor with a call too.
func (l *Loop) StartExec(w World, step, before int) {
	n := w.Node(before)
	if n.Kind != workflow.KindAgent || !n.Shared || !l.EndsWithReply(Shared) {
		return
	}
	fr := openFrame(w, step, n.Agent, "", -1)
	for _, tc := range l.Reply(Shared).ToolCalls {
		fr.Turn = append(fr.Turn, TurnCall{ID: tc.ID, Name: tc.Name})
	}
}

// End removes a step that has ended: its calls in flight are cancelled, and its conversations are
// dropped.
func (l *Loop) End(w World, step int, at time.Time) {
	st := w.Step(step)
	if st.Calls > 0 {
		l.drop(w, at, func(c *Call) bool { return c.Step == step })
	}
	l.clearDue(st)
	st.Notes = nil
	if st.Agent == nil {
		return
	}
	if w.Node(step).Kind == workflow.KindExec {
		l.join(w, &st.Agent.Frames[0]) // what was done before the cutoff
	}
	for i := range st.Agent.Frames {
		if c := st.Agent.Frames[i].Conv; c != Shared {
			delete(l.convs, c)
		}
	}
	st.Agent = nil
}

// close ends a frame and the frames inside it: results they still wait for no longer count.
func (l *Loop) close(w World, at time.Time, step, id int) {
	frames := w.Step(step).Agent.Frames
	frames[id].Done = true
	l.drop(w, at, func(c *Call) bool { return c.Step == step && c.Frame == id })
	for i := range frames {
		if frames[i].Parent == id && !frames[i].Done {
			l.close(w, at, step, i)
		}
	}
}

// answer records the result of one tool call. After the last result of a turn, all results join the
// conversation in the order in which the model requested them, regardless of the order in which
// they arrived (P42).
func (l *Loop) answer(w World, step, id int, result TurnCall) {
	fr := frame(w, step, id)
	i := slices.IndexFunc(fr.Turn, func(t TurnCall) bool { return t.ID == result.ID && !t.Done })
	fr.Turn[i].Done, fr.Turn[i].Text, fr.Turn[i].Err = true, result.Text, result.Err
	if !slices.ContainsFunc(fr.Turn, func(t TurnCall) bool { return !t.Done }) {
		l.join(w, fr)
	}
}

// Guards reports whether the permissions have not allowed yet that the engine carries out a tool
// call of the frame's turn.
func (f *Frame) Guards(toolCall string) bool {
	return slices.ContainsFunc(f.Turn, func(t TurnCall) bool { return t.ID == toolCall && t.Guarded && !t.Done })
}

// IsGuarded reports whether a tool call only asks whether the engine may carry it out.
func (l *Loop) IsGuarded(w World, c *Call) bool {
	return c.ToolID != "" && frame(w, c.Step, c.Frame).Guards(c.ToolID)
}

// storedText returns a text in the form in which a conversation stores it. Texts of a running
// step's conversation stay in memory, since they are sent to its model on each turn and dropped
// when the step ends.
func storedText(w World, conv string, t text.Text) text.Text {
	if conv != Shared {
		return t
	}
	return w.Keep(t)
}

// join appends the results of a turn to the conversation.
func (l *Loop) join(w World, fr *Frame) {
	for _, t := range fr.Turn {
		if t.Done {
			l.Say(fr.Conv, chat.Message{Role: chat.RoleTool, Text: storedText(w, fr.Conv, chat.NewText(t.Text)),
				ToolCallID: t.ID, ToolName: t.Name, IsError: t.Err})
		}
	}
	l.remember(fr)
	fr.Turn = nil
}

// IsTurn reports whether a tool call of a frame's turn may be made now: each call before it has its
// result, unless both may be in flight together. A call that hands over is made last and
// holds up nothing.
func (l *Loop) IsTurn(w World, step, id int, toolCall string) bool {
	fr := frame(w, step, id)
	at := slices.IndexFunc(fr.Turn, func(t TurnCall) bool { return t.ID == toolCall })
	return at < 0 || !slices.ContainsFunc(fr.Turn[:at], func(t TurnCall) bool {
		return !t.Done && (!t.Concurrent || !fr.Turn[at].Concurrent) && !HandsOver(w.Agent(step, fr.Agent), t.Name)
	})
}

// TurnCall returns the call that was started for a tool call of a frame's turn, with its key, or
// nil if there is none.
func (l *Loop) TurnCall(step, id int, toolCall string) (string, *Call) {
	for key, c := range l.calls.all() {
		if c.Step == step && c.Frame == id && c.ToolID == toolCall {
			return key, c
		}
	}
	return "", nil
}

// IsAtWork reports whether a tool call of a frame's turn was started.
func (l *Loop) IsAtWork(w World, step, id int, toolCall string) bool {
	if _, c := l.TurnCall(step, id, toolCall); c != nil {
		return true
	}
	return slices.ContainsFunc(w.Step(step).Agent.Frames, func(f Frame) bool {
		return f.Parent == id && f.ToolCallID == toolCall && !f.Done
	})
}
