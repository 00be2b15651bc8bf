package conformance_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestStepKinds checks D13: the entries of a run use the terms of its document, and an approval
// shows its decision.
func TestStepKinds(t *testing.T) {
	t.Parallel()
	kinds := func(r *run) map[string]string {
		out := map[string]string{}
		for _, s := range r.show().Steps {
			out[s.Node] = s.Kind
			if s.Decision != "" {
				out[s.Node] += " " + s.Decision + ": " + s.Note
			}
		}
		return out
	}
	w := newWorld(t)
	w.says("a", "yes")
	r := w.runs(steps("a b", `
- {id: a, type: agent, name: a}
- {id: p, type: parallel, steps: [{type: condition, id: c, condition: "{{ $steps.a.output }}", true: [{id: b, type: `+
		`agent, name: b}]}]}
`), "go")
	same(t, "steps", kinds(r), map[string]string{"a": "agent", "p": "parallel", "c": "condition", "b": "agent"})

	w = newWorld(t)
	r = w.runs(`{"nodes":[`+node("s", "start", `{}`)+","+gate("if", "contains go")+","+approval("ok")+
		`],"connections":[`+
		`{"source":"s","target":"if"},{"source":"if","target":"ok","sourceHandle":"condition-0"}]}`, "go")
	same(t, "canvas", kinds(r), map[string]string{"s": "start", "if": "if", "ok": "approval"})
	r.answers(map[string]string{"decision": "reject", "note": "too long"})
	r.is(event.StatusCompleted)
	same(t, "canvas, answered", kinds(r),
		map[string]string{"s": "start", "if": "if", "ok": "approval reject: too long"})

	w = newWorld(t)
	w.plays("a", use("think", `{"thought":"1"}`), say(`{"next":"again","n":1}`), say(`{"next":"again","n":2}`))
	r = w.runs(routes("a+* x h", "a:again -> a; a:t -> x; h -> a", `"maxSteps": 3`, `"humanHandoff": "h"`), "hi",
		thinking)
	same(t, "routes", kinds(r), map[string]string{"a": "agent", "x": "tool_executor", "h": "human"})
}
