package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// Changes that call events make outside the loop: what the run has used, and the input of a step.

// Step implements loop.World.
func (s *state) Step(step int) *loop.Step { return &s.graph.Step(step).Loop }

// Node implements loop.World.
func (s *state) Node(step int) loop.Node {
	n := s.graph.StepNode(step)
	if n.Agent == nil {
		return loop.Node{Kind: n.Kind}
	}
	return loop.Node{Kind: n.Kind, Agent: n.Agent.Agent, Shared: n.Agent.Prompt.Mode == workflow.PromptShared}
}

// Agent implements loop.World.
func (s *state) Agent(step int, id string) *workflow.Agent {
	if a := s.graph.FlowOf(step).Agents[id]; a != nil {
		return a.Agent
	}
	return nil
}

// Flow implements loop.World.
func (s *state) Flow(step int) int { return s.graph.FlowPlace(step) }

// Text implements loop.World.
func (s *state) Text(step int) text.Text { return s.graph.StepText(step) }

// Settle implements loop.World. Anything that the runs and sessions of a call that is gone may
// still use counts as used, because nothing reports it any more.
func (s *state) Settle(key string, c *loop.Call, gone bool) {
	if gone {
		s.Timers.Stop(timer.RetryOf(c.Step, key))
	}
	switch {
	case c.Kind == loop.Model:
		s.Ledger.Release(key)
	case gone:
		s.Ledger.CloseCall(s, key)
	default:
		s.Ledger.CloseSessions(s, key)
	}
}

// loopKind returns the entry of an event that concerns only the loop.
func loopKind[D any, P interface {
	*D
	event.Data
}](
	check func(*loop.Loop, loop.World, *event.Event, P) string,
	apply func(*loop.Loop, loop.World, *event.Event, P),
) eventKind {
	return kindOf(checkLoop(check), func(s *state, ev *event.Event, d P) { apply(&s.Loop, s, ev, d) })
}

// checkLoop adapts a check of the loop.
func checkLoop[P event.Data](
	check func(*loop.Loop, loop.World, *event.Event, P) string,
) func(*state, *event.Event, P) string {
	return func(s *state, ev *event.Event, d P) string { return check(&s.Loop, s, ev, d) }
}

func applyModelCalled(s *state, ev *event.Event, d *event.ModelCalled) {
	loop.ApplyModelCalled(&s.Loop, s, ev, d)
	s.countCalls(ev)
	if v := d.Reserved; v != nil {
		s.Ledger.Reserve(d.Call, ev.Step, d.Model, v.Input, v.Output)
	}
}

func applyModelReplied(s *state, ev *event.Event, d *event.ModelReplied) {
	s.spend(ev, d.Call, d.Usage, d.CostUSD, false)
	loop.ApplyModelReplied(&s.Loop, s, ev, d)
}

func applyModelFailed(s *state, ev *event.Event, d *event.ModelFailed) {
	s.spend(ev, d.Call, d.Usage, d.CostUSD, d.IsFree())
	s.countCalls(ev)
	loop.ApplyModelFailed(&s.Loop, s, ev, d)
}

func applyToolCalled(s *state, ev *event.Event, d *event.ToolCalled) {
	loop.ApplyToolCalled(&s.Loop, s, ev, d)
	s.countCalls(ev)
}

func applyToolReturned(s *state, ev *event.Event, d *event.ToolReturned) {
	loop.ApplyToolReturned(&s.Loop, s, ev, d)
	s.graph.SetGiven(ev.Step, d)
}

func applyFuncCalled(s *state, ev *event.Event, d *event.FuncCalled) {
	loop.ApplyFuncCalled(&s.Loop, s, ev, d, len(s.Errors), s.Updated)
}

func checkFuncReturned(s *state, ev *event.Event, d *event.FuncReturned) string {
	if why := loop.CheckFuncReturned(&s.Loop, s, ev, d); why != "" {
		return why
	}
	if err := s.graph.Step(ev.Step).View.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func applyFuncReturned(s *state, ev *event.Event, d *event.FuncReturned) {
	loop.ApplyFuncReturned(&s.Loop, s, ev, d)
	s.graph.SetGiven(ev.Step, d)
	if d.HasFailed() && d.Error.Code != event.CodeCancelled {
		s.recordFailure(ev, d.Error.Message, d.Attempt)
	}
}
