package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// RunOption is an optional argument of [Run], [Stream], [Resume] and [ResumeStream]: a
// [RunOptions], an [Answer], or one of each.
type RunOption interface{ into(o *callOptions) error }

// callOptions holds the options of one call.
type callOptions struct {
	RunOptions
	set int
}

func (o RunOptions) into(g *callOptions) error {
	if g.set++; g.set > 1 {
		return errors.New("at most one RunOptions may be given, not 2")
	}
	answer := g.Answer
	if g.RunOptions = o; answer != nil {
		if o.Answer != nil {
			return errors.New("at most one Answer may be given, not 2")
		}
		g.Answer = answer
	}
	return nil
}

func (a Answer) into(g *callOptions) error {
	if g.Answer != nil {
		return errors.New("at most one Answer may be given, not 2")
	}
	g.Answer = &a
	return nil
}

// optionsOf combines the options of a call.
func optionsOf(list []RunOption) (RunOptions, error) {
	var g callOptions
	for _, o := range list {
		if o == nil {
			return RunOptions{}, errors.New("an option is nil")
		}
		if err := o.into(&g); err != nil {
			return RunOptions{}, err
		}
	}
	return g.RunOptions, nil
}

// RunOptions specifies how a graph runs. The zero value is valid.
type RunOptions struct {
	// ID is the ID of the run; empty generates one. With ResumeFrom it must be empty or the
	// snapshot's, with Resume empty or the run's.
	ID string
	// Attach attaches to the run with that ID if the engine has one, instead of returning
	// [ErrExists]: a run that has ended or waits is returned as it is, a run in progress is
	// followed, and an interrupted run continues. A call can therefore be repeated, by any process,
	// and the run is started only once. The run keeps its own state and limits: the state argument,
	// Outputs, MaxSteps, Limits, Concurrency, Labels and Model are then ignored. The run must
	// belong to this version of the graph; otherwise the error is a *[VersionError]. An in-memory
	// store may have dropped the run; see [Config].RetainRuns.
	Attach bool
	// ResumeFrom continues a run from a snapshot: everything that was pending runs, and nothing
	// that had ended does. The state argument, MaxSteps and Model are ignored: the run keeps its
	// own. An engine that has no run with that ID creates it from the snapshot's Journal; one that
	// has it continues its own run, provided that its journal begins with the snapshot's and no
	// node has settled since. A snapshot without Journal continues the run that the engine has.
	// Only the Journal matters: changes to other fields of the snapshot have no effect.
	//
	// Errors are those of [Resume]; *[VersionError] for another version of the graph;
	// [ErrConflict]; and *[SnapshotError] for a Journal that was truncated or changed. In all these
	// cases nothing ran and nothing was stored.
	ResumeFrom AnySnapshot
	// Answer answers the question of the run that is resumed, like an Answer among the options; nil
	// means that the run was interrupted and has no open question.
	Answer *Answer
	// Outputs are initial outputs of nodes, by node ID, each used until the node with that ID
	// produces its own; values must be encodable as JSON. They are ignored with ResumeFrom.
	Outputs map[string]any
	// MaxSteps is the maximum number of node executions, over all resumes; 0 means the graph's own
	// limit, and [graph.Zero] allows none. A run that is resumed keeps its own.
	MaxSteps int
	// Limits is the budget of the run, including everything that it starts; each limit that is set
	// takes precedence over that of [graph.Config].Limits. With ResumeFrom it applies to a run that
	// exceeded its budget, which continues if the limits are larger; otherwise a run keeps its own.
	// Limits cannot exceed the maximum that the operator's configuration ([WithConfig]) allows.
	Limits graph.Limits
	// Concurrency limits how many runs of the graph run concurrently with this one. It is ignored
	// with ResumeFrom.
	Concurrency Concurrency
	// Labels are the labels of the run, as in [StartOptions].Labels. They are ignored with
	// ResumeFrom.
	Labels map[string]string
	// WorkflowName is the name of the run in telemetry; empty means `unnamed`.
	WorkflowName string
	// Telemetry receives the run's spans as it progresses; nil means none.
	Telemetry Tracker
	// Checkpointer stores the run's states; nil means none. The run itself does not need one: it is
	// kept in the engine's store.
	Checkpointer Checkpointer
	// AutoCheckpoint determines whether the state is saved after each node, or only if a node
	// requests it with the signal `checkpoint`; nil means after each node.
	AutoCheckpoint *bool
	// OnProgress is called when nodes start, fail and end and when states are saved, unless it is
	// nil. It is called from one goroutine, in order; the run may have progressed further by then.
	// A panic in it is logged. Use [OnProgress] to create it.
	OnProgress ProgressFunc
	// Model is the model for nodes whose own model is "" or `inherit`; empty means the engine's
	// model.
	Model string
}

// ProgressFunc is called with the progress of a run; [OnProgress] creates one. The zero
// ProgressFunc is not called.
type ProgressFunc struct{ fn any }

// OnProgress converts a function into a ProgressFunc. S must be the state of the graph; otherwise
// the call that it is passed to fails.
func OnProgress[S any](fn func(Progress[S])) ProgressFunc {
	if fn == nil {
		return ProgressFunc{}
	}
	return ProgressFunc{fn}
}

// ProgressType is the kind of a Progress.
type ProgressType string

// Kinds of progress that OnProgress is called with.
const (
	ProgressNodeStarted     ProgressType = "node_started"     // before the node's first attempt
	ProgressNodeCompleted   ProgressType = "node_completed"   // after its changes were merged
	ProgressNodeError       ProgressType = "node_error"       // for each attempt that failed
	ProgressCheckpointSaved ProgressType = "checkpoint_saved" // after each save
)

// Progress describes one thing that happened in a run.
type Progress[S any] struct {
	Type   ProgressType
	NodeID string
	// State is the state of the run at that time.
	State S
	// Error is why the attempt failed; it is nil except for node_error.
	Error error
	// Attempt counts from 1; it is 0 for checkpoint_saved.
	Attempt int
	// Label is the label of the checkpoint; it is empty except for checkpoint_saved.
	Label     string
	Timestamp time.Time
}

// MarshalJSON encodes the progress in its documented form, with the error as its message.
func (p Progress[S]) MarshalJSON() ([]byte, error) {
	var text string
	if p.Error != nil {
		text = p.Error.Error()
	}
	return json.Marshal(struct {
		Type      ProgressType `json:"type"`
		NodeID    string       `json:"nodeId"`
		State     S            `json:"state"`
		Error     string       `json:"error,omitempty"`
		Attempt   int          `json:"attempt,omitempty"`
		Label     string       `json:"label,omitempty"`
		Timestamp time.Time    `json:"timestamp"`
	}{p.Type, p.NodeID, p.State, text, p.Attempt, p.Label, p.Timestamp})
}

// Option configures an engine with something that the program provides ([WithTool], [WithModel],
// [WithAgent], [WithSessions], [WithLLMSessions], [WithTelemetry], [WithConfig]) or with a part of
// Hocket that a program links only if it imports its package: documents.All, provider.All,
// toolsets.All, postgres.Open, temporal.Carry. [Open] returns an error for invalid options.
type Option func(*parts.Parts)

// option returns an Option that changes the settings of this package.
func option(f func(*settings)) Option {
	return func(p *parts.Parts) {
		if s, ok := p.Own.(*settings); ok {
			f(s)
		}
	}
}

// settings holds the values set by the options.
type settings struct {
	parts.Parts
	tools    []goTool
	models   map[string]model.Client
	agents   []workflow.Agent
	sessions map[string]graph.Client
	llm      map[string]LLMSessions
	registry toolRegistry
	// telemetry is where traces and metrics are sent; nil means only where the configuration says.
	telemetry *otlp.Config
	// config is the path of the operator's configuration file; "" means none.
	config   string
	problems []error
}

func settingsOf(options []Option) (*settings, error) {
	s := &settings{models: map[string]model.Client{}, sessions: map[string]graph.Client{},
		llm: map[string]LLMSessions{}}
	s.Own = s
	for _, o := range options {
		if o == nil {
			s.problemf("an option is nil")
			continue
		}
		o(&s.Parts)
	}
	s.registry = toolRegistry{}
	for i := range s.tools {
		s.registry[s.tools[i].def.Name] = &s.tools[i]
	}
	return s, errors.Join(s.problems...)
}

func (s *settings) problemf(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// WithConfig makes an engine use a configuration file, hocket.yaml, as the command line does: model
// providers and their limits, models, the default model, MCP servers and toolsets, permissions,
// budgets, prices, limits of calls, hosts that requests may reach, and the telemetry collector
// (docs/configuration.md). Without it, an engine reads no configuration. Only someone who may
// decide what documents do on this machine should be able to write the file; it is never searched
// for, least of all in the working directory.
//
// The program's own settings take precedence: Config.MaxCalls, the names of [WithModel] and
// [WithTool], and [WithTelemetry]. If Config.DB is empty, store.path applies and runs are kept
// there. Model providers need provider.All() as well. Sessions of [WithLLMSessions] belong to the
// program: of the file, only the permissions apply to them. They cannot wait for a person, so a
// call that needs approval is not made either, and the model is told so. If WithConfig is used more
// than once, the last one applies.
//
// [Open] returns an error if the file, or the price file that it names, cannot be read, or if their
// content is invalid; each problem is reported with its position.
func WithConfig(path string) Option {
	return option(func(s *settings) {
		if path == "" {
			s.problemf("the path of the configuration is empty")
			return
		}
		s.config = path
	})
}

// WithSessions sets the client for the sessions of agent nodes of type agentType: one from package
// acp, or the program's own. A coding agent is started only if an option names it. Sessions with a
// model need no client; see [AgentLLM].
func WithSessions(agentType string, c graph.Client) Option {
	return option(func(s *settings) {
		switch {
		case agentType == "" || c == nil:
			s.problemf("sessions need an agent type and a client")
		case s.hasSessions(agentType):
			s.problemf("agent type %q has two clients", agentType)
		default:
			s.sessions[agentType] = c
		}
	})
}

// internalTools returns the tools in the form that runs use.
func (s *settings) internalTools() []tool.Tool {
	out := make([]tool.Tool, len(s.tools))
	for i := range s.tools {
		out[i] = &s.tools[i]
	}
	return out
}

// unnamed is the name in telemetry of a run without WorkflowName.
const unnamed = "unnamed"

// Tracker observes runs; package oteltrack provides one that creates OpenTelemetry spans. Calls for
// one run are sequential, calls for several runs are concurrent. The context is that of the call
// that started or resumed the run. A Tracker cannot change the run; a panic in it is logged.
//
// A run that is resumed starts and completes once per resume. A node that was in progress when the
// run was interrupted is entered again.
type Tracker interface {
	WorkflowStart(context.Context, TrackedStart)
	NodeEnter(context.Context, TrackedNode)
	// NodeExit is called once for every node that was entered: when it settles, or before
	// WorkflowComplete.
	NodeExit(context.Context, TrackedExit)
	// Error is called for each attempt that fails, and for the run if it fails.
	Error(context.Context, TrackedError)
	// WorkflowComplete is the last call: the run has ended, is paused, or is no longer observed.
	WorkflowComplete(context.Context, TrackedEnd)
}

// TrackedStart reports that a run starts or continues.
type TrackedStart struct {
	ExecutionID string
	// WorkflowName is `unnamed` if the options do not set it.
	WorkflowName string
	MaxSteps     int
	// Resuming is true if nodes may have run before.
	Resuming bool
	At       time.Time
}

// TrackedNode reports that a node starts.
type TrackedNode struct {
	ExecutionID string
	NodeID      string
	Type        graph.NodeType
	// Step identifies an execution of a node within the run; Parent is the step of the parallel
	// block whose branch contains the node, or 0 outside of one.
	Step, Parent int
	// At is when the node started; in TrackedExit, when it settled.
	At time.Time
}

// TrackedExit reports that a node has settled.
type TrackedExit struct {
	TrackedNode
	// Duration is the time since the node started, over all attempts.
	Duration time.Duration
	// Status is StatusCompleted, StatusFailed or StatusCancelled, or, if WorkflowComplete follows
	// before the node settles, StatusPaused or StatusRunning.
	Status Status
}

// TrackedError reports that an attempt of a node failed, or, if NodeID is empty, that the run
// failed.
type TrackedError struct {
	ExecutionID string
	NodeID      string
	Step        int
	Err         error
	At          time.Time
}

// TrackedEnd reports how a run ended, or that it does not continue for now.
type TrackedEnd struct {
	ExecutionID  string
	WorkflowName string
	// Status is how the run ended, StatusPaused if it waits, or StatusRunning if it was
	// interrupted.
	Status Status
	// Duration is the time since WorkflowStart.
	Duration time.Duration
	At       time.Time
}

// Concurrency limits how many runs of a graph execute concurrently, across all processes of the
// program. It counts the runs with the same Key that have not ended, including those that wait for
// a person or are interrupted. The zero Concurrency sets no limit. See docs/runs.md for what
// counts.
type Concurrency struct {
	// Key groups the runs that count together, such as those of a customer; at most 1,024 bytes.
	// Runs with Key "" form a group, too.
	Key string
	// Max is the maximum number of concurrent runs, at most 1,000; 0 means 1 if another field is
	// set.
	Max int
	// IfBusy specifies what happens to a run for which there is no room: "queue" or "" queues it,
	// first come, first served; "skip" does not start it and returns [ErrConcurrency]; "cancel"
	// cancels the oldest active run and then starts it.
	IfBusy string
}

// bound returns c in the form that workflows use, or nil if c sets no limit.
func (c Concurrency) bound() *workflow.Concurrency {
	if c == (Concurrency{}) {
		return nil
	}
	return &workflow.Concurrency{Key: c.Key, Max: c.Max, IfBusy: c.IfBusy}
}

// check returns an error if c is invalid.
func (c Concurrency) check() error {
	if b := c.bound(); b != nil {
		return b.Check()
	}
	return nil
}

// Limits holds all the limits that a run can have. In [StartOptions], limits that are set take
// precedence over the document's; in [Engine.Reopen] they are the larger limits that replace the
// run's. Zero fields are not set.
type Limits struct {
	// MaxSteps is the maximum number of node executions; [graph.Zero] allows none.
	MaxSteps int
	// MaxRounds ends a rounds document after that many full cycles, with status completed.
	MaxRounds int
	// MaxLoopIterations is the maximum number of iterations of each loop of a document.
	MaxLoopIterations int
	// MaxConcurrency is the maximum number of steps in flight.
	MaxConcurrency int
	// Timeout is the maximum time that the run may be active, pauses excluded.
	Timeout time.Duration
	// MaxBytes is the maximum number of bytes that the run takes in and produces, counted each time
	// that they are recorded.
	MaxBytes int64
	// MaxTokens, MaxCostUSD, MaxCalls, Uncounted and OnBudget are the budget; see [graph.Limits].
	MaxTokens  int64
	MaxCostUSD float64
	MaxCalls   int64
	Uncounted  graph.Uncounted
	OnBudget   graph.OnBudget
}

// workflowLimits converts the limits to the representation of workflows.
func (l Limits) workflowLimits() workflow.Limits {
	return workflow.Limits{
		MaxSteps: stepsOf(l.MaxSteps), MaxRounds: l.MaxRounds, MaxLoopIterations: l.MaxLoopIterations,
		MaxConcurrency: l.MaxConcurrency, Timeout: workflow.Duration(l.Timeout), MaxBytes: l.MaxBytes,
		MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: string(l.Uncounted),
		OnBudget: string(l.OnBudget),
	}
}

// budgetOf converts the limits of a graph to those of any run.
func budgetOf(l graph.Limits) Limits {
	return Limits{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: l.Uncounted,
		OnBudget: l.OnBudget}
}
