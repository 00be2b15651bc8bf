package graph

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoOutput says that a node gave no output, or that it cannot be seen from where it was asked for.
var ErrNoOutput = errors.New("no output")

// OutputAs reads a node's output as a T, from the outputs that [Context.Outputs], snapshots and runs of package hocket have:
//
//	n, err := graph.OutputAs[int](c.Outputs(), "count")
//
// Errors: [ErrNoOutput]; that of encoding/json where the output does not fit T. The value is T's zero value then.
func OutputAs[T any](outputs map[string]json.RawMessage, node string) (T, error) {
	var v, zero T
	raw, ok := outputs[node]
	if !ok {
		return zero, fmt.Errorf("node %q: %w", node, ErrNoOutput)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return zero, fmt.Errorf("read output of node %q: %w", node, err)
	}
	return v, nil
}
