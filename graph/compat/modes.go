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

// Mode is a view of a stream of steps.
type Mode string

// The four modes.
const (
	// ModeValues yields the state after each step.
	ModeValues Mode = "values"
	// ModeUpdates yields the changes that each step made to the state, and its output; nothing for
	// steps without either.
	ModeUpdates Mode = "updates"
	// ModeEvents yields the events that nodes sent with Context.Emit, one event each.
	ModeEvents Mode = "events"
	// ModeDebug yields times, attempts and models along with the state.
	ModeDebug Mode = "debug"
)

// modes lists all modes, as error messages name them.
var modes = []Mode{ModeValues, ModeUpdates, ModeEvents, ModeDebug}

// UnknownModeError is returned for a mode that does not exist.
type UnknownModeError struct{ Mode Mode }

func (e *UnknownModeError) Error() string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return fmt.Sprintf("unknown stream mode %q: the modes are %s", e.Mode, strings.Join(names, ", "))
}

// StreamEvent is a step as one mode shows it. Its JSON has `mode`, `nodeId` and the field of the
// mode: `state`, `update`, `event` or `trace`; state and trace are accompanied by the `output` of
// the step, if it has one.
type StreamEvent[S any] struct {
	Mode   Mode
	NodeID string
	// State is the state after the step, with ModeValues.
	State S
	// Update holds the fields that the step changed, by their JSON names, with ModeUpdates. Its
	// field `outputs` holds the step's output by node id, unless S has a field of that name that
	// changed.
	Update map[string]json.RawMessage
	// Output is the output of the step, in the form of [hocket.StepResult]; nil with ModeEvents,
	// and if the step had none, for example because a mapper wrote it into the state.
	Output json.RawMessage
	// Event is an event that the node sent, with ModeEvents; otherwise nil.
	Event *hocket.EmittedEvent
	// Trace is set with ModeDebug; otherwise nil.
	Trace *Trace[S]
}

// Trace is the information that ModeDebug adds to a step.
type Trace[S any] struct {
	NodeID string
	// ExecutionTime is the time over all attempts, in milliseconds in JSON.
	ExecutionTime time.Duration
	RetryCount    int
	// ModelUsed is `unknown` for nodes that used no model.
	ModelUsed     string
	StateSnapshot S
}

// MarshalJSON encodes only the field of the mode.
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
	if e.Mode != ModeUpdates { // otherwise part of the update
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

// MarshalJSON encodes the time in milliseconds.
func (t Trace[S]) MarshalJSON() ([]byte, error) {
	return json.Marshal(traceJSON[S]{t.NodeID, float64(t.ExecutionTime) / float64(time.Millisecond), t.RetryCount,
		t.ModelUsed, t.StateSnapshot})
}

// StreamModes is like [hocket.Stream], with steps shown in modes as by [RouteStream]. An unknown
// mode is an error before anything runs.
func StreamModes[S any](ctx context.Context, e *hocket.Engine, g *graph.Compiled[S], state S, selected []Mode,
	options ...hocket.RunOption) iter.Seq2[StreamEvent[S], error] {
	return RouteStream(hocket.Stream(ctx, e, g, state, options...), selected...)
}

// RouteStream shows a stream of steps in modes: for each step it yields one event per mode, in the
// order of the modes, and with ModeEvents as many as the node sent. The default is ModeValues; a
// mode that is named twice counts once. The source may be that of Stream or any other.
//
// For an unknown mode it yields an *[UnknownModeError] before reading from the source. An error
// from the source is passed on, after the events of its step if there is one, and does not end the
// stream by itself; the source does. Breaking out of the loop breaks out of the source's loop.
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

// routeStep yields the events of one step; it returns false if the loop was exited.
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

// updateOf returns the changes of a step, including its output in the place that the document
// specifies and that servers use, or nil if there are none.
func updateOf(node string, r hocket.StepResult) map[string]json.RawMessage {
	const outputs = "outputs"
	if r.Output == nil || r.Update[outputs] != nil {
		return r.Update
	}
	raw, err := json.Marshal(map[string]json.RawMessage{node: r.Output})
	if err != nil {
		return r.Update // recorded values can always be decoded
	}
	out := map[string]json.RawMessage{outputs: raw}
	maps.Copy(out, r.Update)
	return out
}
