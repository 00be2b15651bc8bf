package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// digest returns the digest of a document's workflow.
func digest(t *testing.T, doc string) string {
	t.Helper()
	w, _ := load(t, doc)
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// trail returns the trail of a run.
func (r *run) trail() []project.TrailEntry {
	r.w.t.Helper()
	rec := r.recorded()
	return project.Fold(r.id, rec.Workflow, rec.Events).Trail()
}

// beginAllBranches starts all one_time branches, x, y and z, of a document together.
func (w *world) beginAllBranches() *run {
	w.t.Helper()
	var list []string
	for _, id := range []string{"x", "y", "z"} {
		list = append(list, asJSON(roundsGraph("a", "a -> a", `"maxRounds": 2`, `"id": "`+id+`"`)))
	}
	return w.begin(rounds("a", "", `"name": "three", "branches": [`+strings.Join(list, ", ")+`]`), "hi",
		onBranch(service.AllBranches),
		func(q *service.StartRequest) { q.RunID = "p" })
}

var roundsRun = []rule{
	{name: "S1-3 the prompt: instruction, recent turns, last output", test: func(t *testing.T) {
		doc := rounds("a b", "a -> b; b -> a", `"maxRounds": 8, "turnInstruction": "Be brief."`)
		w := newWorld(t)
		w.invents = func(node string, n int) string { return fmt.Sprint(node, n) }
		w.completes(doc, "the task")
		same(t, "first", w.prompts("a")[0], "Be brief.\n\nthe task")
		same(t, "second", w.prompts("b")[0], "Be brief.\n\nRecent turns:\na: a1\n\nOutput from a:\na1")
		same(t, "last, with twelve turns", w.prompts("b")[7],
			"Be brief.\n\nRecent turns:\nb: b2\na: a3\nb: b3\na: a4\nb: b4\na: a5\nb: b5\na: a6\nb: b6\na: a7\nb: "+
				"b7\na: a8\n\nOutput from a:\na8")
		for what, input := range map[string]string{"without any context": "", "blanks are no context": " \n"} {
			for _, instruction := range []string{"", " "} {
				w = newWorld(t)
				w.completes(rounds("a", "", `"turnInstruction": `+asJSON(instruction)), input)
				same(t, what, w.prompt("a"), "Execute your task.")
			}
		}
	}},
	{name: "S1-3 the key context: the previous output alone", test: func(t *testing.T) {
		cycle := func(more ...string) string {
			return rounds("a b", "a -> b; b -> a", append(more, `"maxRounds": 2`)...)
		}
		w := newWorld(t)
		w.completes(cycle(`"context": "previous"`), "the task")
		same(t, "prompts", slices.Concat(w.prompts("a"), w.prompts("b")), []string{"the task", "b said", "a said",
			"a said"})
		w = newWorld(t)
		w.completes(cycle(`"context": "previous", "turnInstruction": "Be brief."`), "the task")
		same(t, "with an instruction", slices.Concat(w.prompts("a"), w.prompts("b")),
			[]string{"Be brief.\n\nthe task", "Be brief.\n\nb said",
				"Be brief.\n\na said", "Be brief.\n\na said"})
		w = newWorld(t)
		w.completes(cycle(`"context": "previous", "inputs": {"topic": null}, "turnInstruction": "On {{ `+
			`$input.topic }}."`),
			"bees")
		same(t, "with an expression", w.prompts("b")[0], "On bees.\n\na said")
		w = newWorld(t)
		w.completes(rounds("a", "", `"context": "previous"`), "")
		same(t, "without any context", w.prompt("a"), "Execute your task.")
		same(t, "turns", digest(t, cycle(`"context": "turns"`)), digest(t, cycle()))
		branches := `"branches": [{"id": "x", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}]},
			{"id": "y", "context": "turns", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}]}]`
		wf, _ := load(t, cycle(`"context": "previous"`, branches))
		same(t, "a branch inherits it", wf.Branches[0].Nodes[0].Agent.Prompt.Mode, workflow.PromptTemplate)
		same(t, "or has its own", wf.Branches[1].Nodes[0].Agent.Prompt.Mode, workflow.PromptTurns)
		same(t, "another word", refused(t, cycle(`"context": "previuos"`)),
			[]string{`the context "previuos" is not known`})
		for _, more := range []string{branches, `"turnInstruction": "Be brief."`, `"turnInstruction": " \n "`} {
			wf, _ := load(t, cycle(`"context": "previous"`, more))
			text, unsupported, err := format.Write(wf, format.Rounds)
			if err != nil || len(unsupported) > 0 {
				t.Fatal(err, unsupported)
			}
			same(t, "written and read again", digest(t, string(text)), digest(t, cycle(`"context": "previous"`, more)))
		}
		chain, _ := load(t, rounds("a b", "a -> b", `"context": "previous", "turnInstruction": "Be brief."`))
		for _, to := range []string{format.Canvas, format.Steps} {
			out, err := format.Convert(chain, to)
			if err != nil || len(out.Meaning()) > 0 {
				t.Fatalf("to %s: %v, %v", to, err, out.Meaning())
			}
			w = newWorld(t)
			w.completes(string(out.Document), "the task")
			same(t, to, slices.Concat(w.prompts("a"), w.prompts("b")), []string{"Be brief.\n\nthe task",
				"Be brief.\n\na said"})
		}
		made, _ := load(t, canvas("s -> a -> b", start(), agent("a"), agent("b")))
		out, err := format.Convert(made, format.Rounds)
		if err != nil || len(out.Meaning()) > 0 {
			t.Fatalf("from a canvas: %v, %v", err, out.Meaning())
		}
		w = newWorld(t)
		w.completes(string(out.Document), "the task")
		same(t, "from a canvas", slices.Concat(w.prompts("a"), w.prompts("b")), []string{"the task", "a said"})
	}},
	{name: "S1-10 two agents of the reference document, ten rounds: twenty agent runs", test: func(t *testing.T) {
		wf, problems := load(t, testdata(t, "rounds/two-agents.json"),
			service.LoadOptions{AgentsFile: "testdata/rounds/agents.json"})
		same(t, "problems", len(problems), 0)
		w := newWorld(t)
		r := w.beginWorkflow(wf, "hi")
		r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), slices.Repeat([]string{"one", "two"}, 10))
		var got []int
		for _, e := range r.trail() {
			got = append(got, e.Round)
		}
		same(t, "rounds of the trail", got, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9})
		same(t, "more rounds than a run has steps by default",
			len(newWorld(t).completes(rounds("a b", "a -> b; b -> a", `"maxRounds": 501`), "hi").Steps), 1002)
	}},
	{name: "S1-11 null, 0 and less are not set", test: func(t *testing.T) {
		for _, n := range []string{"null", "0", "-3"} {
			same(t, "a chain", newWorld(t).runRoutes(rounds("a b", "a -> b", `"maxRounds": `+n), "hi"), "a b = b said")
			same(t, "a cycle", refused(t, rounds("a b", "a -> b; b -> a", `"maxRounds": `+n)),
				[]string{"the cycle a -> b -> a never ends: maxRounds must be a positive number"})
		}
	}},
	{name: "S1-12 a cycle that nothing ends is refused", test: func(t *testing.T) {
		same(t, "a cycle", refused(t, rounds("a b", "a -> b; b -> a")),
			[]string{"the cycle a -> b -> a never ends: maxRounds must be a positive number"})
		same(t, "not through the first", refused(t, rounds("a b c", "a -> b; b -> c; c -> b")),
			[]string{"the cycle b -> c -> b never ends: maxRounds must be a positive number"})
		same(t, "an unreachable cycle", newWorld(t).runRoutes(rounds("a b c", "b -> c; c -> b"), "hi"), "a = a said")
		same(t, "edges are followed", newWorld(t).runRoutes(rounds("a b c", "a -> c"), "hi"), "a c = c said")
	}},
	{name: "S1-13 a full cycle is a return to a node that ran in this round", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(rounds("a b c", "a -> b; b -> c; c -> b", `"maxRounds": 3`), "hi")
		same(t, "run", r.ran(), "a b c b c b c")
		var got []int
		for _, e := range r.trail() {
			got = append(got, e.Round)
		}
		same(t, "rounds of the trail", got, []int{0, 0, 0, 1, 1, 2, 2})
		same(t, "itself", newWorld(t).runRoutes(rounds("a", "a -> a", `"maxRounds": 4`), "hi"), "a a a a = a said")
	}},
	{name: "S1-14 a chain ends at its end", test: func(t *testing.T) {
		same(t, "run", newWorld(t).runRoutes(rounds("a b c", "a -> b; b -> c", `"maxRounds": 5`), "hi"),
			"a b c = c said")
	}},
	{name: "S1-15 the output is that of the node that ran last", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "one", "three").says("b", "two", "four")
		o := w.completes(rounds("a b", "a -> b; b -> a", `"maxRounds": 2`), "hi")
		same(t, "output", text(o.Output), "four")
		same(t, "outputs", map[string]string{"a": text(o.Outputs["a"]), "b": text(o.Outputs["b"])},
			map[string]string{"a": "three", "b": "four"})
	}},
	{name: "S1-24 a run says what it is a run of, and why it was cancelled", test: func(t *testing.T) {
		wf, _ := load(t, testdata(t, "rounds/mixed.json"))
		w, hold := newWorld(t), make(chan struct{})
		w.plays("ann", say("late").behind(hold))
		r := w.beginWorkflow(wf, "hi", onBranch("once"))
		synctest.Wait()
		o := r.show()
		same(t, "status", o.Status, event.StatusRunning)
		same(t, "target", []string{o.TargetType, o.TargetID, o.TargetBranchID}, []string{"workflow", "mixed-1", "once"})
		same(t, "branch", *o.Workflow.Branch, "once")
		same(t, "workflow", []string{*o.Workflow.ID, *o.Workflow.Name}, []string{"mixed-1", "mixed"})
		if err := w.Cancel(t.Context(), r.id, ""); err != nil {
			t.Fatal(err)
		}
		o = r.is(event.StatusCancelled)
		same(t, "error", o.Error.Message, "Run cancelled by user")
		w = newWorld(t)
		o = w.beginWorkflow(wf, "hi").is(event.StatusCompleted)
		if o.Workflow.Branch != nil || o.TargetBranchID != "" {
			t.Errorf("a run of the main graph has the branch %v, %q", o.Workflow.Branch, o.TargetBranchID)
		}
	}},
	{name: "S1-25 the trail: order, round, input, output, where it went, and the failing step",
		test: func(t *testing.T) {
			w := newWorld(t)
			w.says("a", "one", "three").plays("b", say("two"), fail(model.KindServer, "b is broken"))
			r := w.runs(rounds("a b", "a -> b; b -> a", `"maxRounds": 5`), "hi")
			o := r.is(event.StatusFailed)
			same(t, "error", o.Error.Message, "b is broken")
			var got []string
			for _, e := range r.trail() {
				failure := "-"
				if e.Error != nil {
					failure = *e.Error
				}
				got = append(got, fmt.Sprintf("%d %s %s %s round %d: %s = %s, to %q, error %s", e.Order, e.NodeID,
					e.AgentID, e.AgentName, e.Round, text(e.Input), text(e.Output), e.SentToNodeID, failure))
			}
			same(t, "the first was sent its input", string(r.trail()[0].Prompt), "")
			same(t, "prompt", text(r.trail()[1].Prompt), "Recent turns:\na: one\n\nOutput from a:\none")
			same(t, "trail", got, []string{
				`0 a a a round 0: hi = one, to "b", error -`,
				`1 b b b round 0: one = two, to "a", error -`,
				`2 a a a round 1: two = three, to "b", error -`,
				`3 b b b round 1: three = , to "", error b is broken`,
			})
			w = newWorld(t)
			last := w.runs(rounds("a b", "a -> b; b -> a", `"maxRounds": 1`), "hi").trail()[1]
			same(t, "the last output went nowhere", last.SentToNodeID, "")
		}},
	{name: "S1-26 branches run at once, each as a run of its own", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		for range 6 {
			w.plays("a", say("done").behind(hold))
		}
		r := w.beginAllBranches()
		synctest.Wait()
		same(t, "asked at once", w.asked(), []string{"a", "a", "a"})
		close(hold)
		o := r.is(event.StatusCompleted)
		same(t, "output", string(o.Output), `{"x":"done","y":"done","z":"done"}`)
		var used project.Usage
		for _, id := range []string{"x", "y", "z"} {
			child := (&run{w, "p." + id}).is(event.StatusCompleted)
			same(t, "parent", *child.ParentRun, "p")
			same(t, "target", []string{child.TargetType, child.TargetID, child.TargetBranchID},
				[]string{"workflow", "three", id})
			same(t, "steps", len(child.Steps), 2)
			same(t, "usage of a branch", child.Usage.ModelCalls, 2)
			used.InputTokens, used.OutputTokens = used.InputTokens+child.Usage.InputTokens,
				used.OutputTokens+child.Usage.OutputTokens
		}
		same(t, "usage of all (P20)", []int64{o.Usage.InputTokens, o.Usage.OutputTokens, int64(o.Usage.ModelCalls)},
			[]int64{used.InputTokens, used.OutputTokens, 6})
	}},
	{name: "S1-26 the run above takes no call away from its branches", test: func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) { c.MaxCalls = 1 })
		same(t, "output", string(w.beginAllBranches().is(event.StatusCompleted).Output),
			`{"x":"a said","y":"a said","z":"a said"}`)
	}},
	{name: "S1-26 cancelling the run above cancels the branches, and one that fails fails it at the end",
		test: func(t *testing.T) {
			w, hold := newWorld(t), make(chan struct{})
			defer close(hold)
			for range 3 {
				w.plays("a", say("done").behind(hold))
			}
			r := w.beginAllBranches()
			synctest.Wait()
			if err := w.Cancel(t.Context(), "p", ""); err != nil {
				t.Fatal(err)
			}
			r.is(event.StatusCancelled)
			for _, id := range []string{"x", "y", "z"} {
				same(t, "error", (&run{w, "p." + id}).is(event.StatusCancelled).Error.Message, "Run cancelled by user")
			}
			w = newWorld(t)
			w.plays("a", fail(model.KindServer, "broken")).says("a", "1", "2", "3", "4")
			o := w.beginAllBranches().is(event.StatusFailed)
			if !strings.HasSuffix(o.Error.Message, ": broken (server), in run p.x") &&
				!strings.HasSuffix(o.Error.Message, ": broken (server), in run p.y") &&
				!strings.HasSuffix(o.Error.Message, ": broken (server), in run p.z") {
				t.Errorf("error %q", o.Error.Message)
			}
			heads, _, err := w.List(t.Context(),
				journal.Query{Parent: "p", Statuses: []journal.Status{journal.StatusCompleted}})
			same(t, "branches that completed", len(heads), 2)
			same(t, "error", err, nil)
		}},
	{name: "S1-28 run objects of rounds documents carry the target", test: func(t *testing.T) {
		w := newWorld(t)
		o := w.completes(rounds("a", "", `"id": "w1"`), "hi")
		same(t, "target", []string{o.TargetType, o.TargetID, o.TargetBranchID}, []string{"workflow", "w1", ""})
		if got := asJSON(o); !strings.Contains(got, `"targetType":"workflow","targetId":"w1"`) ||
			strings.Contains(got, "targetBranchId") {
			t.Errorf("run object %s", got)
		}
	}},
}

func TestRoundsRun(t *testing.T) { check(t, roundsRun) }

func TestRoundsRunCovered(t *testing.T) {
	covered(t, roundsRun, "S1-3", "S1-10", "S1-11", "S1-12", "S1-13", "S1-14", "S1-15", "S1-24", "S1-25", "S1-26",
		"S1-28")
}
