package graph

import "time"

// ExecutionError is one failed attempt of a node, as it was recorded (S2-78).
type ExecutionError struct {
	NodeID    string    `json:"nodeId"`
	Message   string    `json:"error"`
	Timestamp time.Time `json:"timestamp"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
}

// Error gives the message.
func (e ExecutionError) Error() string { return e.Message }

// DebugReport tells why a run failed (S2-59).
type DebugReport struct {
	ErrorSummary string `json:"errorSummary"`
	StackTrace   string `json:"stackTrace,omitempty"`
	// RelevantFiles and SuggestedFixes are never null.
	RelevantFiles  []string  `json:"relevantFiles"`
	SuggestedFixes []string  `json:"suggestedFixes"`
	GeneratedAt    time.Time `json:"generatedAt"`
	NodeID         string    `json:"nodeId,omitempty"`
	ExecutionID    string    `json:"executionId,omitempty"`
}
