package hocket

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
)

// beside tells whether a field of the recorded state is kept by the graph beside those of the user's type.
func beside(name string) bool {
	return strings.HasPrefix(name, "outputs.") || strings.HasPrefix(name, "$")
}

// own gives the fields of the user's type.
func own(fields map[string]engine.Value) map[string]engine.Value {
	out := maps.Clone(fields)
	maps.DeleteFunc(out, func(name string, _ engine.Value) bool { return beside(name) })
	return out
}

// decode makes a state of recorded fields.
func decode[S any](fields map[string]engine.Value) (S, error) {
	var s S
	if fields = own(fields); len(fields) == 0 {
		return s, nil
	}
	raw, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("decode state: %w", err)
	}
	return s, nil
}

// stepOf makes a step of its record.
func stepOf[S any](g project.GraphStep) (Step[S], error) {
	state, err := decode[S](g.State)
	if err != nil {
		return Step[S]{}, err
	}
	s := Step[S]{
		NodeID: g.Node, Seq: g.Seq, State: state, Status: Status(g.Status), Error: runError(g.Failure, g.Node), ExecutionTime: g.Duration,
		RetryCount: max(0, g.Attempts-1), Result: StepResult{Output: g.Output, Goto: g.Goto, Signals: signals(g.Signals)},
	}
	for _, e := range g.Emitted {
		s.EmittedEvents = append(s.EmittedEvents, EmittedEvent{Type: e.Signal, Data: values(e.Data), Timestamp: e.At})
	}
	if update := own(g.Update); len(update) > 0 {
		s.Result.Update = update
	}
	return s, nil
}

// signals shows recorded signals.
func signals(recorded []engine.SignalRaised) []graph.Signal {
	var out []graph.Signal
	for _, r := range recorded {
		out = append(out, graph.Signal{Type: graph.SignalType(r.Signal), Message: r.Message, Data: values(r.Data)})
	}
	return out
}

// values shows recorded data; nil where there is none.
func values(recorded map[string]engine.Value) map[string]any {
	var out map[string]any
	for name, raw := range recorded {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = v
	}
	return out
}

// resultOf makes a result of a folded run.
func resultOf[S any](f *following, g project.GraphState) (*Result[S], error) {
	state, err := decode[S](g.State)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.run, err)
	}
	r := &Result[S]{State: state, Status: Status(g.Status), Err: runError(g.Failure, "")}
	r.Snapshot = Snapshot[S]{
		ExecutionID: f.run, State: state, Outputs: outputs(f.b.table, g), Status: r.Status, CurrentNodeID: g.Current,
		VisitedNodes: append([]string{}, g.Visited...), Pending: append([]string{}, g.Pending...), Errors: []graph.ExecutionError{},
		Signals: append([]graph.Signal{}, signals(g.Signals)...), StartedAt: g.StartedAt, UpdatedAt: g.UpdatedAt, NodeExecutionCount: len(g.Visited),
	}
	for _, e := range g.Errors {
		r.Snapshot.Errors = append(r.Snapshot.Errors, graph.ExecutionError{NodeID: e.Node, Error: e.Message, Timestamp: e.At, Attempt: e.Attempt})
	}
	for _, w := range g.Waits {
		r.Snapshot.Waiting = append(r.Snapshot.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since})
	}
	if !g.EndedAt.IsZero() {
		r.Snapshot.CompletedAt = &g.EndedAt
	}
	return r, nil
}

// outputs gives the outputs of nodes as the graph shows them.
func outputs(t *program.Table, g project.GraphState) map[string]json.RawMessage {
	if t.Outputs == nil {
		return map[string]json.RawMessage{}
	}
	return t.Outputs(g.Outputs, g.State)
}

// stillborn is the result of a run that was cancelled before it began.
func stillborn[S any](f *following) (*Result[S], error) {
	var fields map[string]engine.Value
	if err := json.Unmarshal(f.stillborn, &fields); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	now := time.Now().UTC()
	return resultOf[S](f, project.GraphState{
		Status: engine.StatusCancelled, State: fields, Current: f.b.Workflow.Entry, Pending: []string{f.b.Workflow.Entry},
		Failure: &engine.Failure{Code: engine.CodeCancelled, Message: "cancelled before it began"}, StartedAt: now, UpdatedAt: now, EndedAt: now,
	})
}
