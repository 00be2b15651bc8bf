package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// entry is the item of the maps in these tests.
type entry struct {
	Name string   `json:"name"`
	Log  []string `json:"log,omitempty"`
	N    int      `json:"n,omitempty"`
}

// entries returns an item for each word.
func entries(words ...string) []entry {
	out := make([]entry, len(words))
	for i, w := range words {
		out[i].Name = w
	}
	return out
}

// words returns the list of a map over the log.
func words(v graph.View[state]) []entry { return entries(v.State.Log...) }

// marks returns a node of a body that records its id, and fails for items with the name bad.
func marks(id string) graph.Node[entry] {
	return graph.Do(id, func(_ context.Context, p *entry) error {
		if p.Name == "bad" {
			return errBroken
		}
		p.Log = append(p.Log, id)
		return nil
	}, graph.NodeOptions{Retry: once()})
}

// told writes results into the text of the state.
func told(s *state, results []entry) error {
	var out []string
	for _, r := range results {
		out = append(out, r.Name+":"+strings.Join(r.Log, "+"))
	}
	s.Text = strings.Join(out, " ")
	return nil
}

// TestMap checks that the body runs for each item on a separate state, and that the results are in
// order.
func TestMap(t *testing.T) {
	t.Parallel()
	list := func(words ...string) state { return state{Log: words} }
	skipped := graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
		return graph.ErrorAction[state]{Action: graph.ActionSkip}
	})}
	collected := graph.Map("m", words, marks("a")).CollectFailed()
	collected.Options = skipped
	for name, c := range map[string]struct {
		first  state
		node   graph.Node[state]
		end    string
		text   string // from the state
		output string // from the map
	}{
		"in order": {list("x", "y", "z"), graph.Map("m", words, marks("a"), marks("b")).Into(told), "completed",
			"x:a+b y:a+b z:a+b",
			`[{"log":["a","b"],"name":"x"},{"log":["a","b"],"name":"y"},{"log":["a","b"],"name":"z"}]`},
		"outputs alone": {list("x"), graph.Map("m", words, marks("a")), "completed", "", `[{"log":["a"],"name":"x"}]`},
		"no items":      {list(), graph.Map("m", words, marks("a")).Into(told), "completed", "", `[]`},
		"an if in it": {
			list("x", "y"), graph.Map("m", words, graph.If(func(v graph.View[entry]) bool {
				return v.State.Name == "x"
			}, marks("a")).Otherwise(marks("b"))).Into(told),
			"completed", "x:a y:b", `[{"log":["a"],"name":"x"},{"log":["b"],"name":"y"}]`},
		"a loop in it": {
			list("x"), graph.Map("m", words, graph.Loop(func(v graph.View[entry]) bool { return len(v.State.Log) == 3 },
				marks("a"))).Into(told),
			"completed", "x:a+a+a", `[{"log":["a","a","a"],"name":"x"}]`},
		"fail fast": {list("x", "bad", "y"), graph.Map("m", words, marks("a")).AtOnce(1).Into(told),
			`items[1]: it is broken`, "", ""},
		"skip": {list("x", "bad", "y"), graph.Map("m", words, marks("a")).SkipFailed().Into(told),
			"completed", "x:a y:a", `[{"log":["a"],"name":"x"},null,{"log":["a"],"name":"y"}]`},
		"collect": {list("bad", "x", "bad"), graph.Map("m", words, marks("a")).CollectFailed(),
			"2 of 3 items failed; the first, items[0]: it is broken", "", ""},
		"collect, then on": {list("bad", "x"), collected, "completed", "",
			`[{"error":{"code":"func","message":"it is broken","node":"m/item/a"}},{"log":["a"],"name":"x"}]`},
		"maps in maps": {list("xy", "", "z"),
			graph.Map("m", words, graph.Map("in", letters, marks("a")).Into(gathered)).Into(told), "completed",
			"xy:x+y : z:z", `[{"log":["x","y"],"name":"xy"},{"name":""},{"log":["z"],"name":"z"}]`},
		"in a parallel": {list("x"), graph.Parallel("p", graph.Flow(graph.Map("m", words, marks("a")).Into(told)),
			count("c")), "completed", "x:a", `[{"log":["a"],"name":"x"}]`},
		"too many items": {list(strings.Fields(strings.Repeat("x ", workflow.MaxItems+1))...), graph.Map("m", words,
			marks("a")), "the list of the map has 10001 items; at most 10000 are allowed", "", ""},
		"a result refused": {list("x"), graph.Map("m", words, marks("a")).Into(func(*state, []entry) error {
			return errBroken
		}), "it is broken", "", ""},
		"a body that panics": {list("x"),
			graph.Map("m", words, graph.Do("a", func(context.Context, *entry) error { panic("ouch") },
				graph.NodeOptions{Retry: once()})), "items[0]: node \"a\" panicked: ouch", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen string
			w := run(t, graph.New[state]("t").Then(c.node).Then(graph.NewNode("z", graph.TypeTool,
				func(_ context.Context, x *graph.Context[state]) (graph.Result[state], error) {
					out, _ := x.Output("m")
					seen = string(out)
					return graph.Result[state]{}, nil
				})), c.first)
			end := string(w.Run.Status())
			if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); ok {
				end = f.Error.Message
			}
			if end != c.end || w.state().Text != c.text || seen != c.output {
				t.Errorf("%s, %q, %s\nwant %s, %q, %s\n%s", end, w.state().Text, seen, c.end, c.text, c.output, w.Log())
			}
			w.CheckPrefixes()
		})
	}
}

func letters(v graph.View[entry]) []entry { return entries(strings.Split(v.State.Name, "")...) }

func gathered(p *entry, results []entry) error {
	for _, r := range results {
		p.Log = append(p.Log, r.Name)
	}
	return nil
}
