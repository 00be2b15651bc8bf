package enginetest

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
)

// Host implements the functions of shapes: the state of a sub-flow starts with its input, under the
// name "given", and goes into a field for the sub-flow.
type Host struct{ engine.Host }

// Value returns the initial state of a sub-flow.
func (Host) Value(_ string, v engine.View) (engine.Value, error) { return object(v.Input), nil }

// Merge stores the final state of the sub-flow of that name in a field of that name. The state must
// still contain what it started with.
func (Host) Merge(name string, outputs map[string]engine.Value, v engine.View) (map[string]engine.Value, error) {
	begin := strings.TrimSuffix(string(object(v.Input)), "}")
	if len(outputs) != 1 || !strings.HasPrefix(string(outputs[name]), begin) {
		return nil, fmt.Errorf("the state of %s ends with %s, it began with %s", name, outputs[name], v.Input)
	}
	return map[string]engine.Value{name: outputs[name]}, nil
}

func object(given engine.Value) engine.Value {
	return engine.Value(`{"given":` + string(orNull(given)) + `}`)
}

func orNull(v engine.Value) engine.Value {
	if len(v) == 0 {
		return engine.Value("null")
	}
	return v
}
