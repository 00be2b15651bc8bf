package hocket

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// unnamed is what a run without WorkflowName is called in telemetry (S2-72).
const unnamed = "unnamed"

// Tracker hears of runs as they go (S2-72); package oteltrack has one that makes OpenTelemetry spans. Calls for one run come one after another, those
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
