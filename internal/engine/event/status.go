package event

// Status is the state of a run, with the names used in the run object.
type Status string

// The states of a run.
const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// IsKnown reports whether s is one of the statuses above.
func (s Status) IsKnown() bool { return s.IsActive() || s == StatusPaused || s.Ended() }

// IsActive reports whether a process must drive the run: without a living owner it is interrupted
// (D15).
func (s Status) IsActive() bool { return s == StatusPending || s == StatusRunning }

// Ended reports whether the run executes no further step unless it is reopened.
func (s Status) Ended() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// StatusOf returns the status that an event sets for its run, or "" if the event does not change
// it.
func StatusOf(d Data) Status {
	switch d.(type) {
	case *RunCreated:
		return StatusPending
	case *RunStarted, *RunResumed:
		return StatusRunning
	case *RunPaused:
		return StatusPaused
	case *RunCompleted:
		return StatusCompleted
	case *RunFailed:
		return StatusFailed
	case *RunCancelled:
		return StatusCancelled
	}
	return ""
}

// StepStatus is the state of a step. The zero StepStatus is Running.
type StepStatus uint8

// The states of a step.
const (
	Running StepStatus = iota // it has not ended
	Completed
	Failed
	Cancelled
	Skipped
)

// String returns the name of the status.
func (s StepStatus) String() string {
	return [...]string{"running", "completed", "failed", "cancelled", "skipped"}[s]
}

// StepEnd returns the status of a step that an event ends, or Running if the event ends none.
func StepEnd(d Data) StepStatus {
	switch d.(type) {
	case *StepCompleted:
		return Completed
	case *StepFailed:
		return Failed
	case *StepCancelled:
		return Cancelled
	case *StepSkipped:
		return Skipped
	}
	return Running
}
