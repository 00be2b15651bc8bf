package graph

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// A value that one event has is not repeated in a later event of the same step. This file says what follows from what.

// SetGiven keeps d where it is a result of a step, to which its completion may refer, with what it changes in the state that the step saw.
func (g *Graph[L]) SetGiven(id int, d event.Data) {
	if !event.IsResult(d) {
		return
	}
	switch g.StepNode(id).Kind {
	case workflow.KindFunc, workflow.KindTool, workflow.KindExec, workflow.KindWait:
		st := g.Step(id)
		st.given = d
		if f, ok := d.(*event.FuncReturned); ok {
			st.changed = st.View.ChangesOf(f.Update, f.Edits, id)
		}
	}
}

// ResultOutput is the output that the last result of a step says; none where there was no result.
func (s *Step[L]) ResultOutput() Output {
	if d, ok := s.given.(*event.ToolReturned); ok && d.Structured == nil && !d.JSON {
		return TextOutput(text.Of(d.Text))
	}
	return OutputOf(event.ResultValue(s.given, event.JSONOf))
}

// GotoOf gives the nodes that follow a step by its own word once done is applied.
func (s *Step[L]) GotoOf(done *event.StepCompleted) []string {
	return done.Next(s.given)
}

// ChangesOf gives what a step changes in the state once done is applied.
func (g *Graph[L]) ChangesOf(id int, done *event.StepCompleted) typed.Changes {
	st := g.Step(id)
	if done.HasGivenChanges() || g.completing == done {
		return st.changed
	}
	return g.Scope(st.Scope).State.ChangesOf(done.Update, done.Edits, id)
}

// ShortenUpdate makes edits of what a step changes in the state in part. What it changes is made once, however often it is looked at before it is applied: of
// two values that are made of the same one, one has to copy it.
func (g *Graph[L]) ShortenUpdate(id int, done *event.StepCompleted) {
	if done.Update == nil {
		return
	}
	st := g.Step(id)
	state := g.Scope(st.Scope).State
	done.Update, done.Edits = state.Shorten(done.Update)
	st.changed, g.completing = state.ChangesOf(done.Update, done.Edits, id), done
}

// native is the state after a result, in the program's own form, and the step that gave it.
type native struct {
	step  int
	state any
}

// SetNative says what the result of a step that is handled gives as the state after it; step 0: nothing.
func (g *Graph[L]) SetNative(step int, state any) { g.native = native{step, state} }

// StateAfter gives the state of the scope of step id once done has made its changes. What the program itself gave of that state belongs to it only if no other step of the scope has
// changed what the function saw.
func (g *Graph[L]) StateAfter(id int, done *event.StepCompleted, changes typed.Changes) typed.State {
	now := g.Scope(g.Step(id).Scope).State
	var form any
	if g.native.step == id && done.HasGivenChanges() && now.Same(g.Step(id).View) {
		form = g.native.state
	}
	if len(changes) == 0 && form == nil {
		return now
	}
	return now.With(changes).WithNative(form)
}
