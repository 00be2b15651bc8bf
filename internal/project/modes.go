package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Mode is a view of a run as its steps settle (S2-38). All formats are shown so, not Go graphs alone.
type Mode string

const (
	// ModeValues shows the state after each step.
	ModeValues Mode = "values"
	// ModeUpdates shows what each step changed, and nothing of steps that changed nothing.
	ModeUpdates Mode = "updates"
	// ModeEvents shows the events of the program's own that a step sent, one each.
	ModeEvents Mode = "events"
	// ModeDebug shows times, attempts and models beside the state.
	ModeDebug Mode = "debug"
)

// Modes gives all modes. The slice is the caller's.
func Modes() []Mode { return []Mode{ModeValues, ModeUpdates, ModeEvents, ModeDebug} }

// ModeEvent is a settled step as one mode shows it: besides mode and node it has the one field of the mode (S2-73).
type ModeEvent struct {
	Mode   Mode   `json:"mode"`
	NodeID string `json:"nodeId"`
	// State has the fields of a typed state beside `executionId`, `lastUpdated` and `outputs` (S2-53); a document without typed state has those three alone.
	State map[string]engine.Value `json:"state,omitempty"`
	// Update has the fields of the typed state that the step changed, and under `outputs` its output.
	Update map[string]engine.Value `json:"update,omitempty"`
	Event  *SentEvent              `json:"event,omitempty"`
	Trace  *StepTrace              `json:"trace,omitempty"`
}

// SentEvent is an event that a node sent while it ran.
type SentEvent struct {
	Type      string                  `json:"type"`
	Data      map[string]engine.Value `json:"data,omitempty"`
	Timestamp time.Time               `json:"timestamp"`
}

// StepTrace is what ModeDebug shows of a step.
type StepTrace struct {
	NodeID string `json:"nodeId"`
	// ExecutionTime is over all attempts, in milliseconds.
	ExecutionTime float64 `json:"executionTime"`
	RetryCount    int     `json:"retryCount"`
	// ModelUsed is that of the step's last model call, `unknown` where it made none.
	ModelUsed     string                  `json:"modelUsed"`
	StateSnapshot map[string]engine.Value `json:"stateSnapshot"`
}

// ModeFolder folds the events of one run into what modes show of it. Not safe for concurrent use.
type ModeFolder struct {
	run   string
	modes []Mode
	graph *GraphFolder
	steps *Folder
	// states are those of steps that have settled and were not given yet, by Seq.
	states map[uint64]map[string]engine.Value
	at     time.Time
}

// NewModeFolder gives a folder for the run with that id of that definition. Modes show in the order in which they are named; one that is named twice counts
// once. expressions is as in engine.Compile. Errors: a mode that is none; what engine.Compile says of the definition.
func NewModeFolder(run string, def *workflow.Workflow, expressions expr.Compiler, modes ...Mode) (*ModeFolder, error) {
	for _, m := range modes {
		if !slices.Contains(Modes(), m) {
			return nil, fmt.Errorf("unknown stream mode %q", m)
		}
	}
	plan, err := engine.Compile(def, nil, expressions) // for folding alone: no function is asked then
	if err != nil {
		return nil, fmt.Errorf("show run %s: %w", run, err)
	}
	f := &ModeFolder{run: run, graph: NewGraphFolder(run, plan), steps: NewFolder(run, def), states: map[uint64]map[string]engine.Value{}}
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

// Add folds the next event and gives what the modes show of the steps that are known with it, in order.
//
// Errors: *engine.DivergenceError where the event does not continue the journal. Then the folder is of no use any more.
func (f *ModeFolder) Add(e engine.Event) ([]ModeEvent, error) {
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
				NodeID: s.Node, ExecutionTime: float64(s.Duration) / float64(time.Millisecond), RetryCount: max(0, s.Attempts-1), ModelUsed: "unknown",
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

// state is the state after a step, as 2-graph shows one: the fields of the program beside those that every state has.
func (f *ModeFolder) state(s *GraphStep) map[string]engine.Value {
	out := fields(s.State)
	if out == nil {
		out = map[string]engine.Value{}
	}
	outputs := f.graph.Outputs()
	maps.DeleteFunc(outputs, func(_ string, v engine.Value) bool { return v == nil })
	out["executionId"], out["lastUpdated"], out["outputs"] = expr.Quote(f.run), expr.Quote(f.at.UTC().Format(time.RFC3339Nano)), asObject(outputs)
	return out
}

// update is what a step changed; nil: nothing.
func update(s *GraphStep) map[string]engine.Value {
	out := fields(s.Update)
	if s.Output != nil {
		if out == nil {
			out = map[string]engine.Value{}
		}
		out["outputs"] = asObject(map[string]engine.Value{s.Node: s.Output})
	}
	return out
}

// fields gives those of a typed state that are the program's own (S2-75); nil: none.
func fields(state map[string]engine.Value) map[string]engine.Value {
	var out map[string]engine.Value
	for name, v := range state {
		if isKept(name) {
			continue
		}
		if out == nil {
			out = make(map[string]engine.Value, len(state))
		}
		out[name] = v
	}
	return out
}

// isKept tells whether a field is one that graphs keep beside the user's state (S2-75).
func isKept(name string) bool {
	return strings.HasPrefix(name, "$") || strings.HasPrefix(name, "outputs.")
}

func asObject(m map[string]engine.Value) engine.Value {
	if len(m) == 0 {
		return engine.Value(`{}`)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return engine.Value(`null`) // recorded values always have a form
	}
	return b
}
