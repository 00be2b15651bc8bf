package conformance_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

// runWithRetry runs one step with a retry policy; its model returns the failures in turn and then
// succeeds. It returns the world and the run.
func runWithRetry(t *testing.T, retry string, failures ...line) (*world, *run) {
	t.Helper()
	w := newWorld(t)
	w.plays("a", failures...).plays("a", say("A"))
	doc := steps("a b", "- {type: agent, name: a"+retry+"}\n- {type: agent, name: b}\n")
	return w, w.runs(doc, "go")
}

// calls returns how often runWithRetry called its agent, and the final status of the run.
func calls(t *testing.T, retry string, failures ...line) (int, event.Status) {
	t.Helper()
	w, r := runWithRetry(t, retry, failures...)
	return len(w.of("a")), r.show().Status
}

func down() line { return fail(model.KindServer, "down") }

var stepsRetry = []rule{
	{name: "S4-12 the first failure in a block cancels the others and fails the run", test: func(t *testing.T) {
		w, never, then := newWorld(t), make(chan struct{}), make(chan struct{})
		defer close(never)
		w.plays("a", say("A").behind(never)).plays("b", fail(model.KindServer, "down").behind(then)).plays("c",
			say("C"))
		r := w.begin(steps("a b c d e f", `
- {id: before, type: agent, name: f}
- type: parallel
  id: p
  steps:
  - {id: slow, type: agent, name: a}
  - {id: bad, type: agent, name: b}
  - {id: quick, type: agent, name: c}
  - type: parallel
    id: inner
    steps: [{id: slow2, type: agent, name: d}]
- {id: after, type: agent, name: e}
`), "go")
		synctest.Wait()
		same(t, "asked at once", w.askedSorted(), []string{"a", "b", "c", "d", "f"})
		for _, who := range []string{"a", "b", "c", "d"} {
			same(t, "siblings do not see each other", w.prompt(who), prior("go", "before (agent: f)", "f said"))
		}
		before := time.Now()
		close(then)
		o := r.is(event.StatusFailed)
		same(t, "time to the end", time.Since(before), 0)
		_, cut := w.over()
		same(t, "cut off", cut, []string{"a"})
		same(t, "error", asJSON(o.Error), `{"code":"server","message":"down","node":"bad"}`)
		status := map[string]string{}
		for _, s := range o.Steps {
			status[s.Node] = string(s.Status)
		}
		same(t, "steps", status, map[string]string{"before": "completed", "p": "failed", "slow": "cancelled",
			"bad": "failed", "quick": "completed", "inner": "completed", "slow2": "completed"})
		same(t, "asked", slices.Contains(w.asked(), "e"), false)

		// The block waits for all children.
		w, then = newWorld(t), make(chan struct{})
		w.plays("a", say("A").behind(then))
		r = w.begin(
			steps("a b c", "- {type: parallel, id: p, steps: [{type: agent, name: a}, {type: agent, name: b}]}\n- "+
				"{type: agent, name: c}\n"), "go")
		synctest.Wait()
		same(t, "asked while a child runs", w.askedSorted(), []string{"a", "b"})
		close(then)
		r.is(event.StatusCompleted)
		same(t, "asked", len(w.asked()), 3)
	}},
	{name: "S4-20 max_attempts counts the calls after the first", test: func(t *testing.T) {
		for retry, most := range map[string]int{"": 1, ", retry: {}": 1, ", retry: {max_attempts: 0}": 1,
			", retry: {max_attempts: 1}": 2, ", retry: {max_attempts: 2}": 3} {
			failures := []line{}
			for range most - 1 {
				failures = append(failures, down())
			}
			n, status := calls(t, retry, failures...)
			same(t, "calls that succeed at last with"+retry, n, most)
			same(t, "status with"+retry, status, event.StatusCompleted)
			n, status = calls(t, retry, append(failures, down())...)
			same(t, "calls that all fail with"+retry, n, most)
			same(t, "status with"+retry, status, event.StatusFailed)
		}
		w, r := runWithRetry(t, ", retry: {max_attempts: 2}", down(), down())
		same(t, "what the next step sees", w.prompt("b"), prior("go", "a (agent: a)", "A"))
		same(t, "prompts of the attempts", w.prompts("a"), []string{"go", "go", "go"})
		same(t, "context", r.stepContext(), `{"a":{"output":"A","agent":"a"},"b":{"output":"b said","agent":"b"}}`)
	}},
	{name: "S4-21 the time between attempts", test: func(t *testing.T) {
		const s = time.Second
		for backoff, want := range map[string][]time.Duration{
			"":                       {0, 0, 0, 0},
			", backoff: fixed":       {s, s, s, s},
			", backoff: exponential": {s, 2 * s, 4 * s, 8 * s},
			", backoff: {type: fixed, initial_delay_seconds: 3}":         {3 * s, 3 * s, 3 * s, 3 * s},
			", backoff: {type: exponential, initial_delay_seconds: 0.5}": {s / 2, s, 2 * s, 4 * s},
			", backoff: {type: exponential}":                             {s, 2 * s, 4 * s, 8 * s},
		} {
			w, r := runWithRetry(t, ", retry: {max_attempts: 4"+backoff+"}", down(), down(), down(), down())
			r.is(event.StatusCompleted)
			same(t, "pauses with"+backoff, w.pauses()[:4], want)
		}
		w := newWorld(t)
		w.plays("a", down(), down(), say("A"))
		w.completes(
			steps("a b", "- type: parallel\n  id: p\n  retry: {max_attempts: 2, backoff: exponential}\n  steps: "+
				"[{type: agent, name: a}]\n"), "go")
		same(t, "pauses of a block", w.pauses(), []time.Duration{s, 2 * s})
	}},
	{name: "S4-22 retry.on names what is retried", test: func(t *testing.T) {
		for _, c := range []struct {
			on   string
			kind model.ErrorKind
			text string
			want int
		}{
			{`[rate_limit]`, model.KindRateLimit, "slow down", 2},
			{`["rate limit"]`, model.KindRateLimit, "slow down", 2},
			{`[RATE_LIMIT]`, model.KindRateLimit, "slow down", 2},
			{`[rate_limit]`, model.KindServer, "Rate Limit reached", 2},
			{`[timeout, rate_limit]`, model.KindTimeout, "too late", 2},
			{`[timeout]`, model.KindServer, "a gateway timeout happened", 2},
			{`[timeout]`, model.KindServer, "down", 1},
			{`[time out]`, model.KindTimeout, "late", 1},
			{`[overload]`, model.KindOverloaded, "busy", 2},
			{`["do.n"]`, model.KindServer, "down", 1},
		} {
			n, _ := calls(t, ", retry: {max_attempts: 5, on: "+c.on+"}", fail(c.kind, c.text))
			same(t, "calls after "+string(c.kind)+" "+c.text+" with on "+c.on, n, c.want)
		}
		n, _ := calls(t, ", retry: {max_attempts: 5}", fail(model.KindAuth, "no"),
			fail(model.KindInvalidRequest, "never"))
		same(t, "calls without on", n, 3)
	}},
	{name: "S4-23 a block is retried as a whole", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "A1", "A2").plays("b", down().slow(), say("B2")).says("d", "D1", "D2")
		r := w.runs(steps("a b c d", `
- type: parallel
  id: p
  retry: {max_attempts: 1}
  steps:
  - {id: x, type: agent, name: a}
  - {id: deep, type: parallel, steps: [{id: z, type: agent, name: d}]}
  - {id: y, type: agent, name: b}
- {type: agent, name: c}
`), "go")
		o := r.is(event.StatusCompleted)
		same(t, "calls", []int{len(w.of("a")), len(w.of("b")), len(w.of("d"))}, []int{2, 2, 2})
		same(t, "prompt behind", w.prompt("c"), prior("go", "p/x (agent: a)", "A2", "p/deep/z (agent: d)", "D2",
			"p/y (agent: b)", "B2"))
		for _, s := range o.Steps {
			if s.Node == "p" {
				same(t, "attempt of the block", s.Attempt, 2)
			}
		}
		w = newWorld(t)
		w.plays("b", down().slow(), down().slow(), down().slow())
		o = w.runs(
			steps("a b c", "- type: parallel\n  id: p\n  retry: {max_attempts: 2}\n  steps: [{type: agent, name: a}, "+
				"{type: agent, name: b}]\n- {type: agent, name: c}\n"), "go").is(event.StatusFailed)
		same(t, "calls of a block that always fails", []int{len(w.of("a")), len(w.of("b")), len(w.of("c"))},
			[]int{3, 3, 0})
		// A child's own retry takes precedence.
		w = newWorld(t)
		w.plays("b", down().slow(), down().slow(), down().slow(), say("B"))
		w.completes(
			steps("a b", "- type: parallel\n  id: p\n  retry: {max_attempts: 1}\n  steps: [{type: agent, name: a}, "+
				"{type: agent, name: b, retry: {max_attempts: 1}}]\n"), "go")
		same(t, "calls with both", []int{len(w.of("a")), len(w.of("b"))}, []int{2, 4})
	}},
	{name: "S4-24 attempts of one execution are one step, and a condition has none", test: func(t *testing.T) {
		_, r := runWithRetry(t, ", retry: {max_attempts: 3}", down(), down())
		o := r.show()
		same(t, "steps", len(o.Steps), 2)
		same(t, "attempt and iteration", []int{o.Steps[0].Attempt, o.Steps[0].Iteration}, []int{3, 1})
		same(t, "model calls", o.Usage.ModelCalls, 4)
		got := refused(t,
			steps("a b", "- {type: agent, name: a}\n- {type: condition, condition: \"{{ $steps.a.output }}\", true: "+
				"[{type: agent, name: b}], retry: {max_attempts: 1}}\n"))
		if len(got) != 1 || !strings.HasPrefix(got[0], "workflow step[1]: ") {
			t.Errorf("errors of a condition with retry: %q", got)
		}
		for _, retry := range []string{"{max_attempts: -1}", "{max_attempts: two}",
			"{max_attempts: 1, backoff: linear}", "{max_attempts: 1, backoff: {kind: fixed}}",
			"{max_attempts: 1, on: {}}", "3"} {
			if got := refused(t, steps("a", "- {type: agent, name: a, retry: "+retry+"}\n")); len(got) != 1 {
				t.Errorf("errors of retry %s: %q, want one", retry, got)
			}
		}
	}},
}

func TestStepsRetry(t *testing.T) { check(t, stepsRetry) }

func TestStepsRetryCovered(t *testing.T) {
	covered(t, stepsRetry, "S4-12", "S4-20", "S4-21", "S4-22", "S4-23", "S4-24")
}
