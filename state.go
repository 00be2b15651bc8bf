package hocket

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
)

// decode makes a state of recorded fields.
func decode[S any](c *graph.Compiled[S], fields map[string]engine.Value) (S, error) {
	s, _, err := c.Running().Split(program.Folded{State: fields})
	return s, err
}

// stepOf makes a step of its record.
func stepOf[S any](c *graph.Compiled[S], g project.GraphStep) (Step[S], error) {
	state, err := decode(c, g.State)
	if err != nil {
		return Step[S]{}, err
	}
	s := Step[S]{
		NodeID: g.Node, Seq: g.Seq, State: state, Status: Status(g.Status), Error: runError(g.Failure, g.Node), ExecutionTime: g.Duration,
		RetryCount: max(0, g.Attempts-1), Result: StepResult{Output: c.Running().Output(g.Node, g.Output), Goto: g.Goto, Signals: signals(g.Signals)},
	}
	for _, e := range g.Emitted {
		s.EmittedEvents = append(s.EmittedEvents, EmittedEvent{Type: e.Signal, Data: values(e.Data), Timestamp: e.At})
	}
	s.Result.Update = c.Running().Changes(g.Update)
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
func resultOf[S any](c *graph.Compiled[S], f *following, g project.GraphState) (*Result[S], error) {
	state, base, err := c.Running().Split(program.Folded{Run: f.run, Updated: g.UpdatedAt, State: g.State, Outputs: g.Outputs})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.run, err)
	}
	r := &Result[S]{State: state, Status: Status(g.Status), Err: runError(g.Failure, "")}
	r.Snapshot = Snapshot[S]{
		ExecutionID: f.run, State: state, Outputs: base.Outputs, ContextWindowUsage: base.ContextWindowUsage, Status: r.Status, CurrentNodeID: g.Current,
		VisitedNodes: append([]string{}, g.Visited...), Pending: append([]string{}, g.Pending...), Errors: []graph.ExecutionError{},
		Signals: append([]graph.Signal{}, signals(g.Signals)...), StartedAt: g.StartedAt, UpdatedAt: g.UpdatedAt, NodeExecutionCount: len(g.Visited),
	}
	for _, e := range g.Errors {
		r.Snapshot.Errors = append(r.Snapshot.Errors, graph.ExecutionError{NodeID: e.Node, Message: e.Message, Timestamp: e.At, Attempt: e.Attempt})
	}
	for _, w := range g.Waits {
		r.Snapshot.Waiting = append(r.Snapshot.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since})
	}
	if !g.EndedAt.IsZero() {
		r.Snapshot.CompletedAt = &g.EndedAt
	}
	if x := g.Failure; x != nil && g.Status == engine.StatusFailed {
		r.Snapshot.DebugReport = c.Running().DebugReport(f.run, program.Failure{Code: x.Code, Message: x.Message, Node: x.Node, Stack: x.Stack}, g.EndedAt)
	}
	return r, nil
}

// stillborn is the result of a run that was cancelled before it started.
func stillborn[S any](c *graph.Compiled[S], f *following) (*Result[S], error) {
	var fields map[string]engine.Value
	if err := json.Unmarshal(f.stillborn, &fields); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	now := time.Now().UTC()
	return resultOf(c, f, project.GraphState{
		Status: engine.StatusCancelled, State: fields, Current: f.b.Workflow.Entry, Pending: []string{f.b.Workflow.Entry},
		Failure: &engine.Failure{Code: engine.CodeCancelled, Message: "cancelled before it started"}, StartedAt: now, UpdatedAt: now, EndedAt: now,
	})
}
