package conformance_test

import (
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

const joins = `"join":"all"`

// canvasJoin are the rules of `"join": "all"`, which is Hocket's own extension (ADR 49).
var canvasJoin = []rule{
	{name: "S0-40 join waits for all paths and runs once, with their outputs by node in the order of the connections",
		test: func(t *testing.T) {
			w, hold := newWorld(t), make(chan struct{})
			w.plays("a", say("A").behind(hold)).plays("b", say("B")).plays("c", say("C"))
			r := w.begin(canvas("s -> b -> j -> z; s -> a -> j; s -> c -> d -> e -> j",
				append(agents("a b c d e z"), start(), agent("j", joins))...), "go")
			synctest.Wait()
			same(t, "asked while one path is slow", w.askedSorted(), []string{"a", "b", "c", "d", "e"})
			close(hold)
			o := r.is(event.StatusCompleted)
			same(t, "prompts", w.prompts("j"), []string{`{"b":"B","a":"A","e":"e said"}`})
			same(t, "calls behind it", len(w.prompts("z")), 1)
			for _, s := range o.Steps {
				if s.Node == "j/join" {
					t.Errorf("the join is a step: %+v", s)
				}
			}
			if o.Outputs["j/join"] != nil {
				t.Errorf("the join has an output: %s", asJSON(o.Outputs))
			}
		}},
	{name: "S0-40 join does not wait for branches that are not taken, nor for those that ended",
		test: func(t *testing.T) {
			w := newWorld(t)
			w.runs(canvas("s -> q; q:condition-0 -> a -> j; q:false -> b -> j; s -> c -> j; s -> d -> p:approve -> j",
				append(agents("a b c d"), start(), gate("q", "contains go"), gate("p", "contains never"),
					agent("j", joins))...), "go")
			same(t, "prompts", w.prompts("j"), []string{`{"a":"a said","c":"c said"}`})
		}},
	{name: "S0-40 join behind an approval waits for the answer, and for what is queued meanwhile",
		test: func(t *testing.T) {
			for answer, want := range map[string]string{"approve": `{"a":"a said","b2":"b2 said"}`,
				"reject": `{"b2":"b2 said"}`} {
				w := newWorld(t)
				r := w.begin(canvas("s -> ok; ok:approve -> a -> j; s -> b -> b2 -> j",
					append(agents("a b b2"), start(), approval("ok"), agent("j", joins))...), "go")
				r.is(event.StatusPaused)
				same(t, "prompts while it waits", len(w.prompts("j")), 0)
				r.answers(answer)
				r.is(event.StatusCompleted)
				same(t, "prompts after "+answer, w.prompts("j"), []string{want})
			}
		}},
	{name: "S0-40 join runs once where nodes before it ran several times, with all of their outputs",
		test: func(t *testing.T) {
			w, hold := newWorld(t), make(chan struct{})
			w.plays("b", say("B").behind(hold)).plays("c", say("first"), say("second"))
			r := w.begin(canvas("s -> a -> c -> j; s -> b -> c; s -> d -> j",
				append(agents("a b c d"), start(), agent("j", joins))...), "go")
			synctest.Wait()
			same(t, "prompts while one path is slow", len(w.prompts("j")), 0)
			close(hold)
			r.is(event.StatusCompleted)
			same(t, "prompts", w.prompts("j"), []string{`{"c":["first","second"],"d":"d said"}`})
			for doc, want := range map[string]string{
				"s -> a -> c; s -> b -> c; c -> j":              `{"c":["c said","c said"]}`,
				"s -> a -> c; s -> b -> c; c -> d; d -> j":      `{"d":["d said","d said"]}`,
				"s -> a -> p; s -> b -> p; p -> c -> j; p -> j": `{"c":["c said","c said"],"p":["p said","p said"]}`,
			} {
				w := newWorld(t)
				w.completes(canvas(doc, append(agents("a b c d p"), start(), gate("q", "contains x"),
					agent("j", joins))...), "go")
				same(t, "prompts of "+doc, w.prompts("j"), []string{want})
			}
			_, problems := read(t, canvas("s -> a -> j; s -> b", append(agents("a b"), start(), agent("j", joins))...))
			same(t, "one path", messages(problems, diag.Warning),
				[]string{`join has no effect: fewer than two paths lead to "j"`})
		}},
	{name: "S0-40 join in a loop waits anew in each pass", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.begin(canvas("s -> p; p -> a -> j; p -> b -> j; j -> ok; ok:reject -> p",
			append(agents("a b p"), start(), approval("ok"), agent("j", joins))...), "go")
		for _, answer := range []string{"reject", "reject", "approve"} {
			r.is(event.StatusPaused)
			r.answers(answer)
		}
		r.is(event.StatusCompleted)
		same(t, "prompts", w.prompts("j"), []string{`{"a":"a said","b":"b said"}`, `{"a":"a said","b":"b said"}`,
			`{"a":"a said","b":"b said"}`})
	}},
	{name: "S0-46 join never runs where a path to it fails", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", fail(model.KindInvalidRequest, "no"))
		w.begin(canvas("s -> a -> j; s -> b -> j", append(agents("a b"), start(), agent("j", joins))...),
			"go").is(event.StatusFailed)
		same(t, "prompts", len(w.prompts("j")), 0)
	}},
	{name: "S0-20 S0-33 join before an if node and before an approval passes the outputs on", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.begin(canvas("s -> a -> q; s -> b -> q; q:condition-0 -> ok; a -> ok; ok:approve -> z",
			append(agents("a b z"), start(),
				node("q", "if", `{`+joins+`,"conditions":[{"operator":"contains","value":"\"b\":\"b said\""}]}`),
				node("ok", "approval", `{`+joins+`}`))...), "go")
		r.is(event.StatusPaused)
		r.answers("approve")
		r.is(event.StatusCompleted)
		same(t, "prompts", w.prompts("z"), []string{`{"q":{"a":"a said","b":"b said"},"a":"a said"}`})
	}},
}

func TestCanvasJoin(t *testing.T) { check(t, canvasJoin) }
