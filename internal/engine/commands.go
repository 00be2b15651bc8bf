package engine

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// Timer ids of the run itself; those of calls, steps and waits are built by callTimer, stepTimer and package waits.
const (
	timerTimeout = "timeout"
	timerSettle  = "settle"
)

// commands gives what this activation opened and what is still open of it.
func (r *Run) commands() []Command {
	var cmds []Command
	for i := range r.out {
		ev := &r.out[i]
		switch d := ev.Data.(type) {
		case *ModelCalled:
			cmds = r.appendCall(cmds, d.Call, ev.Seq)
		case *ToolCalled:
			cmds = r.appendCall(cmds, d.Call, ev.Seq)
		case *FuncCalled:
			cmds = r.appendCall(cmds, d.Call, ev.Seq)
		case *StepRetrying:
			id := loop.StepTimer(ev.Step)
			if d.Call != "" {
				id = loop.CallTimer(d.Call)
			}
			if t, ok := r.s.Loop.Timer(id); ok && t.Seq == ev.Seq {
				cmds = append(cmds, &StartTimer{ID: id, After: ev.Seq, At: t.At})
			}
		case *WaitOpened:
			w := r.s.Waits.Get(d.Wait)
			if !w.IsOpen() {
				continue
			}
			cmds = append(cmds, &OpenWait{Wait: d.Wait, After: ev.Seq, Node: ev.Node, Step: ev.Step})
			for _, t := range w.Timers() {
				cmds = append(cmds, startWaitTimer(t))
			}
		case *RunStarted, *RunResumed:
			cmds = r.appendTimeout(cmds, ev.Seq)
		case *LimitReached:
			if d.IsHandoff() { // the clock starts again
				cmds = r.appendTimeout(cmds, ev.Seq)
			}
		case *RunCompleted:
			cmds = append(cmds, &Finish{Status: StatusCompleted, After: ev.Seq})
		case *RunFailed:
			cmds = append(cmds, &Finish{Status: StatusFailed, After: ev.Seq})
		case *RunCancelled:
			cmds = append(cmds, &Finish{Status: StatusCancelled, After: ev.Seq})
		}
	}
	return append(cmds, r.opened...)
}

func (r *Run) appendTimeout(cmds []Command, seq uint64) []Command {
	if t := r.s.timeout(seq); t != nil {
		return append(cmds, t)
	}
	return cmds
}

func (r *Run) appendCall(cmds []Command, key string, seq uint64) []Command {
	if c := r.s.Loop.Call(key); c != nil && c.State == loop.Open && c.Seq == seq {
		if cmd := r.command(key, c); len(cmds) > 0 {
			cmds = append(cmds, cmd)
		} else {
			cmds = r.mem.commands.one(cmd)
		}
	}
	return cmds
}

// Open gives the commands without result, to be given again after a fold, in the order in which they were first given. After an activation
// with Recovered the same commands stand in its Decision.
func (r *Run) Open() []Command {
	var cmds []Command
	if r.s.Status == StatusRunning {
		if !r.s.cancelled() { // what is at work may finish; it is not begun anew
			cmds = r.Unfinished()
		}
		cmds = r.appendTimeout(cmds, r.s.Seq)
		if r.s.settling() {
			cmds = append(cmds, &StartTimer{ID: timerSettle, After: r.s.Seq, At: r.s.settleAt()})
		}
	}
	if !r.s.Status.Ended() {
		cmds = append(cmds, r.s.timers(r.s.Seq+1)...)
	}
	return cmds
}

// timers gives the timers of waits, calls and steps that were asked for before event seq, by id.
func (s *state) timers(seq uint64) []Command {
	var cmds []Command
	for _, t := range s.Waits.Timers() {
		if t.Seq < seq {
			cmds = append(cmds, startWaitTimer(t))
		}
	}
	timers := s.Loop.Timers()
	for _, id := range sortedKeys(timers) {
		if t := timers[id]; t.Seq < seq {
			cmds = append(cmds, &StartTimer{ID: id, After: t.Seq, At: t.At})
		}
	}
	return cmds
}

func startWaitTimer(t waits.Timer) *StartTimer {
	return &StartTimer{ID: t.ID, After: t.Seq, At: t.At, Deadline: true}
}

// Unfinished gives the calls without result in the order in which they were given, also where the run has ended by a limit and nobody may make them
// before it is reopened.
func (r *Run) Unfinished() []Command {
	var cmds []Command
	for _, key := range r.s.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Open }) {
		cmds = append(cmds, r.command(key, r.s.Loop.Call(key)))
	}
	return cmds
}

// timeout gives the timer of the run's own time limit, nil where there is none.
func (s *state) timeout(seq uint64) Command {
	limit := time.Duration(s.Limits.Timeout)
	if limit <= 0 || s.Status != StatusRunning {
		return nil
	}
	return &StartTimer{ID: timerTimeout, After: seq, At: s.At.Add(max(0, limit-s.Active))}
}

// command builds the command of an open call from the state alone.
func (r *Run) command(key string, c *loop.Call) Command {
	st, n := r.step(c.Step), r.stepNode(c.Step)
	id, idem := r.commandIDs(key, c.Attempt)
	node, limit := r.nodeID(c.Step), time.Duration(n.Timeout)
	switch c.Kind {
	case loop.Model:
		fr, a := r.agents.frame(c.Step, c.Frame), r.agents.agent(c.Step, c.Frame)
		msgs := r.s.Loop.Conv(fr.Conv)
		cmd := &CallModel{
			ID: id, Key: idem, After: c.Seq, Node: node, Step: c.Step, Attempt: c.Attempt, Agent: a.Agent, Model: c.Model,
			System: r.agents.system(c.Step, c.Frame), Conversation: fr.Conv, Messages: slices.Clip(msgs[:c.Length]),
			Tools: r.agents.toolDefs(c.Step, c.Frame), Timeout: limit,
		}
		if c.Reserved != nil {
			cmd.MaxOutput = c.Reserved.Output
		}
		if fr.Named(a.Agent) {
			cmd.Messages = loop.Show(cmd.Messages, 0, a.Title())
		}
		return cmd
	case loop.Tool:
		cmd := &CallTool{ID: id, Key: idem, After: c.Seq, Node: node, Step: c.Step, Attempt: c.Attempt, Tool: c.Tool, Arguments: r.s.argumentsOf(c), Timeout: limit,
			Iteration: st.Iter, Definition: r.plan.digest, Approved: c.Approved}
		if st.Loop.Agent != nil {
			cmd.Agent, cmd.Offered = r.agents.agent(c.Step, c.Frame).Agent, r.agents.offered(c.Step, c.Frame)
		}
		return cmd
	default:
		cmd := r.newCallFunc(CallFunc{
			ID: id, Key: idem, After: c.Seq, Node: node, Step: c.Step, Attempt: c.Attempt - c.Kept, Func: c.Tool,
			Input: r.stepInput(c.Step), State: st.View, Outputs: Outputs{flow: r.flowOf(c.Step), seen: st.Seen, steps: r.graph.Steps.All()}, Timeout: limit, Notes: slices.Clip(st.Loop.Notes),
			Errors: r.s.errors(c.Errors), Updated: c.Updated,
		})
		if c.Attempt-c.Kept > 1 {
			cmd.Last, cmd.LastOutput = st.Last, c.Last
		}
		return cmd
	}
}

// Reuse gives back a command that nothing holds any more: the next one may take its place.
func (r *Run) Reuse(c *CallFunc) { r.used = c }

// newCallFunc gives a place to a command, that of one that was given back where there is one.
func (r *Run) newCallFunc(c CallFunc) *CallFunc {
	p := r.used
	if p == nil {
		return r.mem.funcs.put(c)
	}
	r.used = nil
	*p = c
	return p
}

// errors gives the last of the first n failed attempts, nil where there are none.
func (s *state) errors(n int) []FailedAttempt {
	if n > len(s.Errors) || n <= 0 {
		return nil
	}
	return slices.Clip(s.Errors[max(0, n-MaxErrors):n])
}
