package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// loops makes an agent route to itself n times, with different content each time.
func loops(n int) []line {
	var out []line
	for i := range n {
		out = append(out, say(asJSON(row{"next": "again", "n": i})))
	}
	return out
}

// checkHandoff checks that a run waits for a person at node h and that these nodes ran.
func checkHandoff(t *testing.T, r *run, ran string) {
	t.Helper()
	o := r.is(event.StatusPaused)
	same(t, "ran", r.ran(), ran)
	if len(o.Waiting) != 1 || o.Waiting[0].Node != "h" || o.Waiting[0].Kind != "question" {
		t.Fatalf("waiting %s, want a question at h", asJSON(o.Waiting))
	}
}

// handoffEdges holds the edges of a run with a person h: out of a loop of a, and onward from the
// answer.
const handoffEdges = "a:again -> a; h:go -> b; h:stop -> .; h -> c"

var routesRun = []rule{
	{name: "S3-13 fifteen steps may run, the sixteenth is not started", test: func(t *testing.T) {
		doc := routes("a+* x", "a:again -> a; a:t -> x")
		w := newWorld(t)
		w.plays("a", append(loops(14), say("done"))...)
		same(t, "done on step 15", w.runRoutes(doc, "hi"), strings.Repeat("a ", 15)+"= done")
		w = newWorld(t)
		w.plays("a", loops(15)...)
		r := w.runs(doc, "hi")
		o := r.is(event.StatusFailed)
		same(t, "error", o.Error.Message, "step limit of 15 reached")
		same(t, "steps", len(o.Steps), 15)
		same(t, "model calls", len(w.asked()), 15)

		w = newWorld(t)
		for i := range 8 {
			w.plays("a", use("think", fmt.Sprintf(`{"thought":"%d"}`, i)))
		}
		r = w.runs(doc, "hi", thinking)
		r.is(event.StatusFailed)
		same(t, "executors count", r.ran(), strings.TrimSuffix(strings.Repeat("a x ", 7)+"a", " "))

		w = newWorld(t)
		w.plays("a", loops(3)...)
		same(t, "a limit of the document", w.runRoutes(routes("a", "a:again -> a", `"maxSteps": 3`), "hi"),
			"a a a ! step limit of 3 reached")
		w = newWorld(t)
		same(t, "a limit of none", w.runRoutes(routes("a", "", `"maxSteps": 0`), "hi"), " ! step limit of 0 reached")
		w = newWorld(t)
		same(t, "the end is no step", w.runRoutes(routes("a", "a -> .", `"maxSteps": 1`), "hi"), "a = a said")
		w = newWorld(t)
		w.plays("a", append(loops(20), say("done"))...)
		more := 21
		r = w.runs(doc, "hi", func(q *service.StartRequest) { q.Limits.MaxSteps = &more })
		same(t, "a limit of the run", len(r.is(event.StatusCompleted).Steps), 21)
	}},
	{name: "S3-14 after 90 seconds the call in flight is cancelled and the run fails", test: func(t *testing.T) {
		for _, c := range []struct {
			more  string
			after time.Duration
		}{{`"maxSteps": 15`, 90 * time.Second}, {`"timeoutMs": 1500`, 1500 * time.Millisecond}} {
			w := newWorld(t)
			w.plays("a", next("B")).plays("b", say("never").behind(make(chan struct{})))
			begun := time.Now()
			r := w.begin(routes("a b", "a:B -> b", c.more), "hi")
			time.Sleep(c.after) // the bubble's time; a wait would end earlier
			o := r.is(event.StatusFailed)
			same(t, "after", time.Since(begun), c.after)
			same(t, "error", o.Error.Message, fmt.Sprintf("run timed out after %dms", c.after.Milliseconds()))
			synctest.Wait()
			_, cut := w.over()
			same(t, "cut off", cut, []string{"b"})
			same(t, "what was done is kept", text(o.Outputs["a"]), `{"next":"B"}`)
		}
		w := newWorld(t)
		w.plays("a", line{text: "late", delay: 100 * time.Second})
		r := w.begin(routes("a", "", `"timeoutMs": 0`), "hi")
		time.Sleep(100 * time.Second)
		same(t, "without a limit", text(r.is(event.StatusCompleted).Output), "late")
	}},
	{name: "S3-15 a person takes over at the step limit", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", loops(15)...)
		r := w.runs(routes("a b c h", handoffEdges), "hi")
		checkHandoff(t, r, strings.Repeat("a ", 15)+"h")
		same(t, "options", r.show().Waiting[0].Options, []string{"go", "stop"})
		r.answers("go")
		same(t, "output", text(r.is(event.StatusCompleted).Output), "b said")
		said := transcript(w.request("b"))
		same(t, "the answer joins the conversation", said[len(said)-1], "user: go")
	}},
	{name: "S3-15 after an answer steps and clock start again", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", loops(8)...)
		r := w.runs(routes("a b c h", handoffEdges, `"maxSteps": 4`, `"timeoutMs": 60000`), "hi")
		time.Sleep(time.Hour)
		checkHandoff(t, r, "a a a a h")
		wf := routes("a c h", "a:again -> a; c:A -> a", `"maxSteps": 4`, `"timeoutMs": 60000`)
		w = newWorld(t)
		w.plays("a", loops(8)...)
		r = w.runs(wf, "hi")
		time.Sleep(time.Hour)
		r.answers("whatever") // no edge leaves h: the entrypoint follows
		checkHandoff(t, r, "a a a a h a a a a h")
	}},
	{name: "S3-15 a person takes over at the timeout", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", say("never").behind(make(chan struct{})))
		r := w.begin(routes("a b c h", handoffEdges), "hi")
		time.Sleep(90 * time.Second)
		checkHandoff(t, r, "a h")
		synctest.Wait()
		_, cut := w.over()
		same(t, "cut off", cut, []string{"a"})
		r.answers("something else")
		same(t, "another answer takes the ALWAYS edge", text(r.is(event.StatusCompleted).Output), "c said")
		same(t, "ran", r.ran(), "a h c")
	}},
	{name: "S3-15 a person takes over at an oscillation", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", next("B"), next("B"), next("B")).says("b", "no", "no")
		r := w.runs(routes("a b h", "a:B -> b; b -> a; h:stop -> ."), "hi")
		checkHandoff(t, r, "a b a b a h")
		r.answers("stop")
		r.is(event.StatusCompleted)
	}},
	{name: "S3-15 an agent may ask a person by itself", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", next("person"), say("thank you"))
		r := w.runs(routes("a p", "a:person -> p"), "hi")
		r.is(event.StatusPaused)
		r.answers("forty-two") // no edge leaves p: the entrypoint follows
		same(t, "output", text(r.is(event.StatusCompleted).Output), "thank you")
		same(t, "conversation", transcript(w.of("a")[1]), []string{"user: hi", `assistant: {"next":"person"}`,
			"user: forty-two"})
	}},
	{name: "S3-15 a limit of no steps asks a person each time", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(routes("a h", "h:stop -> .", `"maxSteps": 0`), "hi")
		checkHandoff(t, r, "h")
		r.answers("go on")
		checkHandoff(t, r, "h h")
		r.answers("stop")
		same(t, "output", text(r.is(event.StatusCompleted).Output), "stop")
		same(t, "asked", w.asked(), []string{})
	}},
	{name: "S3-15 the document may name the handoff", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", loops(2)...)
		r := w.runs(routes("a p h", "a:again -> a", `"maxSteps": 2`, `"humanHandoff": "p"`), "hi")
		r.is(event.StatusPaused)
		same(t, "ran", r.ran(), "a a p")
	}},
	{name: "S3-15 no person to hand over to", test: func(t *testing.T) {
		w := newWorld(t)
		for range 15 {
			w.plays("a", next("again"))
		}
		same(t, "an oscillation runs into the limit", w.runRoutes(routes("a", "a:again -> a"), "hi"),
			strings.Repeat("a ", 15)+"! step limit of 15 reached")
	}},
	{name: "S3-16 several calls of one reply are one step, in order; the last one chooses", test: func(t *testing.T) {
		doc := routes("a+* b c x", "a -> x; x:think -> b; x:create_todo -> c")
		for _, c := range []struct {
			first, second, then string
		}{{"think", "create_todo", "c"}, {"create_todo", "think", "b"}} {
			w := newWorld(t)
			w.plays("a", use(c.first, `{"thought":"hm","description":"buy"}`, c.second,
				`{"thought":"hm","description":"buy"}`))
			r := w.runs(doc, "hi", thinking)
			r.is(event.StatusCompleted)
			same(t, "ran", r.ran(), "a x "+c.then)
			var order []string
			for _, e := range r.recorded().Events {
				switch d := e.Data.(type) {
				case *event.ToolCalled:
					order = append(order, "call "+d.Tool)
				case *event.ToolReturned:
					order = append(order, "return")
				case *event.ToolFailed:
					order = append(order, "fail")
				}
			}
			if len(order) != 4 || order[0] != "call "+c.first || order[2] != "call "+c.second {
				t.Errorf("order of calls %v, want %s, its end, %s, its end", order, c.first, c.second)
			}
		}
	}},
	{name: "S3-17 a tool that fails or does not exist gives its error as result, and the run goes on",
		test: func(t *testing.T) {
			w := newWorld(t)
			w.plays("a", use("nobody_has_this", `{}`)).plays("a", use("think", `{"thought":7}`)).plays("a",
				use("think", `"hm"`)).plays("a", say("done"))
			r := w.runs(routes("a+* b x", "a -> x; x:other -> b"), "hi", thinking)
			same(t, "output", text(r.is(event.StatusCompleted).Output), "done")
			same(t, "ran", r.ran(), "a x a x a x a")
			var errors []string
			for _, m := range w.of("a")[3].Messages {
				if m.IsError {
					errors = append(errors, m.ToolName)
				}
			}
			same(t, "results that are errors", errors, []string{"nobody_has_this", "think", "think"})
			w = newWorld(t)
			w.plays("a", use("nobody_has_this", `{}`))
			same(t, "its edge is taken too", w.runRoutes(routes("a+* b x", "a -> x; x:nobody_has_this -> b"), "hi"),
				"a x b = b said")
		}},
	{name: "S3-22 the output is the reply's text, else the message of end, else the last text", test: checkAll(
		choice{"text", "a b", "a -> b", []string{conversational},
			map[string][]line{"b": {use("end", `{"message":"Bye."}`).saying("The answer.")}}, "a b = The answer."},
		choice{"message", "a b", "a -> b", []string{conversational},
			map[string][]line{"b": {use("end", `{"message":"Bye."}`)}}, "a b = Bye."},
		choice{"last text", "a b", "a -> b", []string{conversational}, map[string][]line{"b": {use("end", `{}`)}},
			"a b = a said"},
		choice{"content of the routing tool", "a b", "a:END -> .", nil, map[string][]line{"a": {route("END", "Fine.")}},
			"a = Fine."},
		choice{"last text after the routing tool", "a b", "a -> b; b:END -> .", nil,
			map[string][]line{"b": {use("route_to", `{"next":"END"}`)}}, "a b = a said"},
		choice{"the message of end, after a call of the routing tool", "a b", "a:B -> b", []string{conversational},
			map[string][]line{
				"a": {use("route_to", `{"next":"B","content":"over to b"}`, "end", `{"message":"Bye."}`)},
			}, "a = Bye."},
		choice{"a call without words takes none away", "a b", "a:B -> b; b -> .", []string{conversational},
			map[string][]line{"a": {use("route_to", `{"next":"B","content":"that is all"}`, "end", `{}`)}},
			"a = that is all"},
		choice{"nothing at all", "a", "", []string{conversational}, map[string][]line{"a": {use("end", `{}`)}}, "a = "},
	)},
	{name: "S3-23 all agents share one list of messages, each with its own system prompt", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", route("B", "please").saying("I pass on."), use("end", `{"message":"Bye."}`)).plays("b",
			think.saying("Hm."), next("A"))
		w.completes(routes("a b+* x", "a:B -> b; b:A -> a; b -> x", conversational), "hi", thinking)
		const mine, others = `[route_to {"content":"please","next":"B"}]`,
			"\n" + `[calls route_to {"content":"please","next":"B"}]`
		same(t, "a at first", transcript(w.of("a")[0]), []string{"user: hi"})
		same(t, "b at first", transcript(w.of("b")[0]), []string{"user: hi", "user: a: I pass on." + others,
			"user: [route_to returned] routed to B"})
		same(t, "b after its tool", transcript(w.of("b")[1]), []string{
			"user: hi", "user: a: I pass on." + others, "user: [route_to returned] routed to B",
			`assistant: Hm.[think {"thought":"hm"}]`, "tool: Thoughts:\nhm"})
		same(t, "a at last", transcript(w.of("a")[1]), []string{
			"user: hi", "assistant: I pass on." + mine, "tool: routed to B",
			"user: b: Hm.\n" + `[calls think {"thought":"hm"}]`, "user: [think returned] Thoughts:\nhm",
			`user: b: {"next":"A"}`})
		for _, agent := range []string{"a", "b"} {
			for _, q := range w.of(agent) {
				if !strings.HasPrefix(q.System, "You are "+agent+".") || strings.Count(q.System, "You are") != 1 {
					t.Errorf("system prompt of %s: %q", agent, q.System)
				}
			}
		}
		w = newWorld(t)
		w.plays("a", next("A"), say("done"))
		w.completes(routes("a", "a:A -> a"), "hi")
		same(t, "a list ends with a message of another speaker", transcript(w.of("a")[1]),
			[]string{"user: hi", `assistant: {"next":"A"}`, "user: Go on."})
		w = newWorld(t)
		o := w.completes(routes("a b", "a -> b"), "")
		same(t, "a run without input", transcript(w.of("a")[0]), []string{"user: Execute your task."})
		same(t, "the agent after it", transcript(w.of("b")[0]), []string{"user: Execute your task.", "user: a: a said"})
		same(t, "the step shows what was sent", text(o.Steps[0].Input), "Execute your task.")
	}},
}

func TestRoutesRun(t *testing.T) { check(t, routesRun) }

func TestRoutesRunCovered(t *testing.T) {
	covered(t, routesRun, "S3-13", "S3-14", "S3-15", "S3-16", "S3-17", "S3-22", "S3-23")
}
