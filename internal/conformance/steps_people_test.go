package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
)

// stepsPeople are the rules about answers of people and signals of other programs.
var stepsPeople = []rule{
	{name: "X-120 answers are completed and then checked as a whole", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", `
- {id: q, type: ask, prompt: How many?, schema: {type: object, required: [n, unit], properties: {n: {type: integer, maximum: 9}, unit: {enum: [m, km], default: m}, day: {type: string, format: date}}}}
`), "go")
		err := r.answer(map[string]any{"n": 10, "unit": "mile", "day": "soon"})
		if !errors.Is(err, engine.ErrAnswer) || !strings.Contains(err.Error(), "/n must be at most 9") || !strings.Contains(err.Error(), "/unit must be") {
			t.Errorf("all that is wrong: %v", err)
		}
		if err := r.answer(map[string]any{"n": 1, "day": "soon"}); err == nil || !strings.Contains(err.Error(), "/day must be a date") {
			t.Errorf("a format: %v", err)
		}
		same(t, "open", len(r.is(engine.StatusPaused).Waiting), 1)
		r.answers(map[string]any{"n": "3"})
		r.answers(map[string]any{"n": 3, "unit": "m"}) // the same answer once more
		same(t, "output", string(r.is(engine.StatusCompleted).Output), `{"n":3,"unit":"m"}`)
	}},
	{name: "X-121 waits are called by what they wait for", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", "- {id: p, type: approval}\n- {id: q, type: ask, prompt: Why?}\n- {id: s, type: signal, signal: sent}\n"), "go")
		r.answers("approve")
		r.answers("so")
		r.signals("sent", 1)
		for i, want := range []string{"approval", "ask", "signal"} {
			same(t, "kind", r.is(engine.StatusCompleted).Steps[i].Kind, want)
		}
	}},
}

func TestStepsPeople(t *testing.T) { check(t, stepsPeople) }

func TestStepsPeopleCovered(t *testing.T) { covered(t, stepsPeople, "X-120", "X-121") }
