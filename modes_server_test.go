package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/project"
)

type tallied struct {
	N    int    `json:"n"`
	Last string `json:"last,omitempty"`
}

// TestModesWithoutTheProgram checks that a server, which has the journal of a run of a Go graph but
// not the program, shows the same lines in the same order as the program itself (S2-38, S2-73). A
// server's states and changes also include what the graph keeps in addition to the fields of S
// (S2-53).
func TestModesWithoutTheProgram(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	opts := graph.NodeOptions{Retry: graph.Retry{Backoff: graph.Zero}}
	count := graph.NewNode("count", graph.TypeTool,
		func(_ context.Context, c *graph.Context[tallied]) (graph.Result[tallied], error) {
			c.Emit("progress", map[string]any{"attempt": c.Attempt})
			if c.State.N == 1 && c.Attempt == 1 {
				return graph.Result[tallied]{}, errors.New("once more")
			}
			c.State.N++
			return graph.Result[tallied]{}, nil
		}, opts)
	look := graph.Do("look", func(context.Context, *tallied) error { return nil })
	last := graph.Do("last", func(_ context.Context, s *tallied) error {
		s.Last = "done"
		return nil
	})
	g, err := graph.New[tallied]("t").Loop(graph.LoopConfig[tallied]{Until: func(v graph.View[tallied]) bool {
		return v.State.N == 3
	}}, count).Then(look).Then(last).End().Compile()
	if err != nil {
		t.Fatal(err)
	}
	modes := []compat.Mode{compat.ModeValues, compat.ModeUpdates, compat.ModeEvents, compat.ModeDebug}
	const run = "modes"
	var want, got []string
	for ev, err := range compat.StreamModes(t.Context(), e, g, tallied{}, modes, hocket.RunOptions{ID: run}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, withoutBase(t, ev))
	}
	events, err := e.JournalOf(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	f, err := project.NewModeFolder(run, g.Workflow(), nil, project.Modes()...)
	if err != nil {
		t.Fatal(err)
	}
	outputs := 0
	for _, ev := range events {
		shown, err := f.Add(ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range shown {
			if one.Mode == project.ModeUpdates && one.Update["n"] == nil && one.Update["last"] == nil {
				outputs++ // output of a node that changed no field of S
				continue
			}
			if one.Mode == project.ModeValues && (string(one.State["executionId"]) != `"modes"` ||
				one.State["lastUpdated"] == nil || one.State["outputs"] == nil) {
				t.Errorf("state without what every state has: %s", one.State)
			}
			got = append(got, withoutBase(t, one))
		}
	}
	if diff := cmp.Diff(got, want); diff != "" || len(want) < 20 {
		t.Errorf("%d lines, %d outputs alone (-journal +program):\n%s", len(want), outputs, diff)
	}
	if _, err := project.NewModeFolder(run, g.Workflow(), nil, "value"); err == nil {
		t.Error("a mode that is none is taken")
	}
	if _, err := f.Add(engine.Event{Seq: 999, Data: &engine.RunStarted{}}); err == nil {
		t.Error("an event that does not go on is taken")
	}
}

// withoutBase returns a line as JSON with only the fields of S.
func withoutBase(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "output") // program only: a server has it in the state's outputs
	trace, _ := m["trace"].(map[string]any)
	for _, part := range []any{m["state"], m["update"], trace["stateSnapshot"]} {
		if fields, ok := part.(map[string]any); ok {
			for _, name := range []string{"executionId", "lastUpdated", "outputs"} {
				delete(fields, name)
			}
		}
	}
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
