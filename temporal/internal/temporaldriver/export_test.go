package temporaldriver

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
)

// SetSweep makes the driver compare runs with workflows so often.
func (d *Driver) SetSweep(every time.Duration) { d.sweeps = every }

// RunWorkflow is the workflow, and WorkflowName its name, for replays of histories.
var RunWorkflow = runWorkflow

// Names for tests.
const (
	WorkflowName = workflowName
	Grace        = grace
)

// WorkflowID names the workflow of a run.
var WorkflowID = workflowID

// Begins notes that a tool call of a run begins, and tells whether it may be made.
func (d *Driver) Begins(ctx context.Context, run, call string) (may bool, err error) {
	by := &caller{d: d, run: run, info: &driver.Info{Run: run}}
	lost, err := by.begins(ctx, &driver.RunResources{}, &engine.CallTool{ID: call})
	return lost == nil && err == nil, err
}
