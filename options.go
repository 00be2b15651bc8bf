package hocket

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// RunOptions say how a graph runs. The zero value is good.
type RunOptions[S any] struct {
	// ID is the run's id; "" makes one. With ResumeFrom it must be "" or the snapshot's.
	ID string
	// ResumeFrom goes on with a run from a snapshot: whatever was pending runs, nothing that had ended does (S2-63). The state that is given beside it,
	// MaxSteps and Model are not looked at: the run keeps its own. An engine that has no run of that id makes it from the snapshot's Journal; one that has
	// it goes on with its own, where that begins with the snapshot's and no node settled since. A snapshot without Journal goes on with the run that the
	// engine has. What counts is the Journal: the other fields of the snapshot may be changed, and change nothing.
	//
	// Errors: those of [Resume]; *[VersionError] for another version of the graph; [ErrConflict]; *[SnapshotError] for a Journal that was cut or changed.
	// Nothing ran and nothing was stored then.
	ResumeFrom *Snapshot[S]
	// Answer answers the question of the run that ResumeFrom goes on with; nil: it was interrupted, and waits for nobody.
	Answer *Answer
	// Outputs stand among the outputs of nodes from the start, by node id, each until the node of that id gives its own (S2-75); values are what JSON
	// can hold. With ResumeFrom they are not looked at.
	Outputs map[string]any
	// MaxSteps bounds the executions of nodes, over all resumes; nil is the graph's own bound, an explicit 0 lets none run (S2-32, D28).
	MaxSteps *int
	// Limits are the budget of the run, with all that it starts; each that is set wins over that of [graph.Config].Limits. With ResumeFrom they are for a run that met its budget, which
	// goes on where they are larger; otherwise a run keeps its own. What the operator's configuration ([WithConfig]) allows at most they cannot raise.
	Limits graph.Limits
	// WorkflowName names the run in telemetry; "" is `unnamed` (S2-72).
	WorkflowName string
	// Telemetry hears of the run as it goes; nil: nobody.
	Telemetry Tracker
	// Checkpointer keeps the run's states; nil: nobody does. The run itself needs none: it is kept by the engine's store.
	Checkpointer Checkpointer
	// AutoCheckpoint says whether the state is saved after each node, or only where a node asks for it by the signal `checkpoint`; nil: after each.
	AutoCheckpoint *bool
	// OnProgress is called as nodes start, fail and end and states are saved; nil: nobody is. One goroutine calls it, in order; the run
	// may be further by then. A panic in it is logged.
	OnProgress func(Progress[S])
	// Model is what nodes use whose own model is "" or `inherit`; "" is the engine's.
	Model string
}

// ProgressType says what happened.
type ProgressType string

// What OnProgress is told (S2-64).
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
