package conformance_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// chosen runs an if node on an input and returns the agents after the handles that were taken: c0,
// c1, … for conditions, otherwise no.
func chosen(t *testing.T, input, node string) []string {
	t.Helper()
	w := newWorld(t)
	w.completes(canvas("s -> q; q:condition-0 -> c0; q:condition-1 -> c1; q:condition-2 -> c2; q:false -> no",
		append(agents("c0 c1 c2 no"), start(), node)...), input)
	return w.asked()
}

var canvasIf = []rule{
	{name: "S0-20 conditions compare the previous output in lower case, and the first match wins",
		test: func(t *testing.T) {
			for _, c := range []struct{ input, condition, want string }{
				{"yes", "equal yes", "c0"},
				{"YES", "equal yes", "c0"},
				{"yes", "equal YES", "c0"},
				{"yes", "equal  Yes ", "c0"},
				{" yes ", "equal yes", "no"}, // the input is not trimmed
				{"yes ", "equal yes ", "no"},
				{" yes ", "contains yes", "c0"},
				{"oh yes!", "equal yes", "no"},
				{"oh YES!", "contains  yEs  ", "c0"},
				{"ÄRGER", "contains ärger", "c0"},
				{"a.c", "contains a.c", "c0"},
				{"abc", "contains a.c", "no"},
				{"no", "contains yes", "no"},
			} {
				same(t, c.input+" against "+c.condition, chosen(t, c.input, gate("q", c.condition)), []string{c.want})
			}
			same(t, "first match", chosen(t, "hot dog", gate("q", "equal dog", "contains dog", "contains hot")),
				[]string{"c1"})
			same(t, "no match", chosen(t, "bird", gate("q", "equal dog", "contains dog", "contains hot")),
				[]string{"no"})
		}},
	{name: "S0-21 an empty operand never matches, and an unknown operator is an error", test: func(t *testing.T) {
		for _, op := range []string{"equal", "contains"} {
			for _, value := range []string{"", `   `} {
				same(t, op+" with an empty value", chosen(t, "", gate("q", op+" "+value)), []string{"no"})
			}
		}
		same(t, "no value at all",
			chosen(t, "", node("q", "if",
				`{"conditions":[{"operator":"contains"},{"operator":"equal","value":null}]}`)), []string{"no"})
		for op, hint := range map[string]string{
			"startsWith": "the operators are equal, contains, less, less_or_equal, greater, greater_or_equal",
			"equals":     `did you mean "equal"?`, "Contains": `did you mean "contains"?`,
			">=": "write greater_or_equal",
		} {
			_, problems := read(t, canvas("s -> q", start(), gate("q", op+" 1")))
			for _, d := range problems {
				if d.Severity == diag.Error && (d.Message != fmt.Sprintf("unknown operator %q", op) || d.Hint != hint) {
					t.Errorf("%s: %v", op, d)
				}
			}
			same(t, "errors of "+op, problems.HasErrors(), true)
		}
		same(t, "no operator", chosen(t, "dog", node("q", "if", `{"conditions":[{"value":"Dog"}]}`)), []string{"c0"})
	}},
	{name: "S0-22 handles name conditions, false is the rest, and true is condition-0", test: func(t *testing.T) {
		doc := func(edges string) string {
			return canvas("s -> q; "+edges, append(agents("a b c"), start(), gate("q", "equal one", "equal two"))...)
		}
		for _, c := range []struct {
			input, edges string
			want         []string
		}{
			{"one", "q:condition-0 -> a; q:condition-1 -> b; q:false -> c", []string{"a"}},
			{"two", "q:condition-0 -> a; q:condition-1 -> b; q:false -> c", []string{"b"}},
			{"three", "q:condition-0 -> a; q:condition-1 -> b; q:false -> c", []string{"c"}},
			{"one", "q:true -> a; q:false -> b", []string{"a"}},
			{"two", "q:true -> a; q:false -> b", []string{}},
			{"one", "q:true -> a; q:condition-0 -> b", []string{"a", "b"}},
			{"one", "q:condition-0 -> b; q:true -> a", []string{"a", "b"}},
			{"one", "q -> a; q:condition-7 -> b; q:Condition-0 -> c", []string{}},
		} {
			w := newWorld(t)
			w.completes(doc(c.edges), c.input)
			same(t, c.input+" along "+c.edges, w.askedSorted(), c.want)
		}
		w, hold := newWorld(t), make(chan struct{})
		w.plays("a", say("A").behind(hold)).plays("b", say("B").behind(hold))
		r := w.begin(doc("q:true -> a; q:condition-0 -> b"), "one")
		synctest.Wait()
		same(t, "asked at once", w.askedSorted(), []string{"a", "b"})
		close(hold)
		r.is(event.StatusCompleted)
	}},
	{name: "S0-23 an old condition is one contains condition, where there are no others", test: func(t *testing.T) {
		for _, c := range []struct{ input, data, want string }{
			{"hot dog", `{"condition":"DOG"}`, "c0"},
			{"bird", `{"condition":"dog"}`, "no"},
			{"hot dog", `{"conditions":[],"condition":"dog"}`, "c0"},
			{"hot dog", `{"conditions":null,"condition":"dog"}`, "c0"},
			{"hot dog", `{"conditions":[{"operator":"equal","value":"dog"}],"condition":"dog"}`, "no"},
			{"", `{"condition":""}`, "no"},
		} {
			same(t, c.input+" with "+c.data, chosen(t, c.input, node("q", "if", c.data)), []string{c.want})
		}
	}},
	{name: "S0-24 the log tells each condition that was evaluated", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(canvas("s -> q", start(), gate("q", "equal cat", "contains DOG", "contains hot")), "hot dog")
		r.is(event.StatusCompleted)
		same(t, "log", r.logOf("q logic_check"), []string{
			`q logic_check Condition 1 (equal "cat") evaluated as false`,
			`q logic_check Condition 2 (contains "DOG") evaluated as true`,
		})
		r = newWorld(t).runs(canvas("s -> q", start(), gate("q", `equal  say "hi" `, "contains ")), "bird")
		same(t, "operands as they are written", r.logOf("q logic_check"), []string{
			`q logic_check Condition 1 (equal " say "hi" ") evaluated as false`,
			`q logic_check Condition 2 (contains "") evaluated as false`,
		})
		r = newWorld(t).runs(canvas("s -> q", start(), node("q", "if", `{"condition":"Bird"}`)), "bird")
		same(t, "old condition", r.logOf("q logic_check"),
			[]string{`q logic_check Condition 1 (contains "Bird") evaluated as true`})
	}},
	{name: "S0-25 an if hands on what it got, has no state, and may end a branch", test: func(t *testing.T) {
		w := newWorld(t)
		doc := canvas("s -> q1:condition-0 -> q2:false -> a", start(), gate("q1", "contains dog"),
			gate("q2", "equal x"), agent("a"))
		o := w.completes(doc, " Hot DOG ")
		same(t, "prompt", w.prompt("a"), " Hot DOG ")
		same(t, "state", asJSON(o.State), `{"a":"a said","s":" Hot DOG "}`)

		w = newWorld(t)
		dead := canvas("s -> a -> q; q:condition-0 -> b", append(agents("a b"), start(), gate("q", "equal yes"))...)
		_, problems := load(t, dead)
		same(t, "errors of a branch that may end", messages(problems, diag.Error), nil)
		o = w.completes(dead, "go")
		same(t, "asked", w.asked(), []string{"a"})
		same(t, "output", text(o.Output), "a said")
	}},
}

func TestCanvasIf(t *testing.T) { check(t, canvasIf) }

func TestCanvasIfCovered(t *testing.T) {
	covered(t, canvasIf, "S0-20", "S0-21", "S0-22", "S0-23", "S0-24", "S0-25")
}
