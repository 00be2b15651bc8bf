package engine_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// writers returns a fork of function nodes a, b and c after s, followed by z; reducers determine
// how fields are merged.
func writers(t *testing.T, f workflow.Fork, h engine.Host, reducers map[string]string) *enginetest.World {
	t.Helper()
	g := enginetest.Graph(nodes(funcNode("s"), enginetest.Fork("f", f, "a", "b", "c"),
		enginetest.In("f", funcNode("a")), enginetest.In("f", funcNode("b")),
		enginetest.In("f", funcNode("c")), funcNode("z")),
		"s -> f; f:a -> a; f:b -> b; f:c -> c; a -> f/join; b -> f/join; c -> f/join; f/join -> z")
	g.Rules.Reducers = reducers
	return enginetest.New(t, g, h)
}

// stateOf returns the state that z sees after a run in which each node made the given changes,
// finishing in the given order.
func stateOf(t *testing.T, w *enginetest.World, updates map[string]string, finish []string) string {
	t.Helper()
	w.Start("go")
	w.Finish("s", update(updates["s"]))
	for _, n := range finish {
		if len(w.Pending) > 0 {
			w.Finish(n, update(updates[n]))
		}
	}
	if w.Run.Status() == event.StatusFailed {
		f := failure(t, w)
		return f.Code + ": " + f.Message
	}
	return show(w.Pending[0].(*engine.CallFunc).State.Map())
}

func update(fields string) *engine.FuncResult {
	r := &engine.FuncResult{Update: map[string]event.Value{}}
	for field := range strings.FieldsSeq(fields) {
		name, value, _ := strings.Cut(field, "=")
		r.Update[name] = event.Value(value)
	}
	return r
}

func show(state map[string]event.Value) string {
	var out []string
	for _, name := range []string{"d", "k", "l", "m", "n"} {
		if v, ok := state[name]; ok {
			out = append(out, name+"="+string(v))
		}
	}
	return strings.Join(out, " ")
}

// TestReducers checks that branches merge in declared order, whatever the order in which they
// finish, and that without a reducer two changes to one field are an error that names the field and
// both nodes (P7, D5, D27).
func TestReducers(t *testing.T) {
	t.Parallel()
	h := &host{reduce: func(name string, base, mine, theirs event.Value) (event.Value, error) {
		switch name {
		case "join":
			return event.Value(fmt.Sprintf(`"%s|%s|%s"`, strings.Trim(string(base), `"`),
				strings.Trim(string(mine), `"`), strings.Trim(string(theirs), `"`))), nil
		case "broken":
			return event.Value("{"), nil
		case "panics":
			panic("oops")
		}
		return nil, errors.New("cannot")
	}}
	for name, tc := range map[string]struct {
		reducer          string
		s, a, b, c, want string
	}{
		"no conflict": {"", "n=1", "k=1", "l=2", "m=3", "k=1 l=2 m=3 n=1"},
		"conflict": {"", "", "n=1", "k=1", "n=2",
			`state_conflict: nodes "a" and "c" both changed field "n" at the same time; declare how it is merged`},
		"equal changes conflict": {"", "", "n=1", "n=1", "",
			`state_conflict: nodes "a" and "b" both changed field "n" at the same time; declare how it is merged`},
		"append":            {"append", `n=[0]`, `n=[0,1]`, `n=[0]`, `n=[0,3,4]`, `n=[0,1,3,4]`},
		"append to nothing": {"append", ``, `n=[1]`, `n=[2]`, ``, `n=[1,2]`},
		"append made shorter": {"append", `n=[0,1]`, `n=[0,1,2]`, `n=[0]`, ``,
			`state_conflict: merge field "n": a branch made the list shorter`},
		"append, first shorter": {"append", `n=[0,1]`, `n=[0]`, `n=[0,1,2]`, ``,
			`state_conflict: merge field "n": a branch made the list shorter`},
		"append after a change": {"append", `n=[0,1]`, `n=[0,1,2]`, `n=[9,1]`, ``,
			`state_conflict: merge field "n": a branch changed what was in the list before`},
		"append, first changes": {"append", `n=[0,1]`, `n=[9,1]`, `n=[0,1,2]`, ``,
			`state_conflict: merge field "n": a branch changed what was in the list before`},
		"append, other escapes": {"append", `n=["\u003c"]`, `n=["<",{"b":1,"a":"\u003e"}]`, `n=["<",">"]`, ``,
			`n=["<",{"b":1,"a":"\u003e"},">"]`},
		"append no list": {"append", ``, `n=[1]`, `n=7`, ``,
			`state_conflict: merge field "n": json: cannot unmarshal number into Go value of type []json.RawMessage`},
		"sum":              {"sum", `n=10`, `n=11`, `n=12`, `n=9`, `n=12`},
		"sum of fractions": {"sum", `n=0.5`, `n=1`, `n=0.25`, ``, `n=0.75`},
		"sum of large whole ones": {"sum", `n=9007199254740993`, `n=9007199254740994`, `n=9007199254740995`, ``,
			`n=9007199254740996`},
		"sum with a zero": {"sum", `n=1152921504606846976`, `n=1152921504606846977`, `n=null`, ``, `n=1`},
		"sum too large": {"sum", ``, `n=1e308`, `n=1e308`, ``,
			`state_conflict: merge field "n": the sum is too large`},
		"merge": {"merge", `n={"x":1,"y":1,"z":1}`, `n={"x":2,"y":1,"z":1}`, `n={"x":1,"y":1,"w":4}`,
			`n={"x":1,"y":5,"z":1}`, `n={"w":4,"x":2,"y":5}`},
		"merge of nothing": {"merge", ``, `n={"x":1}`, `n={"y":2}`, ``, `n={"x":1,"y":2}`},
		"merge, other escapes": {"merge", `n={"x":"\u003c","y":"1"}`, `n={"x":"mine","y":"1"}`,
			`n={"x":"<","y":"2"}`, ``, `n={"x":"mine","y":"2"}`},
		"merge, texts as they are": {"merge", ``, `n={"x":"<"}`, `n={"y":"&"}`, ``, `n={"x":"<","y":"&"}`},
		"last":                     {"last", `n=0`, `n=1`, `n=2`, ``, `n=2`},
		"function":                 {"func:join", `n="o"`, `n="a"`, `n="b"`, `n="c"`, `n="o|o|a|b|c"`},
		"function fails":           {"func:no", ``, `n=1`, `n=2`, ``, `state_conflict: merge field "n": cannot`},
		"function panics": {"func:panics", ``, `n=1`, `n=2`, ``,
			`state_conflict: merge field "n": function "panics" panicked: oops`},
		"function gives no JSON": {"func:broken", ``, `n=1`, `n=2`, ``,
			`state_conflict: merge field "n": function "broken": value is not JSON`},
		"one writer needs none": {"func:no", ``, `n=1`, ``, ``, `n=1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reducers := map[string]string{}
			if tc.reducer != "" {
				reducers["n"] = tc.reducer
			}
			updates := map[string]string{"s": tc.s, "a": tc.a, "b": tc.b, "c": tc.c}
			for _, finish := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "a", "c"}} {
				w := writers(t, workflow.Fork{}, h, reducers)
				if got := stateOf(t, w, updates, finish); got != tc.want {
					t.Errorf("finished %v\ngot  %s\nwant %s", finish, got, tc.want)
				}
				w.CheckPrefixes()
			}
		})
	}
}

// TestMergeIsOrderIndependent checks that two hundred shuffled completion orders, including
// crashes, produce one state and one output (P7).
func TestMergeIsOrderIndependent(t *testing.T) {
	t.Parallel()
	const n = 12
	f, ids, edges := workflow.Fork{}, []string{}, "s -> f;"
	var branches []workflow.Node
	for i := range n {
		id := fmt.Sprintf("b%d", i)
		ids = append(ids, id)
		branches = append(branches, enginetest.In("f", funcNode(id)), enginetest.In("f", funcNode(id+"x")))
		edges += fmt.Sprintf("f:%[1]s -> %[1]s; %[1]s -> %[1]sx; %[1]sx -> f/join;", id)
	}
	g := enginetest.Graph(nodes(funcNode("s"), enginetest.Fork("f", f, ids...), branches, funcNode("z")),
		edges+"f/join -> z")
	g.Rules.Reducers = map[string]string{"l": "append", "n": "sum", "m": "merge", "k": "last", "d": "func:join"}
	h := &host{reduce: func(_ string, base, mine, theirs event.Value) (event.Value, error) {
		return enginetest.Text(fmt.Sprintf("%s+%s", mine, theirs)), nil
	}}
	var want string
	for seed := range randtest.Seeds(200) {
		rng := rand.New(rand.NewSource(int64(seed)))
		w := enginetest.New(t, g, h)
		w.SkipLaws = seed%20 != 0
		w.Func = func(c *engine.CallFunc) *engine.FuncResult {
			switch {
			case c.Node == "s":
				return update(`l=[0] n=100 m={"o":0}`)
			case c.Node == "z":
				return nil
			case strings.HasSuffix(c.Node, "x"):
				// only its own branch's change (D5)
				if got := string(c.State.Get("n")); got != fmt.Sprint(100+len(c.Node)) {
					t.Errorf("%s sees n=%s", c.Node, got)
				}
				return update(fmt.Sprintf(`l=[0,"%[1]s","x"] m={"o":0,"%[1]s":1} k="%[1]s" d="%[1]s"`, c.Node))
			}
			return update(fmt.Sprintf(`l=[0,"%s"] n=%d`, c.Node, 100+len(c.Node)+1))
		}
		w.Start("go")
		for len(w.Pending) != 1 || enginetest.Node(w.Pending[0]) != "z" {
			i := rng.Intn(len(w.Pending))
			w.FinishAt(i, w.Func(w.Pending[i].(*engine.CallFunc)))
			if rng.Intn(15) == 0 {
				w.Crash()
			}
		}
		z := w.Pending[0].(*engine.CallFunc)
		got := fmt.Sprintf("%s %s", show(z.State.Map()), z.Input)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("seed %d\ngot  %s\nwant %s", seed, got, want)
		}
	}
}

// TestMerge_FailedAndLosingBranches checks what happens to changes of branches that fail, lose, or
// end before the join (D5, P13, S2-57).
func TestMerge_FailedAndLosingBranches(t *testing.T) {
	t.Parallel()
	t.Run("failed branch", func(t *testing.T) {
		t.Parallel()
		w := writers(t, workflow.Fork{OnFailure: workflow.FailContinue}, nil, nil)
		w.Start("go")
		w.Finish("s", update(""))
		w.Finish("a", update("k=1"))
		w.Finish("b", funcFails("server"))
		w.Finish("c", update("m=3"))
		if got := show(w.Pending[0].(*engine.CallFunc).State.Map()); got != "k=1 m=3" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("losers of a race", func(t *testing.T) {
		t.Parallel()
		w := writers(t, workflow.Fork{Until: workflow.UntilRace}, nil, nil)
		w.Start("go")
		w.Finish("s", update(""))
		w.Finish("b", update("l=2"))
		// after the losers, which have not settled
		if got := show(w.Pending[2].(*engine.CallFunc).State.Map()); got != "l=2" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("branch that ends before the join", func(t *testing.T) {
		t.Parallel()
		g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a", "b"), enginetest.In("f", funcNode("a")),
			enginetest.In("f", funcNode("b")), funcNode("z")),
			"f:a -> a; f:b -> b; b -> f/join; f/join -> z")
		w := enginetest.New(t, g, nil)
		w.Start("go")
		w.Finish("a", update("k=1")) // and ends there
		w.Finish("b", update("l=2"))
		if got := show(w.Pending[0].(*engine.CallFunc).State.Map()); got != "k=1 l=2" {
			t.Errorf("got %s: nothing is lost silently (P7)", got)
		}
	})
	t.Run("nested blocks name the writer", func(t *testing.T) {
		t.Parallel()
		g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a", "g"), enginetest.In("f", funcNode("a")),
			in("f", enginetest.Fork("g", workflow.Fork{}, "b", "c")), enginetest.In("g", funcNode("b")),
			enginetest.In("g", funcNode("c"))),
			"f:a -> a; a -> f/join; f:g -> g; g:b -> b; g:c -> c; b -> g/join; c -> g/join; g/join -> f/join")
		w := enginetest.New(t, g, nil)
		w.Func = func(c *engine.CallFunc) *engine.FuncResult {
			return update(map[string]string{"a": "n=1", "b": "k=1", "c": "n=2"}[c.Node])
		}
		w.Start("go")
		w.Go(nil)
		if f := failure(t, w); !strings.Contains(f.Message, `nodes "a" and "c" both changed field "n"`) {
			t.Errorf("got %s", f.Message)
		}
	})
}

func in(fork string, list []workflow.Node) []workflow.Node {
	for i := range list {
		list[i].Parent = fork
	}
	return list
}

// TestForkMerge checks that the block's own function receives the outputs by branch in declared
// order, and that its result is merged before the continuation (S2-57).
func TestForkMerge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		give map[string]event.Value
		err  error
		want string
	}{
		"merges":  {map[string]event.Value{"n": event.Value("7"), "k": event.Value("9")}, nil, "k=9 l=2 n=7"},
		"nothing": {nil, nil, "k=1 l=2"},
		"fails":   {nil, errors.New("cannot"), "func: cannot"},
		"no JSON": {map[string]event.Value{"n": event.Value("}")}, nil,
			`func: function "mix": field "n": value is not JSON`},
		"panics": {map[string]event.Value{"panic": nil}, nil, `func: function "mix" panicked: oops`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{
				merge: func(_ string, outputs map[string]event.Value, v engine.View) (map[string]event.Value, error) {
					if _, ok := tc.give["panic"]; ok {
						panic("oops")
					}
					if len(outputs) != 3 || v.Node != "f" {
						t.Errorf("merge of %v for %+v", outputs, v)
					}
					return tc.give, tc.err
				}}
			w := writers(t, workflow.Fork{Merge: "mix"}, h, nil)
			if got := stateOf(t, w, map[string]string{"a": "k=1", "b": "l=2"},
				[]string{"c", "a", "b"}); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
