package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// Mode is a view of a stream of steps (S2-38).
type Mode string

// The four modes.
const (
	// ModeValues gives the state after each step.
	ModeValues Mode = "values"
	// ModeUpdates gives what each step changed in the state, and its output; nothing for steps without either.
	ModeUpdates Mode = "updates"
	// ModeEvents gives what nodes sent by Context.Emit, one event each.
	ModeEvents Mode = "events"
	// ModeDebug gives times, attempts and models beside the state.
	ModeDebug Mode = "debug"
)

// modes are all modes, as errors name them.
var modes = []Mode{ModeValues, ModeUpdates, ModeEvents, ModeDebug}

// UnknownModeError says that there is no such mode.
type UnknownModeError struct{ Mode Mode }

func (e *UnknownModeError) Error() string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return fmt.Sprintf("unknown stream mode %q: the modes are %s", e.Mode, strings.Join(names, ", "))
}

// StreamEvent is a step as one mode shows it. Its JSON has `mode`, `nodeId` and the one field of the mode: `state`, `update`, `event` or `trace` (S2-73),
// and beside state and trace the `output` of a step that has one.
type StreamEvent[S any] struct {
	Mode   Mode
	NodeID string
	// State is that after the step, with ModeValues.
	State S
	// Update holds the fields that the step changed, by their names in JSON, with ModeUpdates; under `outputs`, its output by the node's id, unless S has a
	// field of that name which changed.
	Update map[string]json.RawMessage
	// Output is what the step gave, in the form of [hocket.StepResult]; nil with ModeEvents, and where it gave none, as where a mapper wrote it into the state.
	Output json.RawMessage
	// Event is one that the node sent, with ModeEvents; else nil.
	Event *hocket.EmittedEvent
	// Trace is there with ModeDebug; else nil.
	Trace *Trace[S]
}

// Trace is what ModeDebug shows of a step.
type Trace[S any] struct {
	NodeID string
	// ExecutionTime is over all attempts; in JSON milliseconds.
	ExecutionTime time.Duration
	RetryCount    int
	// ModelUsed is `unknown` for nodes that used none.
	ModelUsed     string
	StateSnapshot S
}

// MarshalJSON writes the field of the mode alone.
func (e StreamEvent[S]) MarshalJSON() ([]byte, error) {
	out := struct {
		Mode   Mode                       `json:"mode"`
		NodeID string                     `json:"nodeId"`
		State  *S                         `json:"state,omitempty"`
		Update map[string]json.RawMessage `json:"update,omitempty"`
		Event  *hocket.EmittedEvent       `json:"event,omitempty"`
		Trace  *Trace[S]                  `json:"trace,omitempty"`
		Output json.RawMessage            `json:"output,omitempty"`
	}{Mode: e.Mode, NodeID: e.NodeID, Update: e.Update, Event: e.Event, Trace: e.Trace}
	if e.Mode == ModeValues {
		out.State = &e.State
	}
	if e.Mode != ModeUpdates { // there it is part of the update
		out.Output = e.Output
	}
	return json.Marshal(out)
}

type traceJSON[S any] struct {
	NodeID        string  `json:"nodeId"`
	ExecutionTime float64 `json:"executionTime"`
	RetryCount    int     `json:"retryCount"`
	ModelUsed     string  `json:"modelUsed"`
	StateSnapshot S       `json:"stateSnapshot"`
}

// MarshalJSON writes the time in milliseconds.
func (t Trace[S]) MarshalJSON() ([]byte, error) {
	return json.Marshal(traceJSON[S]{t.NodeID, float64(t.ExecutionTime) / float64(time.Millisecond), t.RetryCount, t.ModelUsed, t.StateSnapshot})
}

// StreamModes is [hocket.Stream] shown in modes, as [RouteStream] does it. An unknown mode is an error before anything runs.
func StreamModes[S any](ctx context.Context, e *hocket.Engine, g *graph.Compiled[S], state S, selected []Mode, options ...hocket.RunOption) iter.Seq2[StreamEvent[S], error] {
	return RouteStream(hocket.Stream(ctx, e, g, state, options...), selected...)
}

// RouteStream shows a stream of steps in modes: for each step one event a mode, in the order of the modes, and with ModeEvents as many as the node
// sent. No mode is ModeValues; a mode that is named twice counts once. Any source will do, Stream's or another.
//
// An unknown mode is an *[UnknownModeError], before the source is asked for anything. An error of the source is passed on, behind the events of its step if
// it has one, and ends nothing by itself: the source does. Leaving the loop leaves the source's.
func RouteStream[S any](source iter.Seq2[hocket.Step[S], error], selected ...Mode) iter.Seq2[StreamEvent[S], error] {
	chosen := []Mode{ModeValues}
	if len(selected) > 0 {
		chosen = nil
	}
	for _, m := range selected {
		if !slices.Contains(modes, m) {
			return func(yield func(StreamEvent[S], error) bool) { yield(StreamEvent[S]{}, &UnknownModeError{m}) }
		}
		if !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
	}
	return func(yield func(StreamEvent[S], error) bool) {
		for step, err := range source {
			if step.NodeID != "" && !routeStep(step, chosen, yield) {
				return
			}
			if err != nil && !yield(StreamEvent[S]{NodeID: step.NodeID}, err) {
				return
			}
		}
	}
}

// routeStep shows one step; false: the loop was left.
func routeStep[S any](s hocket.Step[S], chosen []Mode, yield func(StreamEvent[S], error) bool) bool {
	for _, m := range chosen {
		e := StreamEvent[S]{Mode: m, NodeID: s.NodeID, Output: s.Result.Output}
		switch m {
		case ModeValues:
			e.State = s.State
		case ModeUpdates:
			if e.Update = updateOf(s.NodeID, s.Result); e.Update == nil {
				continue
			}
		case ModeEvents:
			for _, sent := range s.EmittedEvents {
				one := e
				one.Event, one.Output = &sent, nil
				if !yield(one, nil) {
					return false
				}
			}
			continue
		case ModeDebug:
			e.Trace = &Trace[S]{s.NodeID, s.ExecutionTime, s.RetryCount, s.ModelUsed, s.State}
			if s.ModelUsed == "" {
				e.Trace.ModelUsed = "unknown"
			}
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// updateOf is what a step changed, with its output where the document has it, as servers show it too; nil: nothing.
func updateOf(node string, r hocket.StepResult) map[string]json.RawMessage {
	const outputs = "outputs"
	if r.Output == nil || r.Update[outputs] != nil {
		return r.Update
	}
	raw, err := json.Marshal(map[string]json.RawMessage{node: r.Output})
	if err != nil {
		return r.Update // recorded values always have a form
	}
	out := map[string]json.RawMessage{outputs: raw}
	maps.Copy(out, r.Update)
	return out
}
