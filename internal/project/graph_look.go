package project

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Step returns a step as of the last event, or false if there is no step with that number.
func (f *GraphFolder) Step(id int) (engine.StepView, bool) { return f.run.StepView(id) }

// Outputs returns the outputs that the run itself sees, in the engine's form. The caller owns the
// map.
func (f *GraphFolder) Outputs() map[string]engine.Value { return f.run.Outputs() }

// Waits returns the open questions, oldest first.
func (f *GraphFolder) Waits() []engine.WaitInfo { return f.run.Waits() }

// State returns the complete state of the run as of the last event. The caller owns the slices.
func (f *GraphFolder) State() GraphState {
	s := f.state
	s.Status, s.Seq = f.run.Status(), f.run.Seq()
	s.Outputs, s.Pending, s.Waits = f.run.Outputs(), f.run.Pending(), f.run.Waits()
	s.Visited, s.Errors, s.Signals = slices.Clone(s.Visited), slices.Clone(s.Errors), slices.Clone(s.Signals)
	return s
}

// Status returns the status of the run as of the last event.
func (f *GraphFolder) Status() engine.Status { return f.run.Status() }

// Typed returns the typed state of the run itself as of the last event.
func (f *GraphFolder) Typed() typed.State { return f.run.TypedState() }
