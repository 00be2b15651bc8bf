package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// streamed returns the lines of a graph's events in the given modes.
func streamed(t *testing.T, g *graph.Compiled[sheet], modes ...compat.Mode) []map[string]any {
	t.Helper()
	var out []map[string]any
	for e, err := range compat.StreamModes(t.Context(), opened(t, hocket.Config{}), g, sheet{N: 1}, modes) {
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, decoded(t, raw).(map[string]any))
	}
	return out
}

// sender returns a node that changes the state and sends an event.
func sender() gNode {
	return does("a", func(_ context.Context, c *gContext) (gResult, error) {
		c.Emit("progress", map[string]any{"percent": 50})
		c.State.N++
		return gResult{Update: &c.State}, nil
	})
}

var graphRun = []rule{
	{name: "S2-30 a queue, first in first out, one node at a time; a step for each node", test: func(t *testing.T) {
		p := play(t, newGraph().Start(leads("s", "a", "b", "c")).Node(idle("a"), idle("a2")).Node(idle("b")).Node(
			idle("c")), sheet{})
		p.went("queue", "s, a, b, c, a2", "completed")
		var got []string
		for _, e := range p.told {
			got = append(got, e.NodeID+" "+strings.TrimPrefix(string(e.Type), "node_"))
		}
		same(t, "one at a time", got, []string{
			"s started", "s completed", "a started", "a completed", "b started", "b completed", "c started",
			"c completed", "a2 started", "a2 completed",
		})
		var statuses []hocket.Status
		for _, s := range p.steps {
			statuses = append(statuses, s.Status)
		}
		same(t, "statuses", statuses, []hocket.Status{"running", "running", "running", "running", "completed"})
	}},
	{name: "S2-31 a node behind an end runs, and the run completes", test: func(t *testing.T) {
		play(t, newGraph().Start(idle("s")).End().Then(idle("z")), sheet{}).went("end", "s, z", "completed")
	}},
	{name: "S2-32 most steps", test: func(t *testing.T) {
		chain := func() *gBuilder { return newGraph().Start(idle("a")).Then(idle("b")) }
		play(t, chain(), sheet{}, graph.Config{MaxSteps: 2}).went("the last one allowed", "a, b", "completed")
		p := play(t, chain().Then(idle("c")), sheet{}, graph.Config{MaxSteps: 2})
		p.went("one too many", "a, b", "Exceeded maximum steps (2)")
		same(t, "node of the error", p.steps[len(p.steps)-1].NodeID, "a")
		play(t, chain(), sheet{}, graph.Config{MaxSteps: graph.Zero}).went("none", "", "Exceeded maximum steps (0)")
		p = play(t, newGraph().Start(leads("a", "a")), sheet{})
		same(t, "by default", p.end(), "Exceeded maximum steps (1000)")
		same(t, "executions by default", p.NodeExecutionCount, 1000)
		p = playOn(t, opened(t, hocket.Config{}), compiled(t, chain(), graph.Config{MaxSteps: 9}), sheet{},
			gRun{MaxSteps: 1})
		p.went("option of the run", "a", "Exceeded maximum steps (1)")
	}},
	{name: "S2-33 no skip of repeated nodes: a goto to itself runs as often as the bound allows",
		test: func(t *testing.T) {
			play(t, newGraph().Start(leads("a", "a")), sheet{}, graph.Config{MaxSteps: 5}).went("self-loop",
				"a, a, a, a, a", "Exceeded maximum steps (5)")
		}},
	{name: "S2-34 goto overrides edges, targets are unique, a join runs once for each path", test: func(t *testing.T) {
		play(t, newGraph().Start(leads("s", "b")).Then(idle("a")).Then(idle("b")), sheet{}).went("one", "s, b",
			"completed")
		play(t, newGraph().Start(leads("s", "b", "a", "b")).Node(idle("a")).Node(idle("b")), sheet{}).went("list",
			"s, b, a", "completed")
		play(t, newGraph().Start(leads("s", "a", "b")).Node(leads("a", "j")).Node(idle("b"), idle("j")), sheet{}).went(
			"diamond", "s, a, b, j, j", "completed")
		play(t, newGraph().Start(idle("s")).If(never).Then(idle("t")).Else().Then(idle("e")).EndIf(), sheet{}).went(
			"conditional edges", "s, decision_1, e, merge_2", "completed")
		b := newGraph().Start(idle("s")).Parallel(gParallel{Branches: []string{"a", "b"}}).Then(idle("j")).Node(
			idle("a")).Node(idle("b"))
		same(t, "behind a block", strings.Count(play(t, b, sheet{}).began(), "j"), 1)
	}},
	{name: "S2-35 an unknown node fails the run, or is recorded where others follow", test: func(t *testing.T) {
		p := play(t, newGraph().Start(leads("a", "nope")), sheet{})
		p.went("only one", "a", `Node "nope" not found in graph`)
		same(t, "status", p.Status, hocket.StatusFailed)
		same(t, "recorded", p.attempts(), []string{`a#1 Node "nope" not found in graph`})
		p = play(t, newGraph().Start(graph.NewNode("a", graph.TypeTool,
			func(_ context.Context, c *gContext) (gResult, error) {
				c.State.N = 7
				return gResult{Update: &c.State, Goto: []string{"nope", "b", "no", "nope"}}, nil
			})).Then(idle("z")).Node(idle("b")), sheet{})
		p.went("one of several", "a, b", "completed")
		same(t, "update", p.State.N, 7)
		same(t, "recorded", p.attempts(), []string{`nope#1 Node "nope" not found in graph`,
			`no#1 Node "no" not found in graph`})
	}},
	{name: "S2-36 aborting: the node at work completes, and an aborted run executes nothing", test: func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := compiled(t, newGraph().Start(changes("a", func(s *sheet) { s.N++; cancel() })).Then(recordsID("z")))
		e := opened(t, hocket.Config{})
		r, err := hocket.Run(ctx, e, g, sheet{})
		same(t, "error", err, nil)
		same(t, "status", r.Status, hocket.StatusCancelled)
		same(t, "cause", errors.Is(r.Err, context.Canceled), true)
		same(t, "state", r.State, sheet{N: 1})
		same(t, "visited", r.Snapshot.VisitedNodes, []string{"a"})
		r, err = hocket.Run(ctx, e, g, sheet{N: 7})
		same(t, "error of the second", err, nil)
		same(t, "status of the second", r.Status, hocket.StatusCancelled)
		same(t, "state of the second", r.State, sheet{N: 7})
		same(t, "visited by the second", r.Snapshot.VisitedNodes, []string{})
	}},
	{name: "S2-37 merging: shallow, outputs beside each other, the time of the last update", test: func(t *testing.T) {
		begin := time.Now()
		var seen gContext
		b := newGraph().Start(changes("a", func(s *sheet) { s.Seen = map[string]int{"a": 1} })).Then(outputs("g", 1)).
			Then(breaks("b", 1)).Then(outputs("h", "2")).Then(capturesContext("n", &seen))
		p := play(t, b, sheet{N: 3, Text: "kept", Seen: map[string]int{"gone": 1}})
		same(t, "state", p.State, sheet{N: 3, Text: "kept", Seen: map[string]int{"a": 1}})
		same(t, "outputs", []string{p.output("g"), p.output("h")}, []string{"1", `"2"`})
		same(t, "last update", seen.LastUpdated.Sub(begin), time.Second)
		same(t, "id", seen.ExecutionID, "r")
		type forged struct {
			ID string `json:"executionId"`
		}
		_, err := graph.New[forged]("t").Start(graph.Do("a", func(context.Context, *forged) error { return nil })).
			Compile()
		same(t, "a state with an id of its own compiles", err == nil, false)
	}},
	{name: "S2-38 modes: values by default, several in the given order for each step, updates only for steps that " +
		"changed something, unknown models", test: func(t *testing.T) {
		g := compiled(t, newGraph().Start(sender()).Then(idle("z")))
		shown := func(modes ...compat.Mode) (out []string) {
			for _, e := range streamed(t, g, modes...) {
				out = append(out, e["mode"].(string)+" "+e["nodeId"].(string))
			}
			return out
		}
		same(t, "default", shown(), []string{"values a", "values z"})
		same(t, "updates", shown("updates"), []string{"updates a"})
		same(t, "events", shown("events"), []string{"events a"})
		same(t, "several", shown("debug", "updates", "events", "values"),
			[]string{"debug a", "updates a", "events a", "values a", "debug z", "values z"})
		same(t, "model", streamed(t, g, "debug")[0]["trace"].(map[string]any)["modelUsed"], any("unknown"))
	}},
	{name: "S2-62 the time limit of a run, and how many nodes run together", test: func(t *testing.T) {
		cancelled := make(chan string, 2)
		p := play(t, newGraph().Start(blocksUntilCancelled("a", cancelled)), sheet{},
			graph.Config{Timeout: 1500 * time.Millisecond})
		p.went("limit", "a", "Graph execution timed out after 1500ms")
		same(t, "cancelled", <-cancelled, "a")
		p = play(t, newGraph().Start(breaks("a", 2)).Wait("?").Then(breaks("z", 2)), sheet{},
			graph.Config{Timeout: 7 * time.Second})
		same(t, "waits", p.end(), "paused")
		<-time.After(time.Hour)
		p.answers("on")
		same(t, "pauses do not count", p.end(), "completed")
		for want, most := range map[int]int{1: 1, 2: 2, 3: 0} {
			crowd := &together{}
			b := newGraph().Parallel(gParallel{Branches: []string{"a", "b", "c"}}).Node(crowd.node("a")).Node(
				crowd.node("b")).Node(crowd.node("c"))
			play(t, b, sheet{}, graph.Config{MaxConcurrency: most}).went("block", "parallel_1, a, b, c", "completed")
			same(t, "branches at once", crowd.most, want)
		}
		for want, most := range map[int]int{1: 0, 2: 2} {
			crowd := &together{}
			b := newGraph().Start(leads("s", "a", "b", "c")).Node(crowd.node("a")).Node(crowd.node("b")).Node(
				crowd.node("c"))
			play(t, b, sheet{}, graph.Config{MaxConcurrency: most}).went("queue", "s, a, b, c", "completed")
			same(t, "nodes of the queue at once", crowd.most, want)
		}
		same(t, "none at all", misused(t, newGraph().Start(idle("a")), graph.Config{MaxConcurrency: graph.Zero}),
			[]string{"Config.MaxConcurrency is 0; it must be at least 1"})
	}},
	{name: "S2-73 the shapes of streams, steps and results", test: func(t *testing.T) {
		g := compiled(t, newGraph().Start(sender()), graph.Config{DefaultModel: "p/m"})
		list := streamed(t, g, "values", "updates", "events", "debug")
		event := list[2]["event"].(map[string]any)
		_, err := time.Parse(time.RFC3339, event["timestamp"].(string))
		same(t, "time of the event", err, nil)
		delete(event, "timestamp")
		trace := list[3]["trace"].(map[string]any)
		delete(trace, "executionTime")
		state := map[string]any{"n": 2.0}
		same(t, "events", list, []map[string]any{
			{"mode": "values", "nodeId": "a", "state": state},
			{"mode": "updates", "nodeId": "a", "update": state},
			{"mode": "events", "nodeId": "a",
				"event": map[string]any{"type": "progress", "data": map[string]any{"percent": 50.0}}},
			{"mode": "debug", "nodeId": "a", "trace": map[string]any{"nodeId": "a", "retryCount": 0.0,
				"modelUsed": "p/m", "stateSnapshot": state}},
		})
		p := play(t, newGraph().Start(breaks("a", 1, gOptions{Model: "p/own"})), sheet{})
		s := p.steps[0]
		same(t, "retries", s.RetryCount, 1)
		same(t, "time", s.ExecutionTime, time.Second)
		same(t, "status", s.Status, hocket.StatusCompleted)
		source := func(yield func(hocket.Step[string], error) bool) {
			yield(hocket.Step[string]{NodeID: "n", State: "any"}, nil)
		}
		for e, err := range compat.RouteStream(source, compat.ModeValues) {
			same(t, "error of another source", err, nil)
			same(t, "state of another source", e.State, "any")
		}
		r, err := hocket.Run(t.Context(), opened(t, hocket.Config{}), g, sheet{N: 1})
		same(t, "error", err, nil)
		same(t, "result", []any{r.State.N, r.Status, r.Snapshot.State.N}, []any{2, hocket.StatusCompleted, 2})
	}},
}

// together counts the nodes that run at the same time.
type together struct {
	mu         sync.Mutex
	busy, most int
}

// node returns a node that works for a second of fake time.
func (g *together) node(id string) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) {
		g.change(1)
		<-time.After(time.Second)
		g.change(-1)
		return gResult{}, nil
	})
}

func (g *together) change(by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy += by
	g.most = max(g.most, g.busy)
}

func TestGraphRun(t *testing.T) { check(t, graphRun) }

func TestGraphRunCovered(t *testing.T) {
	covered(t, graphRun, "S2-30", "S2-31", "S2-32", "S2-33", "S2-34", "S2-35", "S2-36", "S2-37", "S2-38", "S2-62",
		"S2-73")
}
