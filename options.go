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

// RunOption is what [Run], [Stream], [Resume] and [ResumeStream] take behind what they need: a [RunOptions], an [Answer], or one of each.
type RunOption interface{ into(o *chosen) error }

// chosen are the options of one call.
type chosen struct {
	RunOptions
	set int
}

func (o RunOptions) into(g *chosen) error {
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

func (a Answer) into(g *chosen) error {
	if g.Answer != nil {
		return errors.New("at most one Answer may be given, not 2")
	}
	g.Answer = &a
	return nil
}

// optionsOf puts the options of a call together.
func optionsOf(list []RunOption) (RunOptions, error) {
	var g chosen
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

// RunOptions say how a graph runs. The zero value is good.
type RunOptions struct {
	// ID is the run's id; "" makes one. With ResumeFrom it must be "" or the snapshot's, with Resume "" or the run's.
	ID string
	// Attach takes the run of that ID where the engine has one, in place of [ErrExists]: what ended or waits is given as it is, what is under way is followed, what was interrupted goes on. So a
	// call may be made again, by any process, and the run is begun once. The run keeps its own state and bounds: the state given beside it, Outputs, MaxSteps, Limits, Concurrency, Labels and Model are not
	// looked at then. It must belong to this version of the graph, else the error is a *[VersionError]. A store in memory may have dropped the run: see [Config].RetainRuns.
	Attach bool
	// ResumeFrom goes on with a run from a snapshot: whatever was pending runs, nothing that had ended does (S2-63). The state that is given beside it,
	// MaxSteps and Model are not looked at: the run keeps its own. An engine that has no run of that id makes it from the snapshot's Journal; one that has
	// it goes on with its own, where that begins with the snapshot's and no node settled since. A snapshot without Journal goes on with the run that the
	// engine has. What counts is the Journal: the other fields of the snapshot may be changed, and change nothing.
	//
	// Errors: those of [Resume]; *[VersionError] for another version of the graph; [ErrConflict]; *[SnapshotError] for a Journal that was cut or changed.
	// Nothing ran and nothing was stored then.
	ResumeFrom AnySnapshot
	// Answer answers the question of the run that goes on, as an Answer among the options does; nil: it was interrupted, and has no open question.
	Answer *Answer
	// Outputs stand among the outputs of nodes from the start, by node id, each until the node of that id gives its own (S2-75); values are what JSON
	// can hold. With ResumeFrom they are not looked at.
	Outputs map[string]any
	// MaxSteps bounds the executions of nodes, over all resumes; 0 is the graph's own bound, [graph.Zero] lets none run (S2-32). A run that goes on keeps its own.
	MaxSteps int
	// Limits are the budget of the run, with all that it starts; each that is set wins over that of [graph.Config].Limits. With ResumeFrom they are for a run that met its budget, which
	// goes on where they are larger; otherwise a run keeps its own. What the operator's configuration ([WithConfig]) allows at most they cannot raise.
	Limits graph.Limits
	// Concurrency bounds how many runs of the graph run at once with this one. With ResumeFrom it is not looked at.
	Concurrency Concurrency
	// Labels are those of the run, as [StartOptions].Labels. With ResumeFrom they are not looked at.
	Labels map[string]string
	// WorkflowName names the run in telemetry; "" is `unnamed` (S2-72).
	WorkflowName string
	// Telemetry gets the run's spans as it goes; nil: none.
	Telemetry Tracker
	// Checkpointer keeps the run's states; nil: none. The run itself needs none: it is kept by the engine's store.
	Checkpointer Checkpointer
	// AutoCheckpoint says whether the state is saved after each node, or only where a node asks for it by the signal `checkpoint`; nil: after each.
	AutoCheckpoint *bool
	// OnProgress is called as nodes start, fail and end and states are saved; nil: not called. One goroutine calls it, in order; the run
	// may be further by then. A panic in it is logged. [OnProgress] makes it.
	OnProgress ProgressFunc
	// Model is what nodes use whose own model is "" or `inherit`; "" is the engine's.
	Model string
}

// ProgressFunc is called with the progress of a run: [OnProgress] makes one. The zero ProgressFunc is not called.
type ProgressFunc struct{ fn any }

// OnProgress makes a ProgressFunc of a function. S must be the state of the graph, else the call that gets it fails.
func OnProgress[S any](fn func(Progress[S])) ProgressFunc {
	if fn == nil {
		return ProgressFunc{}
	}
	return ProgressFunc{fn}
}

// ProgressType says what happened.
type ProgressType string

// What OnProgress is called with (S2-64).
const (
	ProgressNodeStarted     ProgressType = "node_started"     // before the node's first attempt
	ProgressNodeCompleted   ProgressType = "node_completed"   // after its changes were merged
	ProgressNodeError       ProgressType = "node_error"       // for each attempt that failed
	ProgressCheckpointSaved ProgressType = "checkpoint_saved" // after each save
)

// Progress tells of one thing that happened in a run.
type Progress[S any] struct {
	Type   ProgressType
	NodeID string
	// State is the run's, as it was then.
	State S
	// Error is why the attempt failed; nil for all but node_error.
	Error error
	// Attempt counts from 1; 0 for checkpoint_saved.
	Attempt int
	// Label is that of the checkpoint, "" for all but checkpoint_saved.
	Label     string
	Timestamp time.Time
}

// MarshalJSON writes the document's shape, with the error as its text.
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

// Option gives an engine something of the program's own, [WithTool], [WithModel], [WithAgent], [WithSessions], [WithLLMSessions], [WithTelemetry], [WithConfig], or a part of Hocket that a program links
// only where it imports its package: documents.All, provider.All, toolsets.All, postgres.Open, temporal.Carry. Those that cannot be are errors of [Open].
type Option func(*parts.Parts)

// option makes an Option of what changes the settings of this package.
func option(f func(*settings)) Option {
	return func(p *parts.Parts) {
		if s, ok := p.Own.(*settings); ok {
			f(s)
		}
	}
}

// settings are what the options say.
type settings struct {
	parts.Parts
	tools    []goTool
	models   map[string]model.Client
	agents   []workflow.Agent
	sessions map[string]graph.Client
	llm      map[string]LLMSessions
	registry toolRegistry
	// telemetry is where traces and metrics go; nil: nowhere but where the configuration says.
	telemetry *otlp.Config
	// config is the operator's file; "": none.
	config   string
	problems []error
}

func settingsOf(options []Option) (*settings, error) {
	s := &settings{models: map[string]model.Client{}, sessions: map[string]graph.Client{}, llm: map[string]LLMSessions{}}
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

// WithConfig has an engine heed a configuration, hocket.yaml, as the command line does: model providers and their limits, models, the default model, MCP servers
// and toolsets, permissions, budgets, prices, limits of calls, hosts that requests may reach, the collector of telemetry (docs/configuration.md). Without it an
// engine reads none. Only who may say what documents do on this machine should write the file; it is never searched for, least of all in the working directory.
//
// What the program says comes first: Config.MaxCalls, the names of [WithModel] and [WithTool], [WithTelemetry]. store.path holds where Config.DB is "", in which
// case runs are kept there. Model providers need provider.All() as well. Sessions of [WithLLMSessions] are the program's alone and are not affected by it. The last one
// given counts.
//
// Errors, of [Open]: the file, or the one of prices that it names, cannot be read; their content is invalid, each problem with its place.
func WithConfig(path string) Option {
	return option(func(s *settings) {
		if path == "" {
			s.problemf("the path of the configuration is empty")
			return
		}
		s.config = path
	})
}

// WithSessions gives agent nodes of the type agentType the client of their sessions (S2-68): one of package acp, or the program's own. Nothing starts
// a coding agent that no option names (SEC5); sessions with a model need no client, see [AgentLLM].
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

// internalTools are the tools as runs use them.
func (s *settings) internalTools() []tool.Tool {
	out := make([]tool.Tool, len(s.tools))
	for i := range s.tools {
		out[i] = &s.tools[i]
	}
	return out
}

// unnamed is what a run without WorkflowName is called in telemetry (S2-72).
const unnamed = "unnamed"

// Tracker observes runs (S2-72); package oteltrack has one that makes OpenTelemetry spans. Calls for one run come one after another, those
// for several runs at once. The context is that of the call that started or resumed the run. What a Tracker does cannot change the run; a panic in it
// is logged.
//
// A run that is resumed starts and completes once for each resume. A node that was under way when the run was interrupted is entered again.
type Tracker interface {
	WorkflowStart(context.Context, TrackedStart)
	NodeEnter(context.Context, TrackedNode)
	// NodeExit is called once for every node that was entered: when it has settled, or before WorkflowComplete.
	NodeExit(context.Context, TrackedExit)
	// Error is called for each attempt that failed, and for the run where it failed.
	Error(context.Context, TrackedError)
	// WorkflowComplete is the last call: the run ended, is paused, or is watched no longer.
	WorkflowComplete(context.Context, TrackedEnd)
}

// TrackedStart says that a run starts or goes on.
type TrackedStart struct {
	ExecutionID string
	// WorkflowName is `unnamed` where the options give none.
	WorkflowName string
	MaxSteps     int
	// Resuming is true where nodes may have run before.
	Resuming bool
	At       time.Time
}

// TrackedNode says that a node starts.
type TrackedNode struct {
	ExecutionID string
	NodeID      string
	Type        graph.NodeType
	// Step tells executions of nodes apart within the run; Parent is the step of the parallel block in whose branch the node stands, 0 outside.
	Step, Parent int
	// At is when it started; in TrackedExit, when it settled.
	At time.Time
}

// TrackedExit says that a node has settled.
type TrackedExit struct {
	TrackedNode
	// Duration is the time since the node started, over all attempts.
	Duration time.Duration
	// Status is StatusCompleted, StatusFailed, StatusCancelled, or, where the run is left before the node settled, StatusPaused or StatusRunning.
	Status Status
}

// TrackedError says that an attempt of a node failed, or, where NodeID is "", the run.
type TrackedError struct {
	ExecutionID string
	NodeID      string
	Step        int
	Err         error
	At          time.Time
}

// TrackedEnd says how a run ended, or that it does not go on for now.
type TrackedEnd struct {
	ExecutionID  string
	WorkflowName string
	// Status is how the run ended, StatusPaused where it waits, StatusRunning where it was interrupted.
	Status Status
	// Duration is the time since WorkflowStart.
	Duration time.Duration
	At       time.Time
}
