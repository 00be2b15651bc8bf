package engine

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/workflow"
)

// beginCommands starts an activation.
func (m *machine) beginCommands() { m.first, m.added = m.state.Seq+1, nil }

// addCommands issues commands in this activation.
func (m *machine) addCommands(cmds ...Command) { m.added = append(m.added, cmds...) }

// takeCommands returns the commands of an activation: those that its events opened and that are
// still open, and those that were added.
func (m *machine) takeCommands(events []event.Event) []Command {
	var cmds []Command
	for i := range events {
		ev := &events[i]
		switch d := ev.Data.(type) {
		case *event.ModelCalled:
			cmds = m.appendCall(cmds, d.Call, ev.Seq)
		case *event.ToolCalled:
			cmds = m.appendCall(cmds, d.Call, ev.Seq)
		case *event.FuncCalled:
			cmds = m.appendCall(cmds, d.Call, ev.Seq)
		case *event.StepStarted:
			cmds = m.appendTimer(cmds, timer.RetryOf(ev.Step, ""), ev.Seq)
			cmds = m.appendTimer(cmds, timer.Key{Kind: timer.Timeout, Step: ev.Step}, ev.Seq)
		case *event.StepRetrying:
			cmds = m.appendTimer(cmds, timer.RetryOf(ev.Step, d.Call), ev.Seq)
		case *event.WaitOpened:
			if m.state.Waits.Get(d.Wait).IsOpen() {
				cmds = append(cmds, &OpenWait{Wait: d.Wait, After: ev.Seq, Node: ev.Node, Step: ev.Step})
			}
			cmds = m.appendTimer(cmds, timer.Key{Kind: timer.Deadline, Wait: d.Wait}, ev.Seq)
			cmds = m.appendTimer(cmds, timer.Key{Kind: timer.Remind, Wait: d.Wait}, ev.Seq)
		case *event.RunStarted, *event.RunResumed:
			cmds = m.appendTimeout(cmds, ev.Seq)
		case *event.LimitReached:
			if d.IsHandoff() { // the clock restarts
				cmds = m.appendTimeout(cmds, ev.Seq)
			}
		case *event.RunCompleted, *event.RunFailed, *event.RunCancelled:
			cmds = append(cmds, &Finish{Status: event.StatusOf(d), After: ev.Seq})
		}
	}
	cmds = append(cmds, m.added...)
	m.added = nil
	return cmds
}

func (m *machine) appendTimeout(cmds []Command, seq uint64) []Command {
	if t, ok := m.state.timeLimit(seq); ok {
		cmds = append(cmds, startTimer(t))
	}
	return cmds
}

// appendTimer appends the command for a timer that event seq has started, if it is running.
func (m *machine) appendTimer(cmds []Command, k timer.Key, seq uint64) []Command {
	if t, ok := m.state.Timers.Get(k); ok && t.Seq == seq {
		cmds = append(cmds, startTimer(t))
	}
	return cmds
}

func (m *machine) appendCall(cmds []Command, key string, seq uint64) []Command {
	if call := m.state.Loop.Call(key); call != nil && call.State == loop.Open && call.Seq == seq {
		if cmd := m.command(key, call); len(cmds) > 0 {
			cmds = append(cmds, cmd)
		} else {
			cmds = m.mem.commands.allocSlice(cmd)
		}
	}
	return cmds
}

// openCommands returns the commands without a result in the order in which they were first issued.
func (m *machine) openCommands() []Command {
	s := &m.state
	var cmds []Command
	if s.Status == event.StatusRunning {
		if !s.cancelled() { // calls in progress may finish but are not restarted
			cmds = m.requestCalls(s.Seq + 1)
		}
		cmds = m.appendTimeout(cmds, s.Seq)
		if s.settling() {
			cmds = append(cmds, startTimer(s.settleTimer()))
		}
	}
	if !s.Status.Ended() {
		cmds = append(cmds, s.timers(s.Seq+1)...)
	}
	return cmds
}

// requestCalls returns the calls without a result that were requested before event seq, in the
// order in which they were issued.
func (m *machine) requestCalls(seq uint64) []Command {
	var cmds []Command
	for _, key := range m.state.Loop.Keys(func(call *loop.Call) bool {
		return call.State == loop.Open && call.Seq < seq
	}) {
		cmds = append(cmds, m.command(key, m.state.Loop.Call(key)))
	}
	return cmds
}

// reissue issues every open call and timer from before this activation again.
func (m *machine) reissue() {
	m.addCommands(m.requestCalls(m.first)...)
	m.addCommands(m.state.timers(m.first)...)
}

// cancelCalls asks the driver to stop the open calls that match.
func (m *machine) cancelCalls(match func(*loop.Call) bool) {
	var ids []string
	for _, key := range m.state.Loop.Keys(func(call *loop.Call) bool {
		return call.State == loop.Open && match(call)
	}) {
		ids = append(ids, commandID(key, m.state.Loop.Call(key).Attempt))
	}
	if len(ids) > 0 {
		m.addCommands(&CancelCalls{IDs: ids, After: m.state.Seq + 1})
	}
}

// timers returns the timers of waits, steps and calls that were requested before event seq.
func (s *state) timers(seq uint64) []Command {
	var cmds []Command
	for _, t := range s.Timers.Before(seq) {
		cmds = append(cmds, startTimer(*t))
	}
	return cmds
}

// command builds the command of an open call from the state alone.
func (m *machine) command(key string, call *loop.Call) Command {
	s, g := &m.state, &m.state.graph
	st := g.Step(call.Step)
	id, idem := m.commandIDs(key, call.Attempt)
	node, limit := g.NodeID(call.Step), time.Duration(g.StepNode(call.Step).CallTimeout)
	switch call.Kind {
	case loop.Model:
		fr := &st.Loop.Agent.Frames[call.Frame]
		a := g.FlowOf(call.Step).Agents[fr.Agent]
		cmd := &CallModel{
			ID: id, Key: idem, After: call.Seq, Node: node, Step: call.Step, Attempt: call.Attempt, Agent: a.Agent,
			Model:  call.Model,
			System: m.system(call.Step, call.Frame), Conversation: fr.Conv,
			Messages: slices.Clip(s.Loop.Conv(fr.Conv)[:call.Length]),
			Tools:    m.toolDefs(call.Step, call.Frame), Timeout: limit,
			Within: st.Loop.Agent.Within(call.Frame),
		}
		if call.Reserved != nil {
			cmd.MaxOutput = call.Reserved.Output
		}
		if k := call.Compaction; k != nil {
			cmd.Compaction, cmd.System, cmd.Tools = true, compact.Prompt, nil
			cmd.Messages = []chat.Message{compact.Transcript(cmd.Messages, k.Left)}
			return cmd
		}
		if fr.HasSpeakers(a.Agent) {
			cmd.Messages = loop.Show(cmd.Messages, 0, a.Title())
		}
		return cmd
	case loop.Tool:
		cmd := &CallTool{ID: id, Key: idem, After: call.Seq, Node: node, Step: call.Step, Attempt: call.Attempt,
			Retry: s.graph.Step(call.Step).Retries, Tool: call.Tool, Arguments: s.argumentsOf(call), Timeout: limit,
			Iteration: st.Iter, Definition: s.plan.digest, Approved: call.Approved, Held: call.Held,
			CheckOnly: call.CheckOnly}
		if cmd.Agent = s.agentOf(call); cmd.Agent != nil {
			cmd.Offered = m.engineToolNames(call.Step, call.Frame)
			cmd.Within, cmd.Delegates = st.Loop.Agent.Within(call.Frame), s.Loop.IsGuarded(s, call)
		}
		return cmd
	default:
		attempt := call.Attempt - call.Kept
		cmd := m.newCallFunc(CallFunc{
			ID: id, Key: idem, After: call.Seq, Node: node, Step: call.Step, Attempt: attempt, Func: call.Tool,
			Input: g.StepInput(call.Step), State: st.View, Outputs: Outputs{flow: g.FlowOf(call.Step), seen: st.Seen,
				steps: g.Steps.All()}, Timeout: limit, Notes: slices.Clip(st.Loop.Notes),
			Errors: s.errors(call.Errors), Updated: call.Updated,
		})
		if attempt > 1 {
			cmd.Last, cmd.LastOutput = st.Last, call.Last
		}
		return cmd
	}
}

// newCallFunc stores a command, reusing a returned one if there is one.
func (m *machine) newCallFunc(cmd CallFunc) *CallFunc {
	p := m.freeCallFunc
	if p == nil {
		return m.mem.funcs.alloc(cmd)
	}
	m.freeCallFunc = nil
	*p = cmd
	return p
}

// errors returns the last of the first n failed attempts, or nil if there are none.
func (s *state) errors(n int) []FailedAttempt {
	if n > len(s.Errors) || n <= 0 {
		return nil
	}
	return slices.Clip(s.Errors[max(0, n-MaxErrors):n])
}

// ToolCall returns the agent for which an open tool call is made, or nil for a tool node, and its
// arguments, as in its [CallTool]. ok is false if there is no such call.
func (r *Run) ToolCall(call string) (agent *workflow.Agent, arguments event.Value, ok bool) {
	c := r.state.Loop.Call(call)
	if c == nil || c.Kind != loop.Tool || c.State != loop.Open {
		return nil, nil, false
	}
	return r.state.agentOf(c), r.state.argumentsOf(c), true
}

// agentOf returns the agent for which an open tool call is made, or nil for a tool node.
func (s *state) agentOf(c *loop.Call) *workflow.Agent {
	a := s.graph.Step(c.Step).Loop.Agent
	if a == nil {
		return nil
	}
	return s.graph.FlowOf(c.Step).Agents[a.Frames[c.Frame].Agent].Agent
}

// argumentsOf returns the arguments of a tool call; for a tool node they are the input of the step.
func (s *state) argumentsOf(c *loop.Call) event.Value {
	if c.Args == nil && c.ToolID == "" {
		return s.graph.StepInput(c.Step)
	}
	return s.Loop.Arguments(s, c)
}

// stopped returns the calls that were told to stop, in the order in which they were issued: those
// that were cancelled, and all open calls once the run was cancelled.
func (m *machine) stopped() []Command {
	s := &m.state
	if s.Status.Ended() {
		return nil
	}
	var cmds []Command
	for _, key := range s.Loop.Keys(func(call *loop.Call) bool {
		return call.State == loop.Cancelled || call.State == loop.Open && s.cancelled()
	}) {
		call := s.Loop.Call(key)
		switch id := commandID(key, call.Attempt); call.Kind {
		case loop.Model:
			cmds = append(cmds, &CallModel{ID: id, After: call.Seq})
		case loop.Tool:
			cmds = append(cmds, &CallTool{ID: id, After: call.Seq})
		default:
			cmds = append(cmds, &CallFunc{ID: id, After: call.Seq})
		}
	}
	return cmds
}
