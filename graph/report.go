package graph

import "time"

// ExecutionError is one recorded failed attempt of a node.
type ExecutionError struct {
	NodeID    string    `json:"nodeId"`
	Message   string    `json:"error"`
	Timestamp time.Time `json:"timestamp"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
}

// Error returns the message.
func (e ExecutionError) Error() string { return e.Message }

// DebugReport describes why a run failed.
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
