package temporaldriver

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
)

// SetSweep sets how often the driver compares runs with workflows.
func (d *Driver) SetSweep(every time.Duration) { d.sweeps = every }

// RunWorkflow is the workflow function, for replays of histories.
var RunWorkflow = runWorkflow

// Names exported for tests.
const (
	WorkflowName = workflowName
	Grace        = grace
)

// WorkflowID returns the workflow ID of a run.
var WorkflowID = workflowID

// Begins records that a tool call of a run begins, and reports whether it may be made.
func (d *Driver) Begins(ctx context.Context, run, call string) (may bool, err error) {
	by := &caller{d: d, run: run, info: &driver.Info{Run: run}}
	lost, err := by.noteBegin(ctx, &driver.RunResources{}, &engine.CallTool{ID: call})
	return lost == nil && err == nil, err
}
