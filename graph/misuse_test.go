package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
)

// TestOptions_Duplicate checks that at most one options value is accepted, and that a second one is
// reported rather than ignored.
func TestOptions_Duplicate(t *testing.T) {
	t.Parallel()
	o := graph.NodeOptions{}
	for name, tc := range map[string]struct {
		node   graph.Node[state]
		config []graph.Config
		want   string
	}{
		"Do": {graph.Do("a", func(context.Context, *state) error { return nil }, o, o), nil,
			`misuse_test.go:39:1: error: Node "a" accepts at most one NodeOptions, not 2 (bad-node)`},
		"NewNode": {
			graph.NewNode("a", graph.TypeTool,
				func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
					return graph.Result[state]{}, nil
				}, o, o, o), nil,
			`misuse_test.go:39:1: error: Node "a" accepts at most one NodeOptions, not 3 (bad-node)`},
		"DecisionNode": {graph.DecisionNode[state]("a", nil, "a", o, o), nil,
			`misuse_test.go:39:1: error: Node "a" accepts at most one NodeOptions, not 2 (bad-node)`},
		"Compile": {nothing("a"), []graph.Config{{}, {}},
			"misuse_test.go:39:1: error: Compile accepts at most one Config, not 2 (bad-config)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := graph.New[state]("g").Then(tc.node).Compile(tc.config...)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestOutputAs checks that OutputAs decodes outputs into Go values.
func TestOutputAs(t *testing.T) {
	t.Parallel()
	outputs := map[string]json.RawMessage{"n": json.RawMessage("7"), "t": json.RawMessage(`"seven"`)}
	if n, err := graph.OutputAs[int](outputs, "n"); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if s, err := graph.OutputAs[string](outputs, "t"); s != "seven" || err != nil {
		t.Errorf("got %q, %v", s, err)
	}
	if n, err := graph.OutputAs[int](outputs, "missing"); n != 0 || !errors.Is(err, graph.ErrNoOutput) ||
		err.Error() != `node "missing": no output` {
		t.Errorf("got %d, %v", n, err)
	}
	n, err := graph.OutputAs[int](outputs, "t")
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); n != 0 || !ok || errors.Is(err, graph.ErrNoOutput) {
		t.Errorf("got %d, %v", n, err)
	}
}

// TestLimitsMisuse checks that Compile reports invalid limits with their Go names, and with a
// position that an editor can follow.
func TestLimitsMisuse(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]graph.Limits{
		"Config.Limits: MaxTokens must not be negative":  {Budget: graph.Budget{MaxTokens: -1}},
		"Config.Limits: MaxCalls must not be negative":   {Budget: graph.Budget{MaxCalls: -1}},
		"Config.Limits: MaxCostUSD must not be negative": {Budget: graph.Budget{MaxCostUSD: math.NaN()}},
		"Config.Limits: OnBudget":                        {OnBudget: "wait"},
		"Config.Limits: Uncounted":                       {Budget: graph.Budget{Uncounted: "maybe"}},
	} {
		_, err := graph.New[state]("t").Then(nothing("a")).Compile(graph.Config{Limits: l})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "misuse_test.go:") {
			t.Errorf("got %v, want %s", err, want)
		}
		node := strings.Replace(want, "Config.Limits", `Node "a": invalid budget`, 1)
		if l.OnBudget != "" {
			continue
		}
		_, err = graph.New[state]("t").Then(nothing("a", graph.NodeOptions{Budget: l.Budget})).Compile()
		if err == nil || !strings.Contains(err.Error(), node) ||
			!strings.HasPrefix(err.Error(), "misuse_test.go:") {
			t.Errorf("got %v, want %s", err, node)
		}
	}
}
