package project

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// input gives what a step was given.
func (f *Folder) input(st *step) engine.Value {
	if st.in != nil {
		return st.in
	}
	if len(st.data.Input) > 0 {
		return st.data.Input
	}
	if st.data.Recipe != nil {
		return f.assembled(st)
	}
	return f.handed(st)
}

// completed gives the output of a step that ends with d. That of a fork is not known where its definition is not.
func (f *Folder) completed(st *step, d *engine.StepCompleted) engine.Value {
	switch d.Source(st.def.Kind) {
	case event.OutputHere:
		return d.Output
	case event.OutputSame:
		return f.input(st)
	case event.OutputGiven:
		return event.ResultValue(st.given, f.values.JSONOf)
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

// blockOutput gives the output of a fork from what its branches did.
func blockOutput(st *step) engine.Value {
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

// blockSteps are the steps that ran in a fork's branches, in declared order (S4-34). Where the block was cut short, blocks inside it that were too are shown with what they have done, and former is its last execution that ended, whose outputs stay until a
// branch has newer ones (S4-4); nil: none.
func blockSteps(st, former *step, cut bool) []expr.Child {
	ran := map[string]*step{}
	if former != nil {
		former.lastOf(ran)
	}
	st.lastOf(ran)
	inside := map[string]*step{} // what has ended of the blocks that are cut short, by block
	for i := range len(st.branches) {
		if sc := st.branches[i+1]; cut && sc != nil && sc.fork != nil && sc.fork.status != StepCompleted && hasResult(sc.fork) {
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

// lastOf adds the steps of a fork's branches that gave an output to ran, by node.
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

// localID is the id as the document writes it.
func localID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// contextEntry is a step as the step context shows it (S4-34): the agent is the one that answered. Steps without agent have "" for it.
// former is the execution of a block before st where st did not end.
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

// Shown is [Folder.Expand], or [Folder.ExpandAll] where all is set.
func (f *Folder) Shown(e engine.Event, all bool) engine.Event {
	if all {
		return f.ExpandAll(e)
	}
	return f.Expand(e)
}

// ExpandAll is [Folder.Expand] with the inputs of steps as texts in the place of their recipes.
func (f *Folder) ExpandAll(e engine.Event) engine.Event {
	d, ok := e.Data.(*engine.StepStarted)
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

// Expand gives an event with all that follows from the events before it: the input of a step, its output, the arguments of a tool call. An input that has a recipe
// stays one. It is what people are shown; e itself is not changed. The events before e must have been added, those after it not; whether e itself was does not matter.
func (f *Folder) Expand(e engine.Event) engine.Event {
	st := f.steps[e.Step]
	if d, ok := e.Data.(*engine.StepStarted); ok && st == nil {
		st = f.newStep(e, f.scope(d.Scope), d)
	}
	if st == nil {
		return e
	}
	switch d := e.Data.(type) {
	case *engine.StepStarted:
		if len(d.Input) == 0 && d.Recipe == nil {
			c := *d
			c.Input = f.input(st)
			e.Data = &c
		}
	case *engine.StepCompleted:
		if len(d.Output) == 0 {
			c := *d
			c.Output, c.Same, c.Reply, c.JSON, c.Given = f.completed(st, d), false, false, false, false
			c.Goto = d.Next(st.given)
			c.Update, c.Edits, _ = d.Changes(st.given)
			e.Data = &c
		}
	case *engine.ToolCalled:
		if len(d.Arguments) == 0 {
			c := *d
			c.Arguments = f.arguments(st, d)
			e.Data = &c
		}
	case *engine.ToolReturned:
		e.Data = d.Whole(f.values.JSONOf)
	case *engine.SubagentCompleted:
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
