package compat

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// What graphs do that do not say otherwise: [graph.Config].MaxConcurrency, ContextWindowThreshold in percent, and MaxIterations of [graph.LoopConfig] (S2-20, S2-60).
const (
	DefaultMaxConcurrency         = 1
	DefaultMaxIterations          = 100
	DefaultContextWindowThreshold = 45
)

// DefaultAutoCheckpoint: states are saved after each node, unless a run says otherwise (S2-60).
const DefaultAutoCheckpoint = true

// How full a context window is when it is compacted beside the work, and when it is exhausted, as fractions; percent = fraction × 100 (S2-60).
const (
	BackgroundCompactionThreshold = 0.45
	BufferExhaustionThreshold     = 0.6
)

// DefaultRetry is how nodes that call a function are tried again where they do not say otherwise: 3 attempts, after 1 s and 2 s (S2-60). graph.Retry{MaxAttempts: 1} tries once.
func DefaultRetry() graph.Retry {
	return graph.Retry{MaxAttempts: 3, Backoff: time.Second, Multiplier: 2}
}

// AgentNodeRetry is how agent nodes are tried again where they do not say otherwise (S2-60).
func AgentNodeRetry() graph.Retry { return DefaultRetry() }

// WaitNode makes a wait with a fixed prompt (S2-76).
func WaitNode[S any](id, prompt string) graph.Node[S] {
	return graph.WaitConfig[S]{ID: id, Prompt: prompt}
}

// ToContextWindowUsage adds the percentage to what a session tells; 0 where the size of the window is not known.
func ToContextWindowUsage(u graph.SessionUsage) graph.ContextWindowUsage {
	w, _ := u.Window()
	return w
}

// CheckContextUsage asks a session how full its window is and whether that is threshold percent or more; 0 stands for 45.
//
// Errors: graph.ErrUnknownUsage where the session does not know; what else kept it from telling.
func CheckContextUsage(ctx context.Context, s graph.Session, threshold float64) (usage graph.ContextWindowUsage, exceeded bool, err error) {
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

// ContextThresholdExceeded tells whether a window is as full as threshold percent, or fuller.
func ContextThresholdExceeded(u graph.ContextWindowUsage, threshold float64) bool {
	return u.UsagePercentage >= threshold
}

// CompactContext summarizes a session where that suits its type of agent, and tells whether it did.
func CompactContext(ctx context.Context, s graph.Session, agentType string) (bool, error) {
	if graph.DefaultCompactionAction(agentType) != graph.CompactSummarize {
		return false, nil
	}
	if err := s.Summarize(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// StateValidator checks states against schemas, as runs do with each attempt of a node (S2-61). The zero value has no schema of the graph.
type StateValidator struct {
	// Schema is the graph's, [graph.Config].OutputSchema; nil: every state fits.
	Schema *graph.Schema
}

// FromGraphConfig makes the validator of graphs that are compiled with the Config.
func FromGraphConfig(c graph.Config) StateValidator { return StateValidator{Schema: c.OutputSchema} }

// Validate checks a state, a struct or anything else that JSON can hold, against the graph's schema. The error is a *graph.SchemaValidationError; another one where the state or the schema cannot be
// read.
func (v StateValidator) Validate(state any) error { return v.Schema.Check("Graph state", state) }

// ValidateNodeInput checks what a node is given against its InputSchema; nil: everything fits. Errors are those of Validate.
func (v StateValidator) ValidateNodeInput(node string, s *graph.Schema, state any) error {
	return s.Check("Node \""+node+"\" input", state)
}

// ValidateNodeOutput checks the state as a node changed it against its OutputSchema; nil: everything fits. Errors are those of Validate.
func (v StateValidator) ValidateNodeOutput(node string, s *graph.Schema, state any) error {
	return s.Check("Node \""+node+"\" output", state)
}
