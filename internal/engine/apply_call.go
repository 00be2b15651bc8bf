package engine

import (
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// What events of calls change beside the loop: what the run has used, and what a step was given.

// Step implements loop.World.
func (w world) Step(step int) *loop.Step { return &w.r.step(step).Loop }

// Node implements loop.World.
func (w world) Node(step int) loop.Node {
	n := w.r.stepNode(step)
	if n.Agent == nil {
		return loop.Node{Kind: n.Kind}
	}
	return loop.Node{Kind: n.Kind, Agent: n.Agent.Agent, Shared: n.Agent.Prompt.Mode == workflow.PromptShared}
}

// Agent implements loop.World.
func (w world) Agent(step int, id string) *workflow.Agent {
	if a := w.r.flowOf(step).Agents[id]; a != nil {
		return a.Agent
	}
	return nil
}

// Text implements loop.World.
func (w world) Text(step int) text.Text { return w.r.graph.StepText(step) }

// Settle implements loop.World. What the runs and sessions of a call that is gone may still use counts as used, because nothing reports it any more.
func (w world) Settle(key string, c *loop.Call, gone bool) {
	switch {
	case c.Kind == loop.Model:
		w.r.s.Ledger.Release(key)
	case gone:
		w.r.s.Ledger.CloseCall(w, key)
	default:
		w.r.s.Ledger.CloseSessions(w, key)
	}
}

// loopKind makes the entry of an event that concerns the loop alone.
func loopKind[D any, P interface {
	*D
	Data
}](check func(*loop.Loop, loop.World, *Event, P) string, apply func(*loop.Loop, loop.World, *Event, P)) kind {
	return kindOf(checkLoop(check), func(r *Run, ev *Event, d P) { apply(&r.s.Loop, world{r}, ev, d) })
}

// checkLoop is a check of the loop.
func checkLoop[P Data](check func(*loop.Loop, loop.World, *Event, P) string) func(*Run, *Event, P) string {
	return func(r *Run, ev *Event, d P) string { return check(&r.s.Loop, world{r}, ev, d) }
}

func (r *Run) applyModelCalled(ev *Event, d *ModelCalled) {
	loop.ApplyModelCalled(&r.s.Loop, world{r}, ev, d)
	r.charge(ev, ledger.Amount{Calls: 1})
	if v := d.Reserved; v != nil {
		r.s.Ledger.Reserve(d.Call, ev.Step, d.Model, v.Input, v.Output)
	}
}

func (r *Run) applyModelReplied(ev *Event, d *ModelReplied) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, false, false)
	loop.ApplyModelReplied(&r.s.Loop, world{r}, ev, d)
}

func (r *Run) applyModelFailed(ev *Event, d *ModelFailed) {
	r.spend(ev, d.Call, d.Usage, d.CostUSD, isFree(d.Error.Code), d.Withheld())
	loop.ApplyModelFailed(&r.s.Loop, world{r}, ev, d)
}

func (r *Run) applyToolCalled(ev *Event, d *ToolCalled) {
	loop.ApplyToolCalled(&r.s.Loop, world{r}, ev, d)
	r.charge(ev, ledger.Amount{Calls: 1})
}

func (r *Run) applyToolReturned(ev *Event, d *ToolReturned) {
	loop.ApplyToolReturned(&r.s.Loop, world{r}, ev, d)
	if d.Call != "" && !d.Late {
		r.graph.SetGiven(ev.Step, d)
	}
}

func (r *Run) applyFuncCalled(ev *Event, d *FuncCalled) {
	loop.ApplyFuncCalled(&r.s.Loop, world{r}, ev, d, len(r.s.Errors), r.s.Updated)
}

func (r *Run) checkFuncReturned(ev *Event, d *FuncReturned) string {
	if why := loop.CheckFuncReturned(&r.s.Loop, world{r}, ev, d); why != "" {
		return why
	}
	if err := r.step(ev.Step).View.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyFuncReturned(ev *Event, d *FuncReturned) {
	loop.ApplyFuncReturned(&r.s.Loop, world{r}, ev, d)
	switch {
	case d.Late:
	case d.Error == nil:
		r.graph.SetGiven(ev.Step, d)
	case !d.Kept && d.Error.Code != CodeCancelled:
		r.failed(ev, d.Error.Message, d.Attempt)
	}
}
