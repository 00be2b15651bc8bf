package engine

import (
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// A value that one event has is not repeated in a later event of the same step. This file says what follows from what.

// setGiven keeps the last result of a step, to which its completion may refer.
func (r *Run) setGiven(id int, d Data) {
	switch r.stepNode(id).Kind {
	case workflow.KindFunc, workflow.KindTool, workflow.KindExec, workflow.KindWait:
		r.step(id).given = d
	}
}

// resultOutput is the output that the last result of a step says; none where there was no result.
func (r *Run) resultOutput(id int) output {
	switch d := r.step(id).given.(type) {
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
func (r *Run) gotoOf(id int, done *StepCompleted) []string {
	if f, ok := r.step(id).given.(*FuncReturned); ok && done.Given && done.Goto == nil {
		return f.Goto
	}
	return done.Goto
}

// changesOf gives what a step changes in the state once done is applied.
func (r *Run) changesOf(id int, done *StepCompleted) typed.Changes {
	st := r.step(id)
	switch {
	case done.Given && done.Update == nil && done.Edits == nil:
		return st.changed
	case r.completing == done:
		return st.changed
	}
	return r.stateAt(st.Scope).ChangesOf(done.Update, done.Edits, id)
}

// shortenUpdate makes edits of what a step changes in the state in part. What it changes is made once, however often it is looked at before it is applied: of
// two values that are made of the same one, one has to copy it.
func (r *Run) shortenUpdate(id int, done *StepCompleted) {
	if done.Update == nil {
		return
	}
	st := r.step(id)
	state := r.stateAt(st.Scope)
	done.Update, done.Edits = state.Shorten(done.Update)
	st.changed, r.completing = state.ChangesOf(done.Update, done.Edits, id), done
}
