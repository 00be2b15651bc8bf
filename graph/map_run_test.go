package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestMap_MatchesLoop checks that whatever the list, the concurrency limit, the order in which
// calls end and the crashes in between, a map does what a plain loop does, and that no call whose
// end was recorded is repeated.
func TestMap_MatchesLoop(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "bad"}), 0, 6).Draw(r, "list")
		policy := rapid.SampledFrom([]string{"", "fail_fast", "skip", "collect"}).Draw(r, "policy")
		most := rapid.IntRange(1, 4).Draw(r, "most")
		m := graph.Map("m", words, marks("a"), marks("b")).AtOnce(most).Into(told)
		m.OnItemError = policy
		w := newWorld(t, compiled(t, graph.New[state]("t").Then(m)))
		w.SkipLaws = true
		w.StartWith(event.RunCreated{Input: []byte(`{"n":0,"log":["` + strings.Join(list, `","`) + `"]}`)})
		if len(list) == 0 {
			return // `[""]` is one item
		}
		returned := 0
		for len(w.Pending) > 0 {
			if n := len(w.Pending); n > most {
				r.Fatalf("%d calls at once, at most %d may be", n, most)
			}
			if rapid.IntRange(0, 5).Draw(r, "crash") == 0 {
				if w.Crash(); len(w.Pending) == 0 {
					break // running items were cancelled
				}
			}
			at := rapid.IntRange(0, len(w.Pending)-1).Draw(r, "pick")
			c := w.Pending[at]
			w.Pending = slices.Delete(w.Pending, at, at+1)
			w.Feed(w.Answer(c))
			returned++
		}
		failed := slices.Contains(list, "bad")
		if got, want := w.Run.Status() == event.StatusCompleted, !failed || policy == "skip"; got != want {
			r.Fatalf("%s of %v with %q\n%s", w.Run.Status(), list, policy, w.Log())
		}
		if w.Run.Status() != event.StatusCompleted {
			return
		}
		var want state
		var results []entry
		calls := 0
		for _, name := range list {
			if calls++; name != "bad" {
				calls++
				results = append(results, entry{Name: name, Log: []string{"a", "b"}})
			}
		}
		_ = told(&want, results)
		if w.state().Text != want.Text || returned != calls {
			r.Fatalf("got %q after %d calls, want %q after %d\n%s", w.state().Text, returned, want.Text, calls, w.Log())
		}
	})
}

// TestMapRetry checks that another attempt of the node starts exactly the items that failed or did
// not end.
func TestMapRetry(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fail_fast", "collect"} {
		c := &counters{}
		flaky := graph.Do("a", func(_ context.Context, e *entry) error {
			if c.add(e.Name); e.Name == "y" && c.all()["y"] == 1 {
				return errBroken
			}
			return nil
		}, graph.NodeOptions{Retry: once()})
		m := graph.Map("m", words, flaky).AtOnce(1).Into(told)
		m.OnItemError, m.Options.Retry = policy, graph.Retry{MaxAttempts: 2, Backoff: time.Second}
		w := run(t, graph.New[state]("t").Then(m), state{Log: []string{"x", "y", "z"}})
		w.want("m, m/item/a, m/item/a, m/item/a, m/item/a", "completed")
		if d := cmp.Diff(c.all(), map[string]int{"x": 1, "y": 2, "z": 1}); d != "" || w.state().Text != "x: y: z:" {
			t.Errorf("%s: %v with %q", policy, c.all(), w.state().Text)
		}
	}
}

// TestMap_QuestionsInBody checks that a question in a body is asked separately for each running
// item, and that each is answered by its own id, even after a crash.
func TestMap_QuestionsInBody(t *testing.T) {
	t.Parallel()
	ask := graph.Ask("q", func(v graph.View[entry]) string {
		return v.State.Name + "?"
	}, func(e *entry, answer string) error {
		e.Log = append(e.Log, answer)
		return nil
	})
	w := run(t, graph.New[state]("t").Then(graph.Map("m", words, ask, marks("a")).AtOnce(2).Into(told)),
		state{Log: []string{"x", "y", "z"}})
	for i, name := range []string{"y", "x", "z"} {
		waits := w.Run.Waits()
		at := -1
		for n, open := range waits {
			if open.Prompt == name+"?" {
				at = n
			}
		}
		if w.Run.Status() != event.StatusPaused || at < 0 || waits[at].Node != "m/item/q" {
			t.Fatalf("%s with %+v\n%s", w.Run.Status(), waits, w.Log())
		}
		w.Crash()
		w.Feed(engine.Answer{Wait: waits[at].ID, Value: enginetest.Text(fmt.Sprint(i))})
		w.Go(nil)
	}
	if got := w.state().Text; got != "x:1+a y:0+a z:2+a" || w.Run.Status() != event.StatusCompleted {
		t.Errorf("%s with %q\n%s", w.Run.Status(), got, w.Log())
	}
}

// TestMapModel checks that the nodes of a body use the model of the map, of the run and of its
// graph in preference to that of the body's own configuration (S2-79), and the graph's Runtime.
func TestMapModel(t *testing.T) {
	t.Parallel()
	tell := graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[entry]) (graph.Result[entry], error) {
			c.State.Log = []string{c.Model}
			return graph.Result[entry]{Update: &c.State}, nil
		})
	for want, c := range map[string]struct{ node, graph, body string }{
		"n": {"n", "g", "b"}, "g": {"", "g", "b"}, "b": {"", "", "b"},
	} {
		m := graph.Map("m", words, tell).Into(told)
		m.Options.Model, m.Config.DefaultModel = c.node, c.body
		var out string
		w := run(t, graph.New[state]("t").Then(m).Then(graph.NewNode("z", graph.TypeTool,
			func(_ context.Context, x *graph.Context[state]) (graph.Result[state], error) {
				out = string(x.Outputs()["m"])
				return graph.Result[state]{}, nil
			})), state{Log: []string{"x"}}, graph.Config{DefaultModel: c.graph})
		if got := w.state().Text; got != "x:"+want {
			t.Errorf("got %s, want x:%s", got, want)
		}
		if out != `[{"log":["`+want+`"],"name":"x"}]` {
			t.Errorf("the output is %s", out)
		}
	}
}

// TestMapMisuse checks that invalid maps and bodies are reported with the line of the call that
// added them.
func TestMapMisuse(t *testing.T) {
	t.Parallel()
	g := func() *graph.Builder[state] { return graph.New[state]("t").Start(nothing("s")) }
	lossy := func(graph.View[state]) []struct{ C chan int } { return nil }
	odd := graph.Map("m", words, marks("a"))
	odd.OnItemError = "stop"
	for want, b := range map[string]*graph.Builder[state]{
		`Map node "m" requires a function that gives its list`: g().Then(
			graph.Map[state]("m", nil, marks("a"))),
		`Map node "m" requires a body of at least one node`: g().Then(
			graph.Map("m", words)),
		`Map node "m" has items of the type string; an item is the state of its body, and must be a struct`: g().Then(
			graph.Map("m", func(graph.View[state]) []string {
				return nil
			}, graph.Do("a", func(context.Context, *string) error { return nil }))),
		`Map node "m" has the unknown OnItemError "stop"`: g().Then(
			odd),
		`Map node "m": MaxConcurrency is -1; it must be at least 1`: g().Then(
			graph.Map("m", words, marks("a")).AtOnce(-1)),
		`Map node "m": MaxConcurrency is 0; it must be at least 1`: g().Then(
			graph.Map("m", words, marks("a")).AtOnce(graph.Zero)),
		`Node with ID "a" already exists`: g().Then(
			graph.Map("m", words, marks("a"), marks("a"))),
		`Node with ID "s" already exists`: g().Then(
			graph.Map("s", words, marks("a"))),
		`Node of type "map" has no ID`: g().Then(
			graph.Map("", words, marks("a"))),
		`Missing EndIf`: g().Then(
			graph.Map("m", words, graph.Body(func(b *graph.Builder[entry]) {
				b.If(func(graph.View[entry]) bool { return true }).Then(marks("a"))
			}))),
		`State field C is a chan, which JSON cannot hold`: g().Then(
			graph.Map("m", lossy, graph.Do("a", func(context.Context, *struct{ C chan int }) error { return nil }))),
		`Error handler: a map is several nodes; it must be a node that calls a function`: g().Catch(
			graph.Map("m", words, marks("a"))),
	} {
		_, err := b.Compile()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "map_run_test.go:") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
