package graph

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// A value that is in one event is not repeated in a later event of the same step. This file
// determines what follows from what.

// SetGiven keeps d if it is a result of a step, to which its completion may refer, together with
// its changes to the state that the step saw.
func (g *Graph[L]) SetGiven(id int, d event.Data) {
	if !event.IsResult(d) {
		return
	}
	switch g.StepNode(id).Kind {
	case workflow.KindFunc, workflow.KindTool, workflow.KindExec, workflow.KindWait:
		st := g.Step(id)
		st.result, st.changed = d, nil
		if f, ok := d.(*event.FuncReturned); ok {
			st.changed = st.View.ChangesOf(f.Update, f.Edits, id)
		}
	}
}

// ResultOutput returns the output of the last result of a step, or none if there was no result.
func (s *Step[L]) ResultOutput() Output {
	if d, ok := s.result.(*event.ToolReturned); ok && d.Structured == nil && !d.JSON {
		return TextOutput(text.Of(d.Text))
	}
	return OutputOf(event.ResultValue(s.result, event.JSONOf))
}

// GotoOf returns the nodes that a step itself names as its successors once done is applied.
func (s *Step[L]) GotoOf(done *event.StepCompleted) []string {
	return done.Next(s.result)
}

// ChangesOf returns the changes that a step makes to the state once done is applied.
func (g *Graph[L]) ChangesOf(id int, done *event.StepCompleted) typed.Changes {
	st := g.Step(id)
	if done.HasGivenChanges() || g.precomputed == done {
		return st.changed
	}
	return g.Scope(st.Scope).State.ChangesOf(done.Update, done.Edits, id)
}

// ShortenUpdate converts partial changes of the state by a step into edits. The changes are
// computed once, however often they are inspected before they are applied: of two values derived
// from the same one, one must be a copy.
func (g *Graph[L]) ShortenUpdate(id int, done *event.StepCompleted) {
	if done.Update == nil {
		return
	}
	st := g.Step(id)
	state := g.Scope(st.Scope).State
	done.Update, done.Edits = state.Shorten(done.Update)
	st.changed, g.precomputed = state.ChangesOf(done.Update, done.Edits, id), done
}

// native is the state after a result, in the program's own form, and the step that returned it.
type native struct {
	step  int
	state any
}

// SetNative sets the program's own form of the state after the result of the step being handled;
// step 0 clears it.
func (g *Graph[L]) SetNative(step int, state any) { g.native = native{step, state} }

// StateAfter returns the state of the scope of step id once done has made its changes. The
// program's own form of that state is used only if no other step of the scope has changed what the
// function saw.
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
