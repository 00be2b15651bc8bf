package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// stepsPeople holds the rules about answers from people and signals from other programs.
var stepsPeople = []rule{
	{name: "X-120 answers are completed and then checked as a whole", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", `
- {id: q, type: ask, prompt: How many?, schema: {type: object, required: [n, unit], properties: {n: {type: integer, `+
			`maximum: 9}, unit: {enum: [m, km], default: m}, day: {type: string, format: date}}}}
`), "go")
		err := r.answer(map[string]any{"n": 10, "unit": "mile", "day": "soon"})
		if !errors.Is(err, waits.ErrAnswer) || !strings.Contains(err.Error(), "/n must be at most 9") ||
			!strings.Contains(err.Error(), "/unit must be") {
			t.Errorf("all that is wrong: %v", err)
		}
		if err := r.answer(map[string]any{"n": 1, "day": "soon"}); err == nil ||
			!strings.Contains(err.Error(), "/day must be a date") {
			t.Errorf("a format: %v", err)
		}
		same(t, "open", len(r.is(event.StatusPaused).Waiting), 1)
		r.answers(map[string]any{"n": "3"})
		r.answers(map[string]any{"n": 3, "unit": "m"}) // the same answer again
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"n":3,"unit":"m"}`)
	}},
	{name: "X-121 waits are called by what they wait for", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(
			steps("a", "- {id: p, type: approval}\n- {id: q, type: ask, prompt: Why?}\n- {id: s, type: signal, "+
				"signal: sent}\n"), "go")
		r.answers("approve")
		r.answers("so")
		r.signals("sent", 1)
		for i, want := range []string{"approval", "ask", "signal"} {
			same(t, "kind", r.is(event.StatusCompleted).Steps[i].Kind, want)
		}
	}},
	{name: "X-122 only those with a role answer", test: func(t *testing.T) {
		for _, doc := range []string{
			steps("a", "- {id: q, type: approval, roles: [edit, ann]}\n"),
			steps("a", "- {id: q, type: ask, prompt: Why?, options: [approve, x], roles: [edit, ann]}\n"),
		} {
			w, _ := withTools(t)
			r := w.runs(doc, "go")
			same(t, "roles", strings.Join(r.is(event.StatusPaused).Waiting[0].Roles, " "), "edit ann")
			token := func(name, role string) event.Actor {
				return event.Actor{Name: name, Token: "t", Role: role, Channel: event.ChannelHTTP}
			}
			for _, by := range []event.Actor{
				token("ben", "run"), token("edit", "run"), token("local", "run"), event.LocalBy(event.ChannelMCP),
				event.LocalBy(event.ChannelApproveAll), {Name: "ben", Channel: event.ChannelLink},
			} {
				err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: by, Value: event.Value(`"approve"`)})
				if !errors.Is(err, waits.ErrRole) || service.Describe(err).Code != errcode.WaitRole {
					t.Errorf("answered by %+v: %v", by, err)
				}
			}
			same(t, "open", len(r.is(event.StatusPaused).Waiting), 1)
			if err := w.Answer(t.Context(), r.id,
				service.AnswerRequest{By: token("ann", "run"), Value: event.Value(`"approve"`)}); err != nil {
				t.Fatal(err)
			}
			same(t, "by", r.is(event.StatusCompleted).Answers[0].By, token("ann", "run"))
		}
		for _, roles := range []string{"[]", "[\"\"]", "[ann, ann]", "ann"} {
			if len(refused(t, steps("a", "- {id: q, type: approval, roles: "+roles+"}\n"))) == 0 {
				t.Errorf("roles: %s was taken", roles)
			}
		}
		// A wait of a child run is answered by the people whom the child run names.
		w := newWorld(t)
		w.storeDocument("asks", steps("a", "- {id: q, type: ask, prompt: Which?, roles: [ann]}\n"))
		r := w.runs(steps("a", "- {type: workflow, workflow: asks}\n"), "go")
		same(t, "roles of the run below", strings.Join(r.is(event.StatusPaused).Waiting[0].Roles, " "), "ann")
		by := event.Actor{Name: "ben", Token: "t", Role: "admin", Channel: event.ChannelHTTP}
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: by, Value: event.Value(`"Ulm"`)}); !errors.Is(
			err, waits.ErrRole) {
			t.Errorf("an answer through the run above: %v", err)
		}
		by.Name, by.Role = "ann", "run"
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: by, Value: event.Value(`"Ulm"`)}); err != nil {
			t.Error(err)
		}
		same(t, "output", string(r.is(event.StatusCompleted).Output), `"Ulm"`)
	}},
	{name: "X-123 a signal reaches the run below that waits for it", test: func(t *testing.T) {
		w := newWorld(t)
		w.storeDocument("below", steps("a", "- {id: s, type: signal, signal: paid, filter: \"{{ $signal.n > 1 }}\"}\n"))
		r := w.runs(steps("a",
			"- {id: c, type: workflow, workflow: below}\n- {type: end, output: \"{{ $steps.c.output.n }}\"}\n"), "go")
		o := r.is(event.StatusPaused)
		same(t, "what the run above waits for", o.Waiting[0].Kind+" "+o.Waiting[0].Signal, "signal paid")
		below := r.childRuns()[0]
		// rejected by the filter: kept in the child run
		if _, err := r.signal("paid", map[string]int{"n": 1}, "k1"); err != nil {
			t.Fatal(err)
		}
		r.is(event.StatusPaused)
		below.is(event.StatusPaused)
		for range 2 {
			if _, err := r.signal("paid", map[string]int{"n": 2}, "k2"); err != nil &&
				!errors.Is(err, engine.ErrEnded) {
				t.Fatal(err)
			}
		}
		same(t, "output of the run below", string(below.is(event.StatusCompleted).Output), `{"n":2}`)
		same(t, "output", string(r.is(event.StatusCompleted).Output), `2`)

		r = w.runs(steps("a", "- {id: c, type: workflow, workflow: below}\n"), "go")
		r.childRuns()[0].signals("paid", map[string]int{"n": 3}) // sent directly to the child run
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"n":3}`)
	}},
}

func TestStepsPeople(t *testing.T) { check(t, stepsPeople) }

func TestStepsPeopleCovered(t *testing.T) {
	covered(t, stepsPeople, "X-120", "X-121", "X-122", "X-123")
}
