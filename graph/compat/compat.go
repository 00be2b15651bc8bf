package compat

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// Defaults of graphs: [graph.Config].MaxConcurrency, ContextWindowThreshold in percent, and
// MaxIterations of [graph.LoopConfig].
const (
	DefaultMaxConcurrency         = 1
	DefaultMaxIterations          = 100
	DefaultContextWindowThreshold = 45
)

// DefaultAutoCheckpoint means that states are saved after each node by default.
const DefaultAutoCheckpoint = true

// How full a context window is when it is compacted in the background, and when it is exhausted, as
// fractions; percent = fraction × 100.
const (
	BackgroundCompactionThreshold = 0.45
	BufferExhaustionThreshold     = 0.6
)

// DefaultRetry returns the default retry policy of nodes that call a function: 3 attempts, with
// delays of 1 s and 2 s. graph.Retry{MaxAttempts: 1} disables retries.
func DefaultRetry() graph.Retry {
	return graph.Retry{MaxAttempts: 3, Backoff: time.Second, Multiplier: 2}
}

// AgentNodeRetry returns the default retry policy of agent nodes.
func AgentNodeRetry() graph.Retry { return DefaultRetry() }

// WaitNode returns a wait with a fixed prompt.
func WaitNode[S any](id, prompt string) graph.Node[S] {
	return graph.WaitConfig[S]{ID: id, Prompt: prompt}
}

// ToContextWindowUsage adds the percentage to the usage reported by a session; it is 0 if the
// window size is unknown.
func ToContextWindowUsage(u graph.SessionUsage) graph.ContextWindowUsage {
	w, _ := u.Window()
	return w
}

// CheckContextUsage asks a session for its context usage and reports whether it is at least
// threshold percent; 0 means 45.
//
// Errors: graph.ErrUnknownUsage if the session does not know its usage; any other error from the
// session.
func CheckContextUsage(ctx context.Context, s graph.Session, threshold float64) (
	usage graph.ContextWindowUsage, exceeded bool, err error) {
	u, err := s.ContextUsage(ctx)
	if err == nil {
		usage, err = u.Window()
	}
	if err != nil {
		return usage, false, err
	}
	if threshold == 0 {
		threshold = DefaultContextWindowThreshold
	}
	return usage, ContextThresholdExceeded(usage, threshold), nil
}

// ContextThresholdExceeded reports whether the usage of a context window is at least threshold
// percent.
func ContextThresholdExceeded(u graph.ContextWindowUsage, threshold float64) bool {
	return u.UsagePercentage >= threshold
}

// CompactContext summarizes a session if that suits its agent type, and reports whether it did.
func CompactContext(ctx context.Context, s graph.Session, agentType string) (bool, error) {
	if graph.DefaultCompactionAction(agentType) != graph.CompactSummarize {
		return false, nil
	}
	if err := s.Summarize(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// StateValidator checks states against schemas, as runs do with each attempt of a node. The zero
// value has no graph schema.
type StateValidator struct {
	// Schema is the schema of the graph, [graph.Config].OutputSchema; if nil, every state is valid.
	Schema *graph.Schema
}

// FromGraphConfig returns the validator for graphs compiled with c.
func FromGraphConfig(c graph.Config) StateValidator { return StateValidator{Schema: c.OutputSchema} }

// Validate checks a state, a struct or anything else that JSON can represent, against the graph's
// schema. The error is a *graph.SchemaValidationError, or another error if the state or the schema
// cannot be read.
func (v StateValidator) Validate(state any) error { return v.Schema.Check("Graph state", state) }

// ValidateNodeInput checks the input of a node against its InputSchema; if s is nil, everything is
// valid. It returns the errors of Validate.
func (v StateValidator) ValidateNodeInput(node string, s *graph.Schema, state any) error {
	return s.Check("Node \""+node+"\" input", state)
}

// ValidateNodeOutput checks the state as changed by a node against its OutputSchema; if s is nil,
// everything is valid. It returns the errors of Validate.
func (v StateValidator) ValidateNodeOutput(node string, s *graph.Schema, state any) error {
	return s.Check("Node \""+node+"\" output", state)
}
