package temporal

import "time"

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
