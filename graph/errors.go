package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// Codes of the failures that this package creates; all other errors of functions have the engine's
// code `func`.
const (
	codeSchema  = "schema_validation"
	codeNode    = "node_execution"
	codeTimeout = "timeout"
	// codeCancelled, codeRoute and codeUnknown are also codes of the engine.
	codeCancelled = "cancelled"
	codeRoute     = "no_route"
	codeUnknown   = "unknown_outcome"
)

// SchemaValidationError is returned when a state or an input does not match a schema. It is retried
// like any error.
type SchemaValidationError struct {
	Message string
	// Problems lists everything that does not match, at most 100 problems, sorted by path.
	Problems []SchemaProblem
}

// SchemaProblem is one part of a value that does not match a schema.
type SchemaProblem struct {
	// Path is the JSON pointer of the part, such as `/items/0/name`; "" for the whole value.
	Path string `json:"path"`
	// Message says what is wrong there: "must be a boolean, not a string".
	Message string `json:"message"`
}

func (e *SchemaValidationError) Error() string { return e.Message }

// NodeExecutionError wraps a failure of a node. Its message is that of the cause.
type NodeExecutionError struct {
	NodeID string
	Cause  error
}

func (e *NodeExecutionError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *NodeExecutionError) Unwrap() error { return e.Cause }

// TimeoutError is returned when a tool took too long.
type TimeoutError struct {
	Tool  string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Tool %q timed out after %dms", e.Tool, e.After.Milliseconds())
}

// ErrorFeedback tells an attempt why the previous one failed.
type ErrorFeedback struct {
	FailedNodeID string `json:"failedNodeId"`
	ErrorMessage string `json:"errorMessage"`
	// ErrorType is a stable word: `schema_validation`, `node_execution`, `timeout`,
	// `unknown_outcome`, `func` for all other errors of functions, or the engine's code.
	ErrorType string `json:"errorType"`
	// Attempt is the number of the failed attempt, counting from 1.
	Attempt     int `json:"attempt"`
	MaxAttempts int `json:"maxAttempts"`
	// PreviousOutput is the output of the failed attempt: the Output returned with the error, or
	// the value that a schema rejected (if there was no Output, the fields of the state that would
	// have been written). Nil if there was none.
	PreviousOutput json.RawMessage `json:"previousOutput,omitempty"`
}

// panicError is a panic of a function. Its stack is kept for the debug report and is not part of
// any message.
type panicError struct{ text, stack string }

func (e *panicError) Error() string { return e.text }

// maxStack is the maximum size of the kept stack of a panic, in bytes.
const maxStack = 4 << 10

// panicked returns an error for a panic, called in the deferred function that recovered it.
func panicked(format string, args ...any) error {
	stack := debug.Stack()
	if i := bytes.Index(stack, []byte("\npanic(")); i >= 0 { // the frames above are the recovery
		stack = stack[i+1:]
	}
	return &panicError{text: fmt.Sprintf(format, args...),
		stack: strings.ToValidUTF8(string(stack[:min(len(stack), maxStack)]), "")}
}

// routeError is returned when a goto would leave a branch. The engine reports the same for gotos
// out of a block.
type routeError struct{ from, to string }

func (e *routeError) Error() string {
	return fmt.Sprintf("goto from %q to %q crosses the border of a branch", e.from, e.to)
}

// failureOf returns the record of an error.
func failureOf(err error) *program.Failure {
	f := &program.Failure{Message: err.Error(), Err: err}
	if broken, ok := errors.AsType[*panicError](err); ok {
		f.Stack = broken.stack
	}
	var schema *SchemaValidationError
	var node *NodeExecutionError
	var timeout *TimeoutError
	var route *routeError
	var coded program.Coded
	switch {
	case errors.As(err, &coded):
		f.Code = coded.FailureCode()
	case errors.As(err, &schema):
		f.Code = codeSchema
		if len(schema.Problems) > 0 {
			f.Problems, _ = encodeValue(schema.Problems) // strings always encode
		}
	case errors.Is(err, ErrUnknownOutcome):
		f.Code = codeUnknown
	case errors.As(err, &timeout):
		f.Code = codeTimeout
	case errors.As(err, &route):
		f.Code = codeRoute
	case errors.As(err, &node):
		f.Code, f.Node = codeNode, node.NodeID
	}
	return f
}

// errorOf returns the error for a failure, as error handlers see it: a *NodeExecutionError around
// the error that the function returned. If that error was not kept, as for a failure inside a
// subgraph, errors.As still finds a *SchemaValidationError, and errors.Is matches
// ErrUnknownOutcome, if it was one.
func errorOf(f program.Failure) error {
	cause := f.Err
	if cause != nil {
		return &NodeExecutionError{NodeID: f.Node, Cause: cause}
	}
	cause = errors.New(f.Message)
	switch f.Code {
	case codeSchema:
		cause = recordedSchemaError(f)
	case codeUnknown:
		cause = &unknownOutcome{f.Message}
	}
	return &NodeExecutionError{NodeID: f.Node, Cause: cause}
}

// recordedSchemaError returns the error of a recorded failure.
func recordedSchemaError(f program.Failure) *SchemaValidationError {
	e := &SchemaValidationError{Message: f.Message}
	if len(f.Problems) > 0 && json.Unmarshal(f.Problems, &e.Problems) != nil {
		e.Problems = nil // the journal comes from elsewhere
	}
	return e
}

// unknownOutcome is an ErrUnknownOutcome with its recorded message.
type unknownOutcome struct{ text string }

func (e *unknownOutcome) Error() string { return e.text }
func (e *unknownOutcome) Unwrap() error { return ErrUnknownOutcome }
