package engine

import (
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// A value that one event has is not repeated in a later event of the same step. This file says what follows from what.

// setGiven keeps the last result of a step, to which its completion may refer.
func (g *graph) setGiven(id int, d Data) {
	switch g.stepNode(id).Kind {
	case workflow.KindFunc, workflow.KindTool, workflow.KindExec, workflow.KindWait:
		g.step(id).given = d
	}
}

// resultOutput is the output that the last result of a step says; none where there was no result.
func (g *graph) resultOutput(id int) output {
	switch d := g.step(id).given.(type) {
	case *FuncReturned:
		return outputFrom(d.Output)
	case *ToolReturned:
		if d.Structured == nil && !d.JSON {
			return textOutput(text.Of(d.Text))
		}
		return outputFrom(d.Value())
	case *WaitAnswered:
		return outputFrom(d.Answer)
	}
	return output{}
}

// gotoOf gives the nodes that follow a step by its own word once done is applied.
func (g *graph) gotoOf(id int, done *StepCompleted) []string {
	if f, ok := g.step(id).given.(*FuncReturned); ok && done.Given && done.Goto == nil {
		return f.Goto
	}
	return done.Goto
}

// changesOf gives what a step changes in the state once done is applied.
func (g *graph) changesOf(id int, done *StepCompleted) typed.Changes {
	st := g.step(id)
	switch {
	case done.Given && done.Update == nil && done.Edits == nil:
		return st.changed
	case g.completing == done:
		return st.changed
	}
	return g.stateAt(st.Scope).ChangesOf(done.Update, done.Edits, id)
}

// shortenUpdate makes edits of what a step changes in the state in part. What it changes is made once, however often it is looked at before it is applied: of
// two values that are made of the same one, one has to copy it.
func (g *graph) shortenUpdate(id int, done *StepCompleted) {
	if done.Update == nil {
		return
	}
	st := g.step(id)
	state := g.stateAt(st.Scope)
	done.Update, done.Edits = state.Shorten(done.Update)
	st.changed, g.completing = state.ChangesOf(done.Update, done.Edits, id), done
}

// native is the state after a result, in the program's own form, and the step that gave it.
type native struct {
	step  int
	state any
}

// stateAfter gives the state of the scope of step id once done has made its changes. What the program itself gave of that state belongs to it only if no other step of the scope has
// changed what the function saw.
func (g *graph) stateAfter(id int, done *StepCompleted, changes typed.Changes) typed.State {
	now := g.stateAt(g.step(id).Scope)
	var form any
	if g.native.step == id && done.Given && done.Update == nil && done.Edits == nil && now.Same(g.step(id).View) {
		form = g.native.state
	}
	if len(changes) == 0 && form == nil {
		return now
	}
	return now.With(changes).WithNative(form)
}
