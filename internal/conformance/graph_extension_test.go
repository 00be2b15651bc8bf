package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

var graphExtension = []rule{
	{name: "X-100 conditions, arguments and prompts see the state, outputs of earlier nodes and answers",
		test: func(t *testing.T) {
			double := graph.Tool("double", func(v graph.View[sheet]) int {
				return v.State.N
			}, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
			p := play(t, newGraph().Then(double).
				Then(graph.Ask("ask", func(v graph.View[sheet]) string { return "Is it " + v.Text("double") + "?" },
					nil)).
				If(func(v graph.View[sheet]) bool { return v.Text("ask") == "yes" && v.State.N == 4 }, idle("agreed")),
				sheet{N: 4})
			same(t, "prompt", p.Snapshot.Waiting[0].Prompt, "Is it 8?")
			p.answers("yes")
			same(t, "end", p.end(), "completed")
			same(t, "visited", p.VisitedNodes, []string{"double", "ask", "decision_1", "agreed", "merge_2"})
			seen := func(want bool) func(graph.View[sheet]) bool {
				return func(v graph.View[sheet]) bool { _, ok := v.Output("b"); return ok == want }
			}
			p = play(t, newGraph().Parallel(graph.ParallelConfig[sheet]{ID: "p"},
				graph.Flow(endsLater("a", nil), graph.If(seen(true), idle("saw"))), outputs("b", 1)), sheet{})
			same(t, "other branches", p.VisitedNodes, []string{"b", "a", "decision_1", "merge_2", "p"})
		}},
	{name: "X-101 a result that goes into the state can be kept beside it", test: func(t *testing.T) {
		p := play(t, newGraph().Then(graph.Tool("t", func(graph.View[sheet]) int {
			return 3
		}, func(_ context.Context, n int) (int, error) { return n + 1, nil }).
			Into(func(s *sheet, n int) error { s.N = n; return nil })), sheet{})
		same(t, "both", []any{p.State.N, p.output("t")}, []any{4, "4"})
	}},
	{name: "X-102 blocks are nodes, and nest at will", test: func(t *testing.T) {
		three := func(v graph.View[sheet]) bool { return v.State.N >= 3 }
		odd := func(v graph.View[sheet]) bool { return v.State.N%2 == 1 }
		add := func(id string, n int) gNode { return changes(id, func(s *sheet) { s.N += n }) }
		p := play(t,
			newGraph().Then(
				graph.Loop(three, graph.If(odd, add("two", 2)).Otherwise(
					graph.Body(func(b *gBuilder) { b.Then(add("one", 1)) })))), sheet{})
		same(t, "state", p.State.N, 3)
		same(t, "visited", p.VisitedNodes, []string{"loop_start_1", "decision_3", "one", "merge_4", "loop_check_2",
			"decision_3", "two", "merge_4", "loop_check_2"})
	}},
	{name: "X-103 a timeout of any node bounds it with all its attempts", test: func(t *testing.T) {
		for name, n := range map[string]gNode{
			"function": breaks("n", -1, gOptions{Timeout: 2 * time.Second}),
			"wait":     graph.WaitConfig[sheet]{ID: "n", Prompt: "?", Options: gOptions{Timeout: 2 * time.Second}},
			"block": graph.ParallelConfig[sheet]{ID: "n", Options: gOptions{Timeout: 2 * time.Second},
				Bodies: []gNode{breaks("b", -1)}},
			"graph": graph.Inner("n", compiled(t, newGraph().Then(breaks("b", -1))), nil, func(*sheet, sheet) error {
				return nil
			}, gOptions{Timeout: 2 * time.Second}),
		} {
			begin := time.Now()
			p := play(t, newGraph().Then(n), sheet{})
			if name == "wait" {
				r, err := p.e.Wait(t.Context(), "r", hocket.WaitOptions{UntilPaused: true})
				same(t, "a wait: error", err, nil)
				for same(t, "a wait is open", r.Status,
					hocket.StatusPaused); r.Status == hocket.StatusPaused; r, err = p.e.Get(t.Context(), "r") {
					<-time.After(time.Second)
				}
				same(t, "a wait", []any{r.Err.Error() != "", time.Since(begin) < 10*time.Second, err},
					[]any{true, true, nil})
				continue
			}
			same(t, name, p.end(), "the step took longer than its timeout of 2s")
			same(t, name+" took", time.Since(begin), 2*time.Second)
		}
	}},
	{name: "X-104 a sleep ends after its time, or at a time, and hands on what it was given", test: func(t *testing.T) {
		begin := time.Now()
		var seen gContext
		p := play(t, newGraph().Then(outputs("a", 7)).Sleep("night", 8*time.Hour).Then(capturesContext("z", &seen)),
			sheet{})
		same(t, "end", p.end(), "completed")
		same(t, "took", time.Since(begin), 8*time.Hour)
		same(t, "input and output", []string{string(seen.Input), p.output("night")}, []string{"7", ""})
		begin = time.Now()
		same(t, "past", play(t, newGraph().Then(graph.SleepConfig[sheet]{ID: "n", Until: begin.Add(-time.Hour)}),
			sheet{}).end(), "completed")
		same(t, "at once", time.Since(begin), time.Duration(0))
		same(t, "until", play(t, newGraph().Then(graph.SleepConfig[sheet]{ID: "n", Until: begin.Add(time.Hour)}),
			sheet{}).end(), "completed")
		same(t, "an hour", time.Since(begin), time.Hour)
	}},
	{name: "X-105 a limit of zero is the default, and Zero none", test: func(t *testing.T) {
		same(t, "steps", play(t, newGraph().Then(idle("a")), sheet{}, graph.Config{MaxSteps: graph.Zero}).end(),
			"Exceeded maximum steps (0)")
		same(t, "default", play(t, newGraph().Then(idle("a")), sheet{}).end(), "completed")
		same(t, "negative", misused(t, newGraph().Then(idle("a")), graph.Config{MaxSteps: -1}),
			[]string{"Config.MaxSteps is -1; it must not be negative"})
	}},
	{name: "X-140 a map runs a body for each item, on a state of its own", test: func(t *testing.T) {
		p := play(t,
			newGraph().Then(graph.Map("m", lines, adds("a"), graph.If(func(v graph.View[gItem]) bool {
				return v.State.Name == "y"
			}, adds("b"))).Into(joined)), sheet{Log: []string{"x", "y"}})
		same(t, "state", p.State.Text, "xa yab")
		same(t, "output", p.output("m"), `[{"name":"x","text":"a"},{"name":"y","text":"ab"}]`)
		same(t, "visited", p.VisitedNodes, []string{"m"})
		same(t, "no items", play(t, newGraph().Then(graph.Map("m", lines, adds("a"))), sheet{}).output("m"), "[]")
	}},
	{name: "X-141 items at work, failures, lists that are too long", test: func(t *testing.T) {
		begin := time.Now()
		rests := graph.Do("a", func(context.Context, *gItem) error { <-time.After(time.Second); return nil })
		play(t, newGraph().Then(graph.Map("m", lines, rests).AtOnce(2)), sheet{Log: make([]string, 5)})
		same(t, "two at a time took", time.Since(begin), 3*time.Second)
		bad := sheet{Log: []string{"x", "bad", "y"}}
		for policy, want := range map[string][]string{
			"": {"items[1]: it is broken", ""}, "skip": {"completed", "xa ya"},
			"collect": {"1 of 3 items failed; the first, items[1]: it is broken", ""},
		} {
			m := graph.Map("m", lines, adds("a")).AtOnce(1).Into(joined)
			m.OnItemError = policy
			p := play(t, newGraph().Then(m), bad)
			same(t, policy, []string{p.end(), p.State.Text}, want)
		}
		same(t, "too long", play(t, newGraph().Then(graph.Map("m", lines, adds("a"))),
			sheet{Log: make([]string, 10_001)}).end(),
			"the list of the map has 10001 items; at most 10000 are allowed")
	}},
	{name: "X-142 maps nest, and ask for each item", test: func(t *testing.T) {
		letters := func(v graph.View[gItem]) []gItem {
			return lines(graph.View[sheet]{State: sheet{Log: strings.Split(v.State.Name, "")}})
		}
		gather := func(l *gItem, list []gItem) error {
			for _, x := range list {
				l.Text += x.Name + x.Text + "."
			}
			return nil
		}
		p := play(t,
			newGraph().Then(graph.Parallel("p", graph.Map("m", lines, graph.Map("in", letters, adds("a")).Into(gather)).
				Into(joined))), sheet{Log: []string{"xy", "z"}})
		same(t, "nested", p.State.Text, "xyxa.ya. zza.")
		ask := graph.Ask("q", func(v graph.View[gItem]) string {
			return v.State.Name + "?"
		}, func(l *gItem, answer string) error { l.Text = answer; return nil })
		p = play(t, newGraph().Then(graph.Map("m", lines, ask).AtOnce(1).Into(joined)), sheet{Log: []string{"x", "y"}})
		for _, name := range []string{"x", "y"} {
			same(t, "asks", []string{p.Snapshot.Waiting[0].Node, p.Snapshot.Waiting[0].Prompt},
				[]string{"m/item/q", name + "?"})
			p.answers("1")
		}
		same(t, "answered", p.State.Text, "x1 y1")
	}},
	{name: "X-143 a node waits for a signal by its name, its filter and the type of its value",
		test: func(t *testing.T) {
			g := compiled(t, newGraph().Then(graph.Await("n", "go", func(s *sheet, n int) error {
				s.N = n
				return nil
			}).
				Where(func(_ graph.View[sheet], n int) bool { return n > 3 })))
			program := program.New(g.Running().Program())
			w := enginetest.New(t, g.Workflow(), program)
			w.StartWith(event.RunCreated{Input: event.Value(`{"n":0}`)})
			same(t, "of another type", errors.Is(w.Try(engine.Answer{Signal: "go", Value: event.Value(`"four"`)}),
				waits.ErrSignal), true)
			same(t, "of another name", errors.Is(w.Try(engine.Answer{Signal: "stop", Value: event.Value("4")}),
				waits.ErrSignalName), true)
			w.Feed(engine.Answer{Signal: "go", Value: event.Value("3")})
			w.Feed(engine.Answer{Signal: "go", Value: event.Value("4")})
			same(t, "end", []any{w.Run.Status(), string(w.Run.State()["n"]), len(w.Run.Signals())},
				[]any{event.StatusCompleted, "4", 1})
		}},
	{name: "X-144 the default of a wait for a signal counts at its deadline", test: func(t *testing.T) {
		takes := graph.Await("n", "go", func(s *sheet, n int) error {
			s.N = n
			return nil
		}, gOptions{Timeout: time.Hour})
		for name, c := range map[string]struct {
			node gNode
			want []any
		}{
			"with": {takes.Where(func(graph.View[sheet], int) bool { return false }).Within(time.Hour, 7),
				[]any{hocket.StatusCompleted, "", 7}},
			"without": {takes, []any{hocket.StatusFailed, `no signal "go" before the deadline`, 0}},
		} {
			p := play(t, newGraph().Then(c.node), sheet{})
			r, err := p.e.Wait(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			s, err := hocket.SnapshotOf(t.Context(), p.e, p.g, "r")
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if r.Err != nil {
				text = r.Err.Error()
			}
			same(t, name, []any{r.Status, text, s.State.N}, c.want)
		}
	}},
}

// gItem is the state of map bodies.
type gItem struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

func lines(v graph.View[sheet]) []gItem {
	out := make([]gItem, len(v.State.Log))
	for i, name := range v.State.Log {
		out[i].Name = name
	}
	return out
}

// adds returns a node for a map body that adds its id, and fails for the item bad.
func adds(id string) graph.Node[gItem] {
	return graph.Do(id, func(_ context.Context, l *gItem) error {
		if l.Name == "bad" {
			return errBroken
		}
		l.Text += id
		return nil
	}, gOptions{Retry: graph.Retry{MaxAttempts: 1}})
}

func joined(s *sheet, list []gItem) error {
	var out []string
	for _, l := range list {
		out = append(out, l.Name+l.Text)
	}
	s.Text = strings.Join(out, " ")
	return nil
}

func TestGraphExtension(t *testing.T) { check(t, graphExtension) }

func TestGraphExtensionCovered(t *testing.T) {
	covered(t, graphExtension, "X-100", "X-101", "X-102", "X-103", "X-104", "X-105", "X-140", "X-141", "X-142", "X-143",
		"X-144")
}
