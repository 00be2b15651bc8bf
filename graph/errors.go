package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// Codes of the failures that this package makes; all other errors of functions have the engine's code `func`.
const (
	codeSchema  = "schema_validation"
	codeNode    = "node_execution"
	codeTimeout = "timeout"
)

// SchemaValidationError says that a state does not fit a schema (S2-45). It is tried again like any error.
type SchemaValidationError struct{ Message string }

func (e *SchemaValidationError) Error() string { return e.Message }

// NodeExecutionError wraps a failure of a node. Its text is that of the cause.
type NodeExecutionError struct {
	NodeID string
	Cause  error
}

func (e *NodeExecutionError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *NodeExecutionError) Unwrap() error { return e.Cause }

// TimeoutError says that a tool took too long (S2-46).
type TimeoutError struct {
	Tool  string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Tool %q timed out after %dms", e.Tool, e.After.Milliseconds())
}

// ErrorFeedback tells an attempt why the one before it failed (S2-58).
type ErrorFeedback struct {
	FailedNodeID string `json:"failedNodeId"`
	ErrorMessage string `json:"errorMessage"`
	// ErrorType is a stable word: `schema_validation`, `node_execution`, `timeout`, `func` for all other errors of functions, or the engine's code.
	ErrorType string `json:"errorType"`
	// Attempt is the one that failed, from 1.
	Attempt     int `json:"attempt"`
	MaxAttempts int `json:"maxAttempts"`
	// PreviousOutput is nil where the failed attempt gave no output; failures of functions give none.
	PreviousOutput json.RawMessage `json:"previousOutput,omitempty"`
}

// failureOf makes the record of an error.
func failureOf(err error) *program.Failure {
	f := &program.Failure{Message: err.Error()}
	var schema *SchemaValidationError
	var node *NodeExecutionError
	var timeout *TimeoutError
	switch {
	case errors.As(err, &schema):
		f.Code = codeSchema
	case errors.As(err, &timeout):
		f.Code = codeTimeout
	case errors.As(err, &node):
		f.Code, f.Node = codeNode, node.NodeID
	}
	return f
}

// errorOf makes an error of a record, as error handlers see it: errors.As finds the types of this package, all else is a *NodeExecutionError.
func errorOf(f program.Failure) error {
	if f.Code == codeSchema {
		return &SchemaValidationError{Message: f.Message}
	}
	return &NodeExecutionError{NodeID: f.Node, Cause: errors.New(f.Message)}
}
