package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
)

// Status is the state of a run.
type Status string

const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// isActive tells of a run that goes on, or would when it has its turn.
func (s Status) isActive() bool { return s == StatusRunning || s == StatusPending }

// Step is one node of a Go graph that has settled: it ended, failed for good, waits for a person, or was cancelled (S2-73).
type Step[S any] struct {
	NodeID string
	// Seq is the journal position at which it settled: a place for Engine.Fork.
	Seq uint64
	// State is the run's state after the node; inside a branch of a parallel block, as that branch sees it.
	State S
	// Result is what the node gave: what it changed in Update (nil: nothing), its output, gotos and signals.
	Result StepResult
	// Status is the run's status with this step: running, and for the last one how the run ended or that it is paused.
	Status Status
	// Error is why the node failed; nil where it did not.
	Error error
	// ExecutionTime is the time from the node's start, over all attempts.
	ExecutionTime time.Duration
	// RetryCount is the number of attempts after the first.
	RetryCount int
	// ModelUsed is the model that the node resolved to, "" where it used none.
	ModelUsed string
	// EmittedEvents are those that the node sent by Context.Emit, in order.
	EmittedEvents []EmittedEvent
}

// StepResult is what a node gave, as it was recorded.
type StepResult struct {
	// Update holds the top-level fields of the state that the node changed, by their names in JSON; nil: none.
	Update map[string]json.RawMessage `json:"stateUpdate,omitempty"`
	// Output is the node's output; nil: none.
	Output  json.RawMessage `json:"output,omitempty"`
	Goto    []string        `json:"goto,omitempty"`
	Signals []graph.Signal  `json:"signals,omitempty"`
}

// EmittedEvent is an event of the program's own that a node sent while it ran.
type EmittedEvent struct {
	Type      string         `json:"type"`
	Data      map[string]any `json:"data,omitempty"`
	Timestamp time.Time      `json:"timestamp"`
}

// Result is how a run of a Go graph ended, or where it waits.
type Result[S any] struct {
	State    S
	Status   Status
	Snapshot Snapshot[S]
	// Err is why the run failed or was cancelled; nil otherwise.
	Err error
}

// Snapshot is everything about a run at one moment (S2-63). It survives JSON and can be resumed by RunOptions.ResumeFrom, in another process too.
type Snapshot[S any] struct {
	ExecutionID string `json:"executionId"`
	State       S      `json:"state"`
	// Outputs are the outputs of nodes, by id, and those that the run began with.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// ContextWindowUsage is what the last agent or context monitor node told; nil: none did (S2-75).
	ContextWindowUsage *graph.ContextWindowUsage `json:"contextWindowUsage,omitempty"`
	Status             Status                    `json:"status"`
	// CurrentNodeID is the node that settled last, or that waits.
	CurrentNodeID string `json:"currentNodeId,omitempty"`
	// VisitedNodes are the nodes in the order in which they ended, once for each execution; those that were cancelled are none.
	VisitedNodes []string `json:"visitedNodes"`
	// Pending are the nodes that would run next.
	Pending []string               `json:"pending"`
	Errors  []graph.ExecutionError `json:"errors"`
	// Signals are those of its nodes and, last, that of the DebugReport (S2-59).
	Signals []graph.Signal `json:"signals"`
	// Waiting are the open questions to people.
	Waiting     []Wait     `json:"waiting,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// NodeExecutionCount counts the executions of nodes over all resumes.
	NodeExecutionCount int `json:"nodeExecutionCount"`
	// DebugReport tells of a failed run (S2-59); nil for all others.
	DebugReport *graph.DebugReport `json:"debugReport,omitempty"`
	// Journal is the run's own record, which a resume on another store needs. Its form is Hocket's own.
	Journal json.RawMessage `json:"journal,omitempty"`
}

// AnySnapshot is a *[Snapshot], whatever its state.
type AnySnapshot interface{ taken() taken }

// taken is what a run goes on from.
type taken struct {
	ExecutionID string
	Journal     json.RawMessage
}

func (s *Snapshot[S]) taken() taken {
	if s == nil {
		return taken{}
	}
	return taken{s.ExecutionID, s.Journal}
}

// Wait is an open question to a person.
type Wait struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Prompt  string    `json:"prompt"`
	Options []string  `json:"options,omitempty"`
	Since   time.Time `json:"since"`
	// Input is what came to the node that waits: the text that is to be approved, or that the question follows. Nil for tool calls and budgets, and in a [Snapshot].
	Input json.RawMessage `json:"input,omitempty"`
	// Tool and Arguments are those of a tool call that waits for a person, as it would be made (SEC12); empty for nodes that wait and for calls whose outcome
	// is unknown. Changed: the tool's definition is not the one that the run began with, and approving accepts the new one. Schema is what the
	// answer to a tool's question must fit.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Changed   bool            `json:"changed,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
}

// decode makes a state of recorded fields.
func decode[S any](c *graph.Compiled[S], fields map[string]engine.Value) (S, error) {
	s, _, err := c.Running().Split(program.Folded{State: program.StateOf(fields)})
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
func resultOf[S any](c *graph.Compiled[S], f *following, typed program.State, g project.GraphState) (*Result[S], error) {
	state, base, err := c.Running().Split(program.Folded{Run: f.run, Updated: g.UpdatedAt, State: typed, Outputs: g.Outputs})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.run, err)
	}
	r := &Result[S]{State: state, Status: Status(g.Status), Err: runError(g.Failure, "")}
	r.Snapshot = Snapshot[S]{
		ExecutionID: f.run, State: state, Outputs: base.Outputs, ContextWindowUsage: base.ContextWindowUsage, Status: r.Status, CurrentNodeID: g.Current,
		VisitedNodes: listed(g.Visited), Pending: listed(g.Pending), Errors: []graph.ExecutionError{},
		Signals: append([]graph.Signal{}, signals(g.Signals)...), StartedAt: g.StartedAt, UpdatedAt: g.UpdatedAt, NodeExecutionCount: len(g.Visited),
	}
	for _, e := range g.Errors {
		r.Snapshot.Errors = append(r.Snapshot.Errors, graph.ExecutionError{NodeID: e.Node, Message: e.Message, Timestamp: e.At, Attempt: e.Attempt})
	}
	for _, w := range g.Waits {
		r.Snapshot.Waiting = append(r.Snapshot.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since})
	}
	if !g.EndedAt.IsZero() {
		ended := g.EndedAt
		r.Snapshot.CompletedAt = &ended
	}
	if x := g.Failure; x != nil && g.Status == engine.StatusFailed {
		r.Snapshot.DebugReport = c.Running().DebugReport(f.run, program.Failure{Code: x.Code, Message: x.Message, Node: x.Node, Stack: x.Stack}, g.EndedAt)
	}
	return r, nil
}

// listed gives a list that JSON shows as one where it is empty.
func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// stillborn is the result of a run that was cancelled before it started.
func stillborn[S any](c *graph.Compiled[S], f *following) (*Result[S], error) {
	var fields map[string]engine.Value
	if err := json.Unmarshal(f.stillborn, &fields); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	now := time.Now().UTC()
	return resultOf(c, f, program.StateOf(fields), project.GraphState{
		Status: engine.StatusCancelled, Current: f.b.Workflow.Entry, Pending: []string{f.b.Workflow.Entry},
		Failure: &engine.Failure{Code: engine.CodeCancelled, Message: "cancelled before it started"}, StartedAt: now, UpdatedAt: now, EndedAt: now,
	})
}

// SnapshotOf gives everything about a run as it is now, driven by any process (S2-63). [RunOptions].ResumeFrom goes on with it, in another process and on
// another store too; a run that goes on meanwhile is ahead of its snapshot.
//
// Errors: [ErrNotFound]; *[VersionError] where the run belongs to another version of the graph; [ErrClosed].
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

// result folds the journal of the run. A run that can go on takes its journal along.
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
	if !engine.Status(r.Status).Ended() {
		r.Snapshot.Journal, err = p.Seal()
	}
	return r, err
}

// adopt makes sure that the engine has the run of a snapshot.
func adopt(ctx context.Context, e *Engine, b *bound, o RunOptions) (run string, err error) {
	s := o.ResumeFrom.taken()
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
	if created, ok := p.Events[0].Data.(*engine.RunCreated); ok && created.Digest != b.Digest {
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
