package engine

import (
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// What events of calls change beside the loop: what the run has used, and what a step was given.

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

// Text implements loop.World.
func (s *state) Text(step int) text.Text { return s.graph.StepText(step) }

// Settle implements loop.World. What the runs and sessions of a call that is gone may still use counts as used, because nothing reports it any more.
func (s *state) Settle(key string, c *loop.Call, gone bool) {
	switch {
	case c.Kind == loop.Model:
		s.Ledger.Release(key)
	case gone:
		s.Ledger.CloseCall(s, key)
	default:
		s.Ledger.CloseSessions(s, key)
	}
}

// loopKind makes the entry of an event that concerns the loop alone.
func loopKind[D any, P interface {
	*D
	Data
}](check func(*loop.Loop, loop.World, *Event, P) string, apply func(*loop.Loop, loop.World, *Event, P)) kind {
	return kindOf(checkLoop(check), func(r *Run, ev *Event, d P) { apply(&r.s.Loop, &r.s, ev, d) })
}

// checkLoop is a check of the loop.
func checkLoop[P Data](check func(*loop.Loop, loop.World, *Event, P) string) func(*Run, *Event, P) string {
	return func(r *Run, ev *Event, d P) string { return check(&r.s.Loop, &r.s, ev, d) }
}

func (r *Run) applyModelCalled(ev *Event, d *ModelCalled) {
	loop.ApplyModelCalled(&r.s.Loop, &r.s, ev, d)
	r.charge(ev, ledger.Amount{Calls: 1})
	if v := d.Reserved; v != nil {
		r.s.Ledger.Reserve(d.Call, ev.Step, d.Model, v.Input, v.Output)
	}
}

func (r *Run) applyModelReplied(ev *Event, d *ModelReplied) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, false, false)
	loop.ApplyModelReplied(&r.s.Loop, &r.s, ev, d)
}

func (r *Run) applyModelFailed(ev *Event, d *ModelFailed) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, isFree(d.Error.Code), d.Withheld())
	loop.ApplyModelFailed(&r.s.Loop, &r.s, ev, d)
}

func (r *Run) applyToolCalled(ev *Event, d *ToolCalled) {
	loop.ApplyToolCalled(&r.s.Loop, &r.s, ev, d)
	r.charge(ev, ledger.Amount{Calls: 1})
}

func (r *Run) applyToolReturned(ev *Event, d *ToolReturned) {
	loop.ApplyToolReturned(&r.s.Loop, &r.s, ev, d)
	if d.Call != "" && !d.Late {
		r.graph.SetGiven(ev.Step, d)
	}
}

func (r *Run) applyFuncCalled(ev *Event, d *FuncCalled) {
	loop.ApplyFuncCalled(&r.s.Loop, &r.s, ev, d, len(r.s.Errors), r.s.Updated)
}

func (r *Run) checkFuncReturned(ev *Event, d *FuncReturned) string {
	if why := loop.CheckFuncReturned(&r.s.Loop, &r.s, ev, d); why != "" {
		return why
	}
	if err := r.step(ev.Step).View.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyFuncReturned(ev *Event, d *FuncReturned) {
	loop.ApplyFuncReturned(&r.s.Loop, &r.s, ev, d)
	switch {
	case d.Late:
	case d.Error == nil:
		r.graph.SetGiven(ev.Step, d)
	case !d.Kept && d.Error.Code != CodeCancelled:
		r.s.failed(ev, d.Error.Message, d.Attempt)
	}
}
