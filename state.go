package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
)

// Status is the state of a run.
type Status string

// The states of a run.
const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// isActive reports whether a run is in progress, or would be if it were its turn.
func (s Status) isActive() bool { return s == StatusRunning || s == StatusPending }

// Step is one node of a Go graph that has settled: it has ended, failed permanently, waits for a
// person, or was cancelled.
type Step[S any] struct {
	NodeID string
	// Seq is the journal position at which the step settled; it can be passed to Engine.Fork.
	Seq uint64
	// State is the run's state after the node; inside a branch of a parallel block, the state as
	// seen by that branch.
	State S
	// Result is the result of the node: what it changed in Update (nil means nothing), its output,
	// gotos and signals.
	Result StepResult
	// Status is the run's status at this step: running or, for the last step, how the run ended or
	// that it is paused.
	Status Status
	// Error is why the node failed, or nil if it did not.
	Error error
	// ExecutionTime is the time since the node's start, over all attempts.
	ExecutionTime time.Duration
	// RetryCount is the number of attempts after the first.
	RetryCount int
	// ModelUsed is the model that the node resolved to, and empty if it used none.
	ModelUsed string
	// EmittedEvents are the events that the node sent with Context.Emit, in order.
	EmittedEvents []EmittedEvent
}

// StepResult is the recorded result of a node.
type StepResult struct {
	// Update holds the top-level fields of the state that the node changed, by their JSON names;
	// nil means none.
	Update map[string]json.RawMessage `json:"stateUpdate,omitempty"`
	// Output is the node's output; nil means none.
	Output  json.RawMessage `json:"output,omitempty"`
	Goto    []string        `json:"goto,omitempty"`
	Signals []graph.Signal  `json:"signals,omitempty"`
}

// EmittedEvent is an event defined by the program that a node sent while it ran.
type EmittedEvent struct {
	Type      string         `json:"type"`
	Data      map[string]any `json:"data,omitempty"`
	Timestamp time.Time      `json:"timestamp"`
}

// Result describes how a run of a Go graph ended, or where it waits.
type Result[S any] struct {
	State    S
	Status   Status
	Snapshot Snapshot[S]
	// Err is why the run failed or was cancelled; nil otherwise.
	Err error
}

// Snapshot is the complete state of a run at one moment. It can be encoded as JSON and resumed with
// RunOptions.ResumeFrom, in another process too.
type Snapshot[S any] struct {
	ExecutionID string `json:"executionId"`
	State       S      `json:"state"`
	// Outputs holds the outputs of nodes, by ID, including those with which the run was started.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// ContextWindowUsage is the usage reported by the last agent or context monitor node; nil means
	// that none reported it.
	ContextWindowUsage *graph.ContextWindowUsage `json:"contextWindowUsage,omitempty"`
	Status             Status                    `json:"status"`
	// CurrentNodeID is the ID of the node that settled last, or that waits.
	CurrentNodeID string `json:"currentNodeId,omitempty"`
	// VisitedNodes holds the nodes in the order in which they ended, once per execution; nodes that
	// were cancelled are not included.
	VisitedNodes []string `json:"visitedNodes"`
	// Pending holds the nodes that would run next.
	Pending []string               `json:"pending"`
	Errors  []graph.ExecutionError `json:"errors"`
	// Signals holds the signals of the nodes and, last, that of the DebugReport.
	Signals []graph.Signal `json:"signals"`
	// Waiting holds the open questions to people.
	Waiting     []Wait     `json:"waiting,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// NodeExecutionCount is the number of node executions over all resumes.
	NodeExecutionCount int `json:"nodeExecutionCount"`
	// DebugReport describes a failed run; it is nil for all others.
	DebugReport *graph.DebugReport `json:"debugReport,omitempty"`
	// Journal is the run's own record, which is needed to resume the run on another store. Its
	// format is internal to Hocket.
	Journal json.RawMessage `json:"journal,omitempty"`
}

// AnySnapshot is a *[Snapshot] of any state type.
type AnySnapshot interface{ source() resumeSource }

// resumeSource is what a run continues from.
type resumeSource struct {
	ExecutionID string
	Journal     json.RawMessage
}

func (s *Snapshot[S]) source() resumeSource {
	if s == nil {
		return resumeSource{}
	}
	return resumeSource{s.ExecutionID, s.Journal}
}

// Wait is an open question to a person.
type Wait struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Prompt  string    `json:"prompt"`
	Options []string  `json:"options,omitempty"`
	Since   time.Time `json:"since"`
	// Input is the input of the node that waits: the text to be approved, or that precedes the
	// question. It is nil for tool calls and budgets, and in a [Snapshot].
	Input json.RawMessage `json:"input,omitempty"`
	// Tool and Arguments describe a tool call that waits for a person, as it would be made; they
	// are empty for nodes that wait and for calls whose outcome is unknown. Changed is set if the
	// tool's definition is not the one that the run began with; approving accepts the new
	// definition. Schema is the schema of the answer to a tool's question.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Changed   bool            `json:"changed,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
}

// decode decodes a state from recorded fields.
func decode[S any](c *graph.Compiled[S], fields map[string]event.Value) (S, error) {
	s, _, err := c.Running().Split(program.Folded{State: program.StateOf(fields)})
	return s, err
}

// stepOf converts the record of a step.
func stepOf[S any](c *graph.Compiled[S], g project.GraphStep) (Step[S], error) {
	state, err := decode(c, g.State)
	if err != nil {
		return Step[S]{}, err
	}
	s := Step[S]{
		NodeID: g.Node, Seq: g.Seq, State: state, Status: Status(g.Status), Error: runError(g.Failure, g.Node),
		ExecutionTime: g.Duration,
		RetryCount:    max(0, g.Attempts-1), Result: StepResult{Output: c.Running().Output(g.Node, g.Output),
			Goto:    g.Goto,
			Signals: signals(g.Signals)},
	}
	for _, e := range g.Emitted {
		s.EmittedEvents = append(s.EmittedEvents, EmittedEvent{Type: e.Signal, Data: values(e.Data), Timestamp: e.At})
	}
	s.Result.Update = c.Running().Changes(g.Update)
	return s, nil
}

// signals converts recorded signals.
func signals(recorded []event.SignalRaised) []graph.Signal {
	var out []graph.Signal
	for _, r := range recorded {
		out = append(out, graph.Signal{Type: graph.SignalType(r.Signal), Message: r.Message, Data: values(r.Data)})
	}
	return out
}

// values converts recorded data; it returns nil if there is none.
func values(recorded map[string]event.Value) map[string]any {
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

// resultOf builds a result from a folded run.
func resultOf[S any](c *graph.Compiled[S], f *following, typed program.State, g project.GraphState) (
	*Result[S], error) {
	state, base, err := c.Running().Split(program.Folded{Run: f.run, Updated: g.UpdatedAt, State: typed,
		Outputs: g.Outputs})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.run, err)
	}
	r := &Result[S]{State: state, Status: Status(g.Status), Err: runError(g.Failure, "")}
	r.Snapshot = Snapshot[S]{
		ExecutionID: f.run, State: state, Outputs: base.Outputs, ContextWindowUsage: base.ContextWindowUsage,
		Status: r.Status, CurrentNodeID: g.Current,
		VisitedNodes: listed(g.Visited), Pending: listed(g.Pending), Errors: []graph.ExecutionError{},
		Signals: append([]graph.Signal{}, signals(g.Signals)...), StartedAt: g.StartedAt, UpdatedAt: g.UpdatedAt,
		NodeExecutionCount: len(g.Visited),
	}
	for _, e := range g.Errors {
		r.Snapshot.Errors = append(r.Snapshot.Errors, graph.ExecutionError{NodeID: e.Node, Message: e.Message,
			Timestamp: e.At, Attempt: e.Attempt})
	}
	for _, w := range g.Waits {
		r.Snapshot.Waiting = append(r.Snapshot.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt,
			Options: w.Options, Since: w.Since})
	}
	if !g.EndedAt.IsZero() {
		ended := g.EndedAt
		r.Snapshot.CompletedAt = &ended
	}
	if x := g.Failure; x != nil && g.Status == event.StatusFailed {
		r.Snapshot.DebugReport = c.Running().DebugReport(f.run, program.Failure{Code: x.Code, Message: x.Message,
			Node: x.Node, Stack: x.Stack}, g.EndedAt)
	}
	return r, nil
}

// listed returns a list that is encoded as a JSON array even if it is empty.
func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// cancelledBeforeStart returns the result of a run that was cancelled before it started.
func cancelledBeforeStart[S any](c *graph.Compiled[S], f *following) (*Result[S], error) {
	var fields map[string]event.Value
	if err := json.Unmarshal(f.cancelledBeforeStart, &fields); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	now := time.Now().UTC()
	return resultOf(c, f, program.StateOf(fields), project.GraphState{
		Status: event.StatusCancelled, Current: f.b.Workflow.Entry, Pending: []string{f.b.Workflow.Entry},
		Failure: &event.Failure{Code: event.CodeCancelled, Message: "cancelled before it started"}, StartedAt: now,
		UpdatedAt: now, EndedAt: now,
	})
}

// SnapshotOf returns the complete current state of a run, whichever process drives it.
// [RunOptions].ResumeFrom continues from it, in another process and on another store too; a run
// that continues in the meantime is ahead of its snapshot.
//
// It returns [ErrNotFound], *[VersionError] if the run belongs to another version of the graph, or
// [ErrClosed].
func SnapshotOf[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string) (*Snapshot[S], error) {
	b, err := bind(e, g)
	if err != nil {
		return nil, err
	}
	if _, err := e.check(ctx, b, run); err != nil {
		return nil, err
	}
	r, err := result(ctx, g, &following{e: e, b: b, run: run})
	if err != nil {
		return nil, err
	}
	return &r.Snapshot, nil
}

// result folds the journal of the run. The result of a run that can continue includes its journal.
func result[S any](ctx context.Context, g *graph.Compiled[S], f *following) (*Result[S], error) {
	p, err := f.e.service.Export(ctx, f.run)
	if err != nil {
		return nil, known(err)
	}
	folder := project.NewGraphStateFolder(f.run, f.b.plan)
	for _, ev := range p.Events {
		if _, err := folder.Add(ev); err != nil {
			return nil, fmt.Errorf("read run %s: %w", f.run, err)
		}
	}
	r, err := resultOf(g, f, folder.Typed(), folder.State())
	if err != nil {
		return nil, err
	}
	if !event.Status(r.Status).Ended() {
		r.Snapshot.Journal, err = p.Seal()
	}
	return r, err
}

// adopt ensures that the engine has the run of a snapshot.
func adopt(ctx context.Context, e *Engine, b *bound, o RunOptions) (run string, err error) {
	s := o.ResumeFrom.source()
	if o.ID != "" && o.ID != s.ExecutionID {
		return "", fmt.Errorf("resume run %s: the id of a run cannot be changed to %s", s.ExecutionID, o.ID)
	}
	if len(s.Journal) == 0 {
		return s.ExecutionID, nil
	}
	p, err := journal.OpenBundle(s.Journal)
	if err != nil {
		return "", &SnapshotError{Run: s.ExecutionID, Err: err}
	}
	if p.Run != s.ExecutionID {
		return "", &SnapshotError{Run: s.ExecutionID, Err: fmt.Errorf("its journal belongs to run %s", p.Run)}
	}
	if created, ok := p.Events[0].Data.(*event.RunCreated); ok && created.Digest != b.Digest {
		return "", &VersionError{Run: p.Run, Graph: b.Workflow.Name, Have: b.Digest, Want: created.Digest}
	}
	err = e.service.Import(ctx, p, b.Graph)
	_, diverges := errors.AsType[*engine.DivergenceError](err)
	_, corrupt := errors.AsType[*journal.CorruptError](err)
	if diverges || corrupt {
		return "", &SnapshotError{Run: p.Run, Err: err}
	}
	return p.Run, known(err)
}
