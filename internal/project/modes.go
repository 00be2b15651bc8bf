package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Mode is a view of a run as its steps settle (S2-38). It applies to all formats, not only to Go
// graphs.
type Mode string

const (
	// ModeValues shows the state after each step.
	ModeValues Mode = "values"
	// ModeUpdates shows what each step changed and omits steps that changed nothing.
	ModeUpdates Mode = "updates"
	// ModeEvents shows the program's own events that a step sent, one at a time.
	ModeEvents Mode = "events"
	// ModeDebug shows times, attempts and models in addition to the state.
	ModeDebug Mode = "debug"
)

// Modes returns all modes. The caller owns the slice.
func Modes() []Mode { return []Mode{ModeValues, ModeUpdates, ModeEvents, ModeDebug} }

// ModeEvent is a settled step as shown by one mode: in addition to the mode and the node, it has
// the one field of that mode (S2-73).
type ModeEvent struct {
	Mode   Mode   `json:"mode"`
	NodeID string `json:"nodeId"`
	// State has the fields of the typed state in addition to `executionId`, `lastUpdated` and
	// `outputs` (S2-53); a document without typed state has only those three.
	State map[string]event.Value `json:"state,omitempty"`
	// Update has the fields of the typed state that the step changed, and the step's output under
	// `outputs`.
	Update map[string]event.Value `json:"update,omitempty"`
	Event  *SentEvent             `json:"event,omitempty"`
	Trace  *StepTrace             `json:"trace,omitempty"`
}

// SentEvent is an event that a node sent while it ran.
type SentEvent struct {
	Type      string                 `json:"type"`
	Data      map[string]event.Value `json:"data,omitempty"`
	Timestamp time.Time              `json:"timestamp"`
}

// StepTrace is the ModeDebug view of a step.
type StepTrace struct {
	NodeID string `json:"nodeId"`
	// ExecutionTime is the time over all attempts, in milliseconds.
	ExecutionTime float64 `json:"executionTime"`
	RetryCount    int     `json:"retryCount"`
	// ModelUsed is the model of the step's last model call, or `unknown` if there was none.
	ModelUsed     string                 `json:"modelUsed"`
	StateSnapshot map[string]event.Value `json:"stateSnapshot"`
}

// ModeFolder folds the events of one run into the views of its modes. It is not safe for concurrent
// use.
type ModeFolder struct {
	run   string
	modes []Mode
	graph *GraphFolder
	steps *Folder
	// states are the states of settled steps that were not returned yet, by Seq.
	states map[uint64]map[string]event.Value
	at     time.Time
}

// NewModeFolder returns a folder for the run with the given id and definition. Modes appear in the
// order in which they are listed; duplicates are ignored. expressions is as in engine.Compile.
// NewModeFolder returns an error for an unknown mode, and the errors of engine.Compile for the
// definition.
func NewModeFolder(run string, def *workflow.Workflow, expressions expr.Compiler, modes ...Mode) (*ModeFolder, error) {
	for _, m := range modes {
		if !slices.Contains(Modes(), m) {
			return nil, fmt.Errorf("unknown stream mode %q", m)
		}
	}
	plan, err := engine.Compile(def, nil, expressions) // for folding only: no function is called
	if err != nil {
		return nil, fmt.Errorf("show run %s: %w", run, err)
	}
	f := &ModeFolder{run: run, graph: NewGraphFolder(run, plan), steps: NewFolder(run, def),
		states: map[uint64]map[string]event.Value{}}
	for _, m := range modes {
		if !slices.Contains(f.modes, m) {
			f.modes = append(f.modes, m)
		}
	}
	if slices.Contains(f.modes, ModeValues) || slices.Contains(f.modes, ModeDebug) {
		f.graph.settled = func(s *GraphStep) { f.states[s.Seq] = f.state(s) }
	}
	return f, nil
}

// Add folds the next event and returns the mode events of the steps whose outcome is now known, in
// order.
//
// If the event does not continue the journal, Add returns an *engine.DivergenceError and the folder
// must be discarded.
func (f *ModeFolder) Add(e event.Event) ([]ModeEvent, error) {
	f.at = e.At
	f.steps.Add(e)
	steps, err := f.graph.Add(e)
	if err != nil {
		return nil, err
	}
	var out []ModeEvent
	for i := range steps {
		out = f.show(out, &steps[i])
		delete(f.states, steps[i].Seq)
	}
	return out, nil
}

func (f *ModeFolder) show(out []ModeEvent, s *GraphStep) []ModeEvent {
	for _, m := range f.modes {
		ev := ModeEvent{Mode: m, NodeID: s.Node}
		switch m {
		case ModeValues:
			ev.State = f.states[s.Seq]
		case ModeUpdates:
			if ev.Update = update(s); ev.Update == nil {
				continue
			}
		case ModeEvents:
			for _, sent := range s.Emitted {
				one := ev
				one.Event = &SentEvent{Type: sent.Signal, Data: sent.Data, Timestamp: sent.At}
				out = append(out, one)
			}
			continue
		case ModeDebug:
			ev.Trace = &StepTrace{
				NodeID: s.Node, ExecutionTime: float64(s.Duration) / float64(time.Millisecond),
				RetryCount: max(0, s.Attempts-1), ModelUsed: "unknown",
				StateSnapshot: f.states[s.Seq],
			}
			if st := f.steps.steps[s.Step]; st != nil && st.model != "" {
				ev.Trace.ModelUsed = st.model
			}
		}
		out = append(out, ev)
	}
	return out
}

// state returns the state after a step in the form of 2-graph: the program's fields in addition to
// those that every state has.
func (f *ModeFolder) state(s *GraphStep) map[string]event.Value {
	out := fields(s.State)
	if out == nil {
		out = map[string]event.Value{}
	}
	outputs := f.graph.Outputs()
	maps.DeleteFunc(outputs, func(_ string, v event.Value) bool { return v == nil })
	out["executionId"], out["lastUpdated"], out["outputs"] = expr.Quote(f.run),
		expr.Quote(f.at.UTC().Format(time.RFC3339Nano)), asObject(outputs)
	return out
}

// update returns what a step changed, or nil if it changed nothing.
func update(s *GraphStep) map[string]event.Value {
	out := fields(s.Update)
	if s.Output != nil {
		if out == nil {
			out = map[string]event.Value{}
		}
		out["outputs"] = asObject(map[string]event.Value{s.Node: s.Output})
	}
	return out
}

// fields returns the fields of a typed state that belong to the program (S2-75), or nil if there
// are none.
func fields(state map[string]event.Value) map[string]event.Value {
	var out map[string]event.Value
	for name, v := range state {
		if isKept(name) {
			continue
		}
		if out == nil {
			out = make(map[string]event.Value, len(state))
		}
		out[name] = v
	}
	return out
}

// isKept reports whether a field is one that graphs keep in addition to the user's state (S2-75).
func isKept(name string) bool {
	return strings.HasPrefix(name, "$") || strings.HasPrefix(name, "outputs.")
}

func asObject(m map[string]event.Value) event.Value {
	if len(m) == 0 {
		return event.Value(`{}`)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return event.Value(`null`) // recorded values always marshal
	}
	return b
}
