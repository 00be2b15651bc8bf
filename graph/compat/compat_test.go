package compat_test

import (
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// TestStateValidator checks that the validator names what does not fit, and where (S2-61).
func TestStateValidator(t *testing.T) {
	t.Parallel()
	no := graph.SchemaJSON("false")
	v := compat.FromGraphConfig(graph.Config{OutputSchema: no})
	for want, err := range map[string]error{
		"Graph state validation failed: ":     v.Validate(1),
		`Node "a" input validation failed: `:  v.ValidateNodeInput("a", no, 1),
		`Node "a" output validation failed: `: v.ValidateNodeOutput("a", no, 1),
	} {
		if err == nil || len(err.Error()) <= len(want) || err.Error()[:len(want)] != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	none := compat.StateValidator{}
	if none.Validate(1) != nil || none.ValidateNodeInput("a", nil, 1) != nil ||
		none.ValidateNodeOutput("a", nil, 1) != nil {
		t.Error("no schema refuses a state")
	}
}
