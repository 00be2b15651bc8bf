package graph_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/workflow"
)

// lowered matches words of the compiled form of a graph, which no program has written.
var lowered = regexp.MustCompile(`\b(wait|retry|map|fork|join|sleep|set|func|subflow|limits|rules|budget)\.[a-z]|of ` +
	`kind|\bports?\b|\bforks?\b|\bflows?\b|overFunc|foreign-spec|missing-spec`)

// TestLoweredMisuse checks that Compile reports errors with Go names and a position that an editor
// can follow, even if only the compiled form of the graph reveals them.
func TestLoweredMisuse(t *testing.T) {
	t.Parallel()
	const tooLong = 11 * 365 * 24 * time.Hour
	late := graph.Await("a", "s", paid)
	late.Deadline = -3 * time.Second
	for want, node := range map[string]graph.Node[state]{
		`Node "a": Deadline is -1s; it must be between 0 and ten years`: graph.WaitConfig[state]{ID: "a",
			Deadline: -time.Second},
		`Node "a": RemindAfter is -1s; it must be between 0 and ten years`: graph.WaitConfig[state]{ID: "a",
			RemindAfter: -time.Second},
		`Node "a": Deadline is -2s; it must be between 0 and ten years`: graph.AskUserConfig[state]{ID: "a",
			Deadline: -2 * time.Second},
		`Node "a": RemindAfter is -2s; it must be between 0 and ten years`: graph.AskUserConfig[state]{ID: "a",
			RemindAfter: -2 * time.Second},
		`Node "a": Deadline is -3s; it must be between 0 and ten years`: late,
		`Node "a": Deadline is 96360h0m0s; it must be between 0 and ten years`: graph.WaitConfig[state]{ID: "a",
			Deadline: tooLong},
		`Node "a": For is 96360h0m0s; it must be between 0 and ten years`: graph.SleepConfig[state]{ID: "a",
			For: tooLong},
		`Node "a": For is -1s; it must be between 0 and ten years`: graph.SleepConfig[state]{ID: "a",
			For: -time.Second},
		`Sleep node "a" takes For or Until, not both`: graph.SleepConfig[state]{ID: "a",
			For: -1, Until: time.Unix(1, 0)},
		`Node "a": Timeout is 96360h0m0s; it must be between 0 and ten years`: nothing("a",
			graph.NodeOptions{Timeout: tooLong}),
		`Node "a": the backoff is negative`: nothing("a",
			graph.NodeOptions{Retry: graph.Retry{Backoff: -time.Second}}),
		`Node "a" has a budget, but calls no model and no tool`: graph.WaitConfig[state]{ID: "a",
			Options: graph.NodeOptions{Budget: graph.Budget{MaxCalls: 1}}},
		`Parallel node "a" waits for 3 of 1 branches`: graph.ParallelConfig[state]{ID: "a",
			Branches: []string{"b"}, Strategy: graph.StrategyQuorum, Quorum: 3},
		`Parallel node "a": branch "b" is not a node of the graph`: graph.ParallelConfig[state]{ID: "a",
			Branches: []string{"b"}},
		`Parallel node "a": a branch cannot be called "error"`: graph.ParallelConfig[state]{ID: "a",
			Branches: []string{"error"}},
		`Map node "a": MaxConcurrency is -1; it must be at least 1`: graph.Map("a", words, marks("b")).
			AtOnce(-1),
		`Node "b" not found in graph; it is a target of "a"`: graph.DecisionNode("a",
			[]graph.Route[state]{{When: func(graph.View[state]) bool { return true }, Target: "b"}}, "b"),
	} {
		_, err := graph.New[state]("t").Then(node).Compile()
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "reserved_names_test.go:") {
			t.Errorf("got %v, want %s", err, want)
			continue
		}
		if word := lowered.FindString(err.Error()); word != "" {
			t.Errorf("%v has the word %q of what the graph is compiled to", err, word)
		}
	}
	// The findings of the workflow compiler about a lowered graph are never shown: an accepted
	// graph has none.
	g := compiled(t, graph.New[state]("t").Then(graph.WaitConfig[state]{ID: "a", Deadline: time.Hour,
		RemindAfter: time.Minute}).Sleep("b", time.Hour))
	if l := workflow.Validate(g.Workflow()); len(l) > 0 {
		t.Error(l)
	}
}
