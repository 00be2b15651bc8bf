package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// TestGuards checks that the guards inspect decoded JSON (S2-60).
func TestGuards(t *testing.T) {
	t.Parallel()
	guards := map[string]func(any) bool{"base": compat.IsBaseState, "result": compat.IsNodeResult,
		"report": compat.IsDebugReport}
	for name, tc := range map[string]struct {
		guard, json string
		want        bool
	}{
		"base": {"base",
			`{"executionId":"x","lastUpdated":"2026-01-01T00:00:00Z","outputs":{},"more":1}`, true},
		"base without id":      {"base", `{"lastUpdated":"x","outputs":{}}`, false},
		"base without time":    {"base", `{"executionId":"x","outputs":{}}`, false},
		"base without outputs": {"base", `{"executionId":"x","lastUpdated":"x"}`, false},
		"base, odd outputs":    {"base", `{"executionId":"x","lastUpdated":"x","outputs":[]}`, false},
		"base null":            {"base", `null`, false},
		"result, empty":        {"result", `{}`, true},
		"result, all": {"result", `{"stateUpdate":{"n":1},"goto":"a","signals":[{"type":"checkpoint"}]}`,
			true},
		"result, gotos":         {"result", `{"goto":["a","b"]}`, true},
		"result, odd update":    {"result", `{"stateUpdate":1}`, false},
		"result, odd goto":      {"result", `{"goto":[1]}`, false},
		"result, odd signals":   {"result", `{"signals":{}}`, false},
		"result, other signal":  {"result", `{"signals":[{"type":"other"}]}`, false},
		"result, signal a text": {"result", `{"signals":["checkpoint"]}`, false},
		"result, a text":        {"result", `"x"`, false},
		"report": {"report",
			`{"errorSummary":"x","relevantFiles":[],"suggestedFixes":["y"],"generatedAt":"z"}`, true},
		"report, null files": {"report",
			`{"errorSummary":"x","relevantFiles":null,"suggestedFixes":[],"generatedAt":"z"}`, false},
		"report, odd fixes": {"report",
			`{"errorSummary":"x","relevantFiles":[],"suggestedFixes":[1],"generatedAt":"z"}`, false},
		"report, no summary": {"report", `{"relevantFiles":[],"suggestedFixes":[],"generatedAt":"z"}`, false},
		"report, no time":    {"report", `{"errorSummary":"x","relevantFiles":[],"suggestedFixes":[]}`, false},
		"report, a list":     {"report", `[]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v any
			if err := json.Unmarshal([]byte(tc.json), &v); err != nil {
				t.Fatal(err)
			}
			if got := guards[tc.guard](v); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.json, got, tc.want)
			}
		})
	}
	base, err := json.Marshal(graph.BaseState{Outputs: map[string]json.RawMessage{}})
	var v any
	if err != nil || json.Unmarshal(base, &v) != nil || !compat.IsBaseState(v) {
		t.Errorf("BaseState as %s, %v", base, err)
	}
}

// TestStateValidator checks that the validator of a graph behaves like its runs (S2-61).
func TestStateValidator(t *testing.T) {
	t.Parallel()
	small := graph.SchemaJSON(`{"properties": {"n": {"maximum": 3}}}`)
	v, none := compat.FromGraphConfig(graph.Config{OutputSchema: small}), compat.FromGraphConfig(graph.Config{})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"fits":      {v.Validate(state{N: 3}), ""},
		"state":     {v.Validate(state{N: 4}), "Graph state validation failed: n: "},
		"no schema": {none.Validate(state{N: 4}), ""},
		"input": {none.ValidateNodeInput("a", small, state{N: 4}),
			`Node "a" input validation failed: n: `},
		"input, no schema": {v.ValidateNodeInput("a", nil, state{N: 4}), ""},
		"output": {none.ValidateNodeOutput("a", small, map[string]int{"n": 4}),
			`Node "a" output validation failed: n: `},
		"output, no schema":   {v.ValidateNodeOutput("a", nil, state{N: 4}), ""},
		"not JSON":            {v.Validate(func() {}), "encode state: "},
		"schema not JSON":     {none.ValidateNodeInput("a", graph.SchemaJSON("{"), state{}), "read schema: "},
		"schema made by hand": {none.ValidateNodeInput("a", &graph.Schema{}, state{}), "the schema is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fmt.Sprint(tc.err)
			if tc.want == "" && tc.err != nil || tc.want != "" && (tc.err == nil || len(got) < len(tc.want) ||
				got[:len(tc.want)] != tc.want) {
				t.Errorf("got %v, want %s", tc.err, tc.want)
			}
			var schema *graph.SchemaValidationError
			if is := errors.As(tc.err, &schema); is != (tc.want != "" && got[len(tc.want)-3:len(tc.want)] == "n: ") {
				t.Errorf("%v is a SchemaValidationError: %t", tc.err, is)
			}
		})
	}
}

// TestErrorTypes checks that errors.As finds the error types and that they unwrap, including in
// error handlers (S2-78).
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]bool{"error": false, "schema": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			var opts graph.NodeOptions
			opts.OnError = graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
				got = err
				return graph.ErrorAction[state]{Action: graph.ActionSkip}
			})
			if schema {
				opts.InputSchema = graph.SchemaJSON("false")
			}
			run(t, graph.New[state]("t").Start(failingNode("a", 1, opts)), state{}).want("a", "completed")
			var node *graph.NodeExecutionError
			var odd *graph.SchemaValidationError
			if !errors.As(got, &node) || node.NodeID != "a" || errors.Unwrap(got).Error() != node.Cause.Error() ||
				errors.As(got, &odd) != schema {
				t.Errorf("handler got %#v", got)
			}
		})
	}
}
