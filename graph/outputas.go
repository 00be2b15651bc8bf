package graph

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoOutput is returned when a node has no output, or is not visible to the caller.
var ErrNoOutput = errors.New("no output")

// OutputAs decodes a node's output as a T, from the outputs in [Context.Outputs], or in snapshots
// and runs of package hocket:
//
//	n, err := graph.OutputAs[int](c.Outputs(), "count")
//
// It returns [ErrNoOutput], or the error of encoding/json if the output does not fit T. The value
// is then the zero value of T.
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
