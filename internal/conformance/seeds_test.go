package conformance_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// example starts a run of an example from the steps reference document, which names agents but
// leaves their definition to the reader.
func (w *world) example(name, input string) *run {
	w.t.Helper()
	wf, problems := load(w.t, testdata(w.t, "steps/"+name),
		service.LoadOptions{AgentsFile: "testdata/steps/agents.json"})
	if name != "conditional.yaml" {
		same(w.t, "problems of "+name, len(problems), 0)
	}
	return w.beginWorkflow(wf, input)
}

// block returns a block of the reference document with its placeholders filled in.
func block(t *testing.T, name string, oldnew ...string) string {
	t.Helper()
	return strings.TrimSuffix(strings.NewReplacer(oldnew...).Replace(testdata(t, "steps/"+name)), "\n")
}

var seeds = []rule{
	{name: "seed4-1 sequential steps", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("generator", "A draft.").says("translator", "Ein Entwurf.").says("publisher", "Out.")
		o := w.example("sequential.yaml", "Write.").is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"generator", "translator", "publisher"})
		same(t, "generator", w.prompt("generator"), "Write.")
		same(t, "translator", w.prompt("translator"), block(t, "block.txt", "step_id", "generator",
			"<generator's output>", "A draft.", "<original user prompt>", "Write."))
		same(t, "publisher", w.prompt("publisher"), prior("Write.", "generator (agent: generator)", "A draft.",
			"translator (agent: translator)", "Ein Entwurf."))
		same(t, "output", text(o.Output), "Out.")
		same(t, "system prompts are the agents'", w.request("publisher").System, "You publish.")
	}},
	{name: "seed4-2 a condition with one rejection", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("qa_agent", denied, approved).says("translator", "first", "second")
		r := w.example("conditional.yaml", "Write.")
		o := r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"generator", "translator", "qa_agent", "translator", "qa_agent",
			"publisher"})
		same(t, "publisher", w.prompt("publisher"), prior("Write.", "gen (agent: generator)", "generator said",
			"trans (agent: translator)", "first",
			"qa (agent: qa_agent)", approved, "back_to_trans (agent: translator)", "second"))
		same(t, "output", text(o.Output), "publisher said")
		same(t, "log of the condition", r.logOf("qa_check logic_check"), []string{
			`qa_check logic_check Condition 1 ({{ $steps.qa.output.is_approved }}) evaluated as false`,
			`qa_check logic_check Condition 1 ({{ $steps.qa.output.is_approved }}) evaluated as true`,
		})
		w = newWorld(t)
		w.says("qa_agent", approved)
		w.example("conditional.yaml", "Write.").is(event.StatusCompleted)
		same(t, "asked without a rejection", w.asked(), []string{"generator", "translator", "qa_agent", "publisher"})
		w = newWorld(t)
		for range 100 {
			w.says("qa_agent", denied)
		}
		o = w.example("conditional.yaml", "Write.").is(event.StatusFailed)
		same(t, "error where nothing is ever approved", o.Error.Message,
			"workflow: max loop iterations exceeded (step: qa, limit: 100)")
	}},
	{name: "seed4-3 parallel steps", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		w.plays("@gen_1", say("One.").behind(hold)).says("@gen_2", "Two.")
		r := w.example("parallel.yaml", "Write.")
		synctest.Wait()
		same(t, "asked before both are done", w.asked(), []string{"generator", "generator"})
		close(hold)
		o := r.is(event.StatusCompleted)
		same(t, "translator", w.prompt("translator"),
			block(t, "block_parallel.txt", "<generator 1 output>", "One.", "<generator 2 output>", "Two.",
				"<original user prompt>", "Write."))
		want := strings.NewReplacer(`"gen_1": { "output": "<last assistant message content>"`,
			`"gen_1": { "output": "One."`,
			`"gen_2": { "output": "<last assistant message content>"`,
			`"gen_2": { "output": "Two."`).Replace(testdata(t, "steps/structure.json"))
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(want)); err != nil {
			t.Fatal(err)
		}
		same(t, "structure of the block's output", string(o.Outputs["par_gen"]), b.String())

		w = newWorld(t)
		w.says("@gen_1", "One.").plays("@gen_2", fail(model.KindServer, "down"))
		o = w.example("parallel.yaml", "Write.").is(event.StatusFailed)
		same(t, "calls of the translator after a failure", len(w.of("translator")), 0)
		same(t, "error", o.Error.Message, "down")
	}},
	{name: "seed4-4 nested parallel steps", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		for _, who := range []string{"generator", "researcher", "summarizer"} {
			w.plays(who, say(who+"!").behind(hold))
		}
		r := w.example("nested.yaml", "Write.")
		synctest.Wait()
		same(t, "asked at once", w.askedSorted(), []string{"generator", "researcher", "summarizer"})
		close(hold)
		r.is(event.StatusCompleted)
		same(t, "publisher", w.prompt("publisher"), prior("Write.", "outer/generator (agent: generator)", "generator!",
			"outer/inner/researcher (agent: researcher)", "researcher!", "outer/inner/summarizer (agent: summarizer)",
			"summarizer!"))
		for _, who := range []string{"generator", "researcher", "summarizer"} {
			w = newWorld(t)
			w.plays(who, down())
			w.example("nested.yaml", "Write.").is(event.StatusFailed)
			same(t, "calls of the publisher after a failure of "+who, len(w.of("publisher")), 0)
		}
	}},
	{name: "seed4-5 retries and a loop together", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("translator", fail(model.KindTimeout, "late"), fail(model.KindRateLimit, "slow down"), say("first"),
			fail(model.KindTimeout, "late"), say("second"))
		w.says("qa_agent", denied, approved)
		w.completes(steps("translator qa_agent publisher", `
- id: trans
  type: agent
  name: translator
  retry:
    max_attempts: 2
    backoff: exponential
    on: ["timeout", "rate_limit"]
- {id: qa, type: agent, name: qa_agent}
- type: condition
  condition: "{{ $steps.qa.output.is_approved }}"
  true: [{type: agent, name: publisher}]
  false: [{id: trans}]
`), "Write.")
		same(t, "asked", w.asked(), []string{"translator", "translator", "translator", "qa_agent", "translator",
			"translator", "qa_agent", "publisher"})
		same(t, "pauses", w.pauses(), []time.Duration{time.Second, 2 * time.Second, 0, 0, time.Second, 0, 0})
		w = newWorld(t)
		w.plays("translator", fail(model.KindServer, "down"))
		w.runs(steps("translator", "- {type: agent, name: translator, retry: {max_attempts: 2, on: [\"timeout\", "+
			"\"rate_limit\"]}}\n"), "").is(event.StatusFailed)
		same(t, "calls after an error of another kind", len(w.asked()), 1)
	}},
	{name: "seed4-6 the command line", outside: true, test: func(t *testing.T) {
		for _, c := range []struct{ arg, in, prompt string }{
			{"", "", "Please proceed."}, {"Translate and publish this draft", "", "Translate and publish this draft"},
			{"-", "Process these items", "Process these items"},
		} {
			f := newFake(t)
			args := []string{"exec", "DOC", "--agents", "testdata/steps/agents.json"}
			if c.arg != "" {
				args = append(args, c.arg)
			}
			got := commandLine(t, f, testdata(t, "steps/sequential.yaml"), c.in, args...)
			same(t, "status", got.status, 0)
			same(t, "output", got.out, "--- Agent: generator ---\ngenerator said\n\n--- Agent: translator ---\n"+
				"translator said\n\n--- Agent: publisher ---\npublisher said\n")
			same(t, "prompt", f.prompt("generator"), c.prompt)
		}
	}},
	{name: "seed0-1 the connections", test: func(t *testing.T) {
		nodes := map[string]string{"start": start(), "agent": agent("a"), "if": gate("q", "contains go"),
			"approval": approval("ok")}
		ids := map[string]string{"start": "s", "agent": "a", "if": "q", "approval": "ok"}
		for line := range strings.Lines(testdata(t, "canvas/connections.txt")) {
			from, to, _ := strings.Cut(
				strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(line, ")", ""), "(", ":")), " -> ")
			source, handle, _ := strings.Cut(from, ":")
			_, in, _ := strings.Cut(to, ":")
			edges, list := ids[source]+":"+handle+" -> a:"+in, []string{nodes["agent"], nodes["start"]}
			if source != "start" {
				edges, list = "s -> "+ids[source]+"; "+edges, append(list, nodes[source])
			}
			w := newWorld(t)
			r := w.runs(canvas(edges, list...), "go")
			if source == "approval" {
				r.answers("approve")
			}
			r.is(event.StatusCompleted)
			same(t, "prompt along "+line, w.prompt("a"), "go")
		}
	}},
	{name: "seed0-2 the answer to an approval", test: func(t *testing.T) {
		form := strings.TrimSpace(testdata(t, "canvas/resume.txt"))
		for _, decision := range []string{"approve", "reject"} {
			w := newWorld(t)
			r := w.runs(gated(), "go")
			o := r.is(event.StatusPaused)
			same(t, "waitingForInput", o.WaitingForInput, true)
			r.answers(json.RawMessage(strings.Replace(form, `"approve" | "reject"`, `"`+decision+`"`, 1)))
			o = r.is(event.StatusCompleted)
			same(t, "recorded answer", string(o.State["ok_approval"]), `{"decision":"`+decision+`","note":""}`)
			same(t, "asked", w.asked(), []string{"w", map[string]string{"approve": "yes", "reject": "no"}[decision]})
		}
	}},
	{name: "seed2-1 the data flow summary", test: func(t *testing.T) {
		cfg := graph.Config{Metadata: map[string]any{"team": "words"}}
		b := newGraph().
			Start(recordsID("node")).
			Then(recordsID("then")).
			Loop(gLoop{Until: func(v graph.View[sheet]) bool { return v.State.N == 2 }}, counts("body")).
			If(func(v graph.View[sheet]) bool { return v.State.Text == "yes" }).Then(recordsID("branch")).EndIf().
			End()
		g := compiled(t, b, cfg)
		same(t, "end", g.Ends(), []string{"merge_4"})
		const way = "node, then, loop_start_1, body, loop_check_2, body, loop_check_2, decision_3"
		for text, want := range map[string]string{"yes": way + ", branch, merge_4", "no": way + ", merge_4"} {
			x := compat.NewExecutor(opened(t, hocket.Config{}), g)
			r, err := x.Run(t.Context(), sheet{Text: text}, gRun{ID: "r"})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "status", r.Status, hocket.StatusCompleted)
			same(t, "visited", strings.Join(r.Snapshot.VisitedNodes, ", "), want)
			same(t, "passes", r.State.N, 2)
			var got []string
			for s, err := range x.Stream(t.Context(), sheet{Text: text}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s.NodeID)
			}
			same(t, "steps", strings.Join(got, ", "), want)
		}
	}},
}

func TestSeeds(t *testing.T) { check(t, seeds) }

func TestSeedsCovered(t *testing.T) {
	covered(t, seeds, "seed4-1", "seed4-2", "seed4-3", "seed4-4", "seed4-5", "seed4-6", "seed0-1", "seed0-2", "seed2-1")
}
