package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// appenders is a loop of a function and a block whose branches both append to the list "log".
func appenders(t *testing.T, serial bool) *enginetest.World {
	t.Helper()
	all := append(nodes(funcNode("a")), enginetest.Fork("p", workflow.Fork{}, "b", "c")...)
	all = append(all, enginetest.In("p", funcNode("b")), enginetest.In("p", funcNode("c")), funcNode("z"))
	g := enginetest.Graph(all, "a -> p; p:b -> b; p:c -> c; b -> p/join; c -> p/join; p/join -> z")
	g.Rules = workflow.TypedRules()
	g.Rules.Serial, g.Rules.Reducers = serial, map[string]string{"log": "append"}
	return enginetest.New(t, g, nil)
}

// model is the typed state of a run, with whole values copied.
type model map[string]string

func (m model) check(t *rapid.T, w *enginetest.World, node string) {
	for _, c := range w.Pending {
		if f, ok := c.(*engine.CallFunc); ok && f.Node == node {
			got := model{}
			for name, v := range f.State.Map() {
				got[name] = string(v)
			}
			if !maps.Equal(got, m) {
				t.Fatalf("%s sees\n%s, want\n%s\n%s", node, got, m, w.Log())
			}
			return
		}
	}
	t.Fatalf("%s was not called\n%s", node, w.Log())
}

// finish makes a function return, and returns the state with its changes.
func (m model) finish(t *rapid.T, w *enginetest.World, node string, changes model) model {
	m.check(t, w, node)
	out := maps.Clone(m)
	r := &engine.FuncResult{Update: map[string]event.Value{}}
	for name, v := range changes {
		r.Update[name], out[name] = event.Value(v), v
	}
	w.Finish(node, r)
	return out
}

func drawElement(t *rapid.T) string {
	return `"` + strings.Repeat(rapid.SampledFrom([]string{"x", "é", `\"`}).Draw(t, "element"),
		rapid.SampledFrom([]int{1, 40, 300}).Draw(t, "length")) + `"`
}

func appended(list, element string) string {
	if list == "" || list == "[]" {
		return "[" + element + "]"
	}
	return strings.TrimSuffix(list, "]") + "," + element + "]"
}

// drawChanges generates the changes of a function: fields that grow, shrink, change inside, are
// removed, or are rewritten.
func (m model) drawChanges(t *rapid.T) model {
	out := model{}
	for _, name := range []string{"log", "text", "map"} {
		v := m[name]
		switch op := rapid.IntRange(0, 5).Draw(t, name); {
		case op == 0:
		case op == 1:
			out[name] = map[string]string{"log": "[]", "text": `""`, "map": "{}"}[name]
		case name == "log":
			out[name] = appended(v, drawElement(t))
			if op == 2 {
				out[name] = "[" + drawElement(t) + "]"
			}
		case name == "text" && len(v) > 1:
			out[name] = strings.TrimSuffix(v, `"`) + drawElement(t)[1:]
			if op == 2 {
				out[name] = strings.Replace(v, "xxx", "y", 1)
			}
		case name == "map" && len(v) > 2:
			key := fmt.Sprintf(`%q:`, rapid.StringMatching("[a-z]{3}").Draw(t, "key"))
			out[name] = "{" + key + drawElement(t) + "," + v[1:]
			if op == 2 {
				out[name] = strings.TrimSuffix(v, "}") + "," + key + drawElement(t) + "}"
			}
		default:
			out[name] = map[string]string{"text": drawElement(t), "map": `{"k":` + drawElement(t) + `}`}[name]
		}
	}
	return out
}

// TestState_MatchesCopiedState checks that a state that grows, shrinks and changes is the same as
// if each value were copied: in functions, in branches, where branches join, after crashes, in a
// fold of the events and in a fork of them (D5, D27). The world folds the events after each
// activation and compares everything that the run knows.
func TestState_MatchesCopiedState(t *testing.T) {
	t.Parallel()
	edits := 0
	randtest.Check(t, 30, func(rt *rapid.T) {
		w := appenders(t, rapid.Bool().Draw(rt, "serial"))
		m := model{"log": "[" + drawElement(rt) + "]"}
		w.StartWith(event.RunCreated{Input: event.Value(fmt.Sprintf(`{"log":%s}`, m["log"]))})
		crash := func() {
			if rapid.IntRange(0, 4).Draw(rt, "crash") == 0 {
				w.Crash()
			}
		}
		for pass := range 3 {
			m = m.finish(rt, w, "a", m.drawChanges(rt))
			crash()
			eb, ec := drawElement(rt), drawElement(rt)
			changes := map[string]model{"b": {"log": appended(m["log"], eb), "b": drawElement(rt)},
				"c": {"log": appended(m["log"], ec), "c": drawElement(rt)}}
			order := rapid.Permutation([]string{"b", "c"}).Draw(rt, "order")
			for _, node := range order {
				m.finish(rt, w, node, changes[node])
				crash()
			}
			m["log"], m["b"], m["c"] = appended(appended(m["log"], eb), ec), changes["b"]["b"], changes["c"]["c"]
			m.check(rt, w, "z")
			end := &engine.FuncResult{}
			if pass < 2 {
				end.Goto = []string{"a"}
			}
			w.Finish("z", end)
		}
		if got := w.Run.Status(); got != event.StatusCompleted {
			rt.Fatalf("the run is %s\n%s", got, w.Log())
		}
		final := model{}
		for name, v := range w.Run.State() {
			final[name] = string(v)
		}
		if !maps.Equal(final, m) {
			rt.Fatalf("the state ends as\n%s, want\n%s", final, m)
		}
		for _, e := range w.Events {
			if d, ok := e.Data.(*event.FuncReturned); ok {
				edits += len(d.Edits)
			}
		}
		w.CheckPrefixes()
	})
	if edits == 0 {
		t.Error("no value was stored as an edit")
	}
}

// TestState_StoredBytesLinear checks that a run whose state grows by the same amount at each step
// stores bytes in proportion to its steps: each change by a function is stored once (P6).
func TestState_StoredBytesLinear(t *testing.T) {
	t.Parallel()
	stored := func(n int) int {
		g := enginetest.Graph(nodes(funcNode("a")), "")
		g.Rules = workflow.TypedRules()
		w := enginetest.New(t, g, nil)
		w.SkipLaws = true
		w.StartWith(event.RunCreated{Input: event.Value(`{"log":[]}`),
			Limits: workflow.Limits{MaxSteps: new(n + 1), MaxLoopIterations: n + 1}})
		list := ""
		for i := range n {
			list = appended(list, `"`+strings.Repeat("x", 500)+`"`)
			r := &engine.FuncResult{Update: map[string]event.Value{"log": event.Value(list)}}
			if i < n-1 {
				r.Goto = []string{"a"}
			}
			w.Finish("a", r)
		}
		if got := string(w.Run.State()["log"]); got != list {
			t.Fatal("the list is another one")
		}
		bytes := 0
		for _, e := range w.Events {
			data, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(data)
		}
		return bytes
	}
	one, two := stored(100), stored(200)
	if float64(two) > 2.2*float64(one) || one > 100*(500+1000) {
		t.Errorf("100 steps of 500 bytes store %d bytes, 200 steps %d", one, two)
	}
}

// TestApply_DamagedResults checks that a stored change that belongs to another state, or yields
// invalid JSON, and a completion without the result that it names, count as damage.
func TestApply_DamagedResults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for name, damage := range map[string]func(e *event.Event) bool{
		"another writer": func(e *event.Event) bool { return edit(e, func(d *typed.Edit) { d.Base++ }) },
		"another size":   func(e *event.Event) bool { return edit(e, func(d *typed.Edit) { d.Size++ }) },
		"outside": func(e *event.Event) bool {
			return edit(e, func(d *typed.Edit) { d.From, d.To = -1, 1<<40 })
		},
		"no JSON":       func(e *event.Event) bool { return edit(e, func(d *typed.Edit) { d.Text = `,"` }) },
		"unknown field": func(e *event.Event) bool { return edit(e, func(d *typed.Edit) { d.Field = "other" }) },
		"late": func(e *event.Event) bool {
			d, ok := e.Data.(*event.FuncReturned)
			if ok = ok && len(d.Edits) > 0; ok {
				c := *d
				c.Error = &event.Failure{Code: "server"}
				e.Data = &c
			}
			return ok
		},
		"no result": func(e *event.Event) bool {
			_, ok := e.Data.(*event.FuncReturned)
			if ok {
				e.Data = &event.ConditionChecked{}
			}
			return ok
		},
		"no such reply": func(e *event.Event) bool {
			_, ok := e.Data.(*event.StepCompleted)
			if ok {
				e.Data = &event.StepCompleted{JSON: true}
			}
			return ok
		},
	} {
		w := appenders(t, true)
		w.SkipLaws = true
		w.StartWith(event.RunCreated{Input: event.Value(`{"log":["` + long + `"]}`)})
		w.Finish("a",
			&engine.FuncResult{Update: map[string]event.Value{"log": event.Value(`["` + long + `","more"]`)}})
		events := slices.Clone(w.Events)
		done := false
		for i := range events {
			done = done || damage(&events[i])
		}
		var diverge *engine.DivergenceError
		if err := engine.New(w.Plan, "run1").Apply(events); !done || !errors.As(err, &diverge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// edit changes the edit of a stored result.
func edit(e *event.Event, change func(*typed.Edit)) bool {
	d, ok := e.Data.(*event.FuncReturned)
	if !ok || len(d.Edits) == 0 {
		return false
	}
	c := *d
	c.Edits = slices.Clone(d.Edits)
	change(&c.Edits[0])
	e.Data = &c
	return true
}
