package hocket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// nested is a state that contains everything that could be shared.
type nested struct {
	Maps  map[string]map[string][]int `json:"maps"`
	Any   map[string]any              `json:"any"`
	Raw   json.RawMessage             `json:"raw"`
	Bytes []byte                      `json:"bytes"`
	Deep  *deep                       `json:"deep"`
	Seen  map[string]string           `json:"seen"`
}

type deep struct {
	Names []string       `json:"names"`
	Inner map[string]int `json:"inner"`
}

func firstNested(name string) nested {
	return nested{
		Maps: map[string]map[string][]int{"m": {"n": {1, 2, 3}}},
		Any:  map[string]any{"a": []any{"x", map[string]any{"y": "z"}}},
		Raw:  json.RawMessage(`{"r":[1]}`), Bytes: []byte(name),
		Deep: &deep{Names: []string{name, "b"}, Inner: map[string]int{"i": 1}}, Seen: map[string]string{},
	}
}

// scribble changes in place everything that a copy of the state refers to.
func scribble(s *nested, with string) {
	s.Maps["m"]["n"][0] = len(with)
	s.Maps["m"][with] = nil
	s.Any["a"].([]any)[1].(map[string]any)["y"] = with
	s.Any["a"].([]any)[0] = with
	for i := range s.Raw {
		s.Raw[i] = '!'
	}
	for i := range s.Bytes {
		s.Bytes[i] = '!'
	}
	s.Deep.Names[0] = with
	s.Deep.Inner["i"]++
}

// TestCopiesOfTheState checks that what a node, a condition, a mapper or a reader of the steps does
// to its copy of the state changes nothing else (P26): 64 branches with nested maps, in several
// concurrent runs of one compiled graph.
func TestCopiesOfTheState(t *testing.T) {
	t.Parallel()
	const branches, runs = 64, 6
	branch := func(id string) graph.Node[nested] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[nested]) (graph.Result[nested], error) {
				name := c.State.Deep.Names[0]
				if d := cmp.Diff(c.State, firstNested(name)); d != "" {
					return graph.Result[nested]{}, fmt.Errorf("branch %s sees what is another's: %s", id, d)
				}
				update := firstNested(name)
				update.Seen[id] = name
				scribble(&c.State, id)
				return graph.Result[nested]{Update: &update, Output: id}, nil
			}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}})
	}
	block := graph.ParallelConfig[nested]{Merge: func(s *nested, results []graph.BranchResult) error {
		if len(results) != branches || len(s.Seen) != branches {
			return fmt.Errorf("%d results, %d seen", len(results), len(s.Seen))
		}
		return nil
	}}
	var nodes []graph.Node[nested]
	for i := range branches {
		block.Branches = append(block.Branches, fmt.Sprintf("b%02d", i))
		nodes = append(nodes, branch(block.Branches[i]))
	}
	b := graph.New[nested]("copies").Start(graph.Do("s", func(context.Context, *nested) error { return nil })).
		If(func(v graph.View[nested]) bool { scribble(&v.State, "condition"); return true }).EndIf().Parallel(block)
	for _, n := range nodes {
		b.Node(n)
	}
	g, err := b.Compile(graph.Config{Reducers: map[string]graph.Reducer{"seen": graph.MergeMap()}})
	if err != nil {
		t.Fatal(err)
	}
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				name := fmt.Sprintf("run-%d", i)
				want := firstNested(name)
				for j := range branches {
					want.Seen[fmt.Sprintf("b%02d", j)] = name
				}
				o := hocket.RunOptions{OnProgress: hocket.OnProgress(func(p hocket.Progress[nested]) {
					scribble(&p.State, "progress")
				})}
				var last hocket.Step[nested]
				for s, err := range hocket.Stream(t.Context(), e, g, firstNested(name), o) {
					if err != nil || s.Error != nil {
						t.Errorf("%s: %v, %v", name, err, s.Error)
						return
					}
					if s.Status == hocket.StatusRunning {
						scribble(&s.State, "consumer")
					}
					last = s
				}
				if d := cmp.Diff(last.State, want); d != "" {
					t.Errorf("%s: got - want +\n%s", name, d)
				}
			})
		}
		wg.Wait()
	})
}
