package project

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// input returns the input of a step.
func (f *Folder) input(st *step) event.Value {
	if st.in != nil {
		return st.in
	}
	if len(st.data.Input) > 0 {
		return st.data.Input
	}
	if st.data.Recipe != nil {
		return f.assembled(st)
	}
	return f.passedInput(st)
}

// completed returns the output of a step that ends with d. The output of a fork is unknown if its
// definition is.
func (f *Folder) completed(st *step, d *event.StepCompleted) event.Value {
	switch d.Source(st.def.Kind) {
	case event.OutputHere:
		return d.Output
	case event.OutputSame:
		return f.input(st)
	case event.OutputGiven:
		return event.ResultValue(st.lastResult, f.values.JSONOf)
	case event.OutputJSON:
		return f.jsonReply(st, st.root)
	case event.OutputReply:
		return st.replyText(st.root)
	case event.OutputBlock:
		switch {
		case st.def.Fork != nil:
			return blockOutput(st)
		case st.def.Map != nil:
			f.openItems(st)
			return st.items.list(false)
		}
	case event.OutputFlow:
		if st.child != nil && st.child.last != nil && !st.child.flow.Rules.StateFlows {
			return st.child.last.output
		}
	}
	return nil
}

// blockOutput builds the output of a fork from the results of its branches.
func blockOutput(st *step) event.Value {
	if st.def.Fork.Shape != workflow.ShapeMap {
		return expr.Entry{Children: blockSteps(st, nil, false)}.JSON()
	}
	var out []expr.Member
	for i, b := range st.def.Fork.Branches {
		if sc := st.branches[i+1]; sc != nil && sc.arrived != nil && !sc.failed {
			out = append(out, expr.Member{Name: b.ID, Value: sc.arrived.output})
		}
	}
	return expr.Object(out)
}

// blockSteps returns the steps that ran in a fork's branches, in declared order (S4-34). If the
// block was cut short, nested blocks that were also cut short are shown with their finished steps.
// former is the block's last execution that ended, whose outputs remain until a branch has newer
// ones (S4-4); nil means that there is none.
func blockSteps(st, former *step, cut bool) []expr.Child {
	ran := map[string]*step{}
	if former != nil {
		former.lastOf(ran)
	}
	st.lastOf(ran)
	inside := map[string]*step{} // last ended execution of each block cut short, by block
	for i := range len(st.branches) {
		if sc := st.branches[i+1]; cut && sc != nil && sc.fork != nil && sc.fork.status != StepCompleted &&
			hasResult(sc.fork) {
			id := sc.fork.def.ID
			inside[id], ran[id] = ran[id], sc.fork
		}
	}
	steps := []expr.Child{}
	nodes := st.scope.flow.Nodes
	for i := range nodes {
		if nodes[i].Parent != st.def.ID {
			continue
		}
		if o := ran[nodes[i].ID]; o != nil {
			steps = append(steps, expr.Child{ID: localID(o.def.ID), Entry: contextEntry(o, inside[o.def.ID])})
		}
	}
	return steps
}

// lastOf adds the steps of a fork's branches that produced an output to ran, by node.
func (st *step) lastOf(ran map[string]*step) {
	hidden := st.def.Fork != nil && engine.HidesLosers(st.scope.flow, st.def.Fork)
	for i := range len(st.branches) {
		if sc := st.branches[i+1]; sc != nil && (!hidden || sc.arrived != nil && !sc.failed) {
			for _, o := range sc.entries {
				ran[o.def.ID] = o
			}
		}
	}
}

// localID returns the id as it appears in the document.
func localID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// contextEntry returns the step's entry in the step context (S4-34). Its agent is the agent that
// answered, or "" for steps without an agent. former is the previous execution of the block if st
// did not end.
func contextEntry(st, former *step) expr.Entry {
	if st.def.Kind == workflow.KindFork && !st.hasDefault {
		return expr.Entry{Children: blockSteps(st, former, st.status != StepCompleted)}
	}
	e := expr.Entry{Output: st.output}
	if st.def.Agent != nil {
		e.Agent = st.agent(st.speaker())
	}
	return e
}

// Shown is [Folder.Expand], or [Folder.ExpandAll] if all is set.
func (f *Folder) Shown(e event.Event, all bool) event.Event {
	if all {
		return f.ExpandAll(e)
	}
	return f.Expand(e)
}

// ExpandAll is like [Folder.Expand], but replaces the recipes of step inputs with the assembled
// strings.
func (f *Folder) ExpandAll(e event.Event) event.Event {
	d, ok := e.Data.(*event.StepStarted)
	if !ok || d.Recipe == nil {
		return f.Expand(e)
	}
	st := f.steps[e.Step]
	if st == nil {
		st = f.newStep(e, f.scope(d.Scope), d)
		f.assemble(st)
	}
	if in := f.assembled(st); in != nil {
		c := *d
		c.Input, c.Recipe = in, nil
		e.Data = &c
	}
	return e
}

// Expand returns the event with everything that follows from earlier events: the input of a step,
// its output, the arguments of a tool call. An input with a recipe remains a recipe. The result is
// meant for display; e itself is not changed. The events before e must have been added and the
// events after it must not; e itself may or may not have been added.
func (f *Folder) Expand(e event.Event) event.Event {
	st := f.steps[e.Step]
	if d, ok := e.Data.(*event.StepStarted); ok && st == nil {
		st = f.newStep(e, f.scope(d.Scope), d)
	}
	if st == nil {
		return e
	}
	switch d := e.Data.(type) {
	case *event.StepStarted:
		if len(d.Input) == 0 && d.Recipe == nil {
			c := *d
			c.Input = f.input(st)
			e.Data = &c
		}
	case *event.StepCompleted:
		if len(d.Output) == 0 {
			c := *d
			c.Output, c.Same, c.Reply, c.JSON, c.Given = f.completed(st, d), false, false, false, false
			c.Goto = d.Next(st.lastResult)
			c.Update, c.Edits, _ = d.Changes(st.lastResult)
			e.Data = &c
		}
	case *event.ToolCalled:
		if len(d.Arguments) == 0 {
			c := *d
			c.Arguments = f.arguments(st, d)
			e.Data = &c
		}
	case *event.ToolReturned:
		e.Data = d.Whole(f.values.JSONOf)
	case *event.SubagentCompleted:
		if d.JSON {
			c := *d
			c.Output, c.JSON = f.jsonReply(st, d.Frame), false
			e.Data = &c
		}
		if d.Reply {
			c := *d
			if v := st.replyText(d.Frame); v != nil {
				c.Output, c.Reply = v, false
			}
			e.Data = &c
		}
	}
	return e
}
