package conformance_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
	"github.com/hocket-run/hocket/workflow"
)

// forbidden are tools that exist in the world but are not listed by any agent of these tests.
var forbidden = []string{
	"shell", "send_mail", "delete_everything", "write_file", "transfer_money", "approve", "resume_run", "admin",
	"route_admin", "tool_executor", "LOOKUP", "lookup_admin",
	"answer_wait", "hold",
}

// poisons reads the corpus.
func poisons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range txtar.Parse([]byte(testdata(t, "injection.txtar"))).Files {
		all[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	if len(all) < 50 {
		t.Fatalf("the corpus has %d texts", len(all))
	}
	return all
}

// poisonedWorld returns a world whose tool lookup returns a poisoned text, along with forbidden
// tools that record their calls. Every model in it obeys: it calls every tool that the text or the
// list of forbidden tools names, by its exact name and trimmed, and then replies with the text
// itself.
func poisonedWorld(t *testing.T, poison, lookup string, more ...tool.Tool) (w *world, called func() []string) {
	t.Helper()
	var all []*tooltest.Tool
	given := &tooltest.Tool{Name: lookup, Retry: true, Fn: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: poison}, nil
	}}
	tools := append([]tool.Tool{given}, more...)
	for _, name := range forbidden {
		f := &tooltest.Tool{Name: name, Retry: true}
		all, tools = append(all, f), append(tools, f)
	}
	w = newWorld(t, func(c *service.Config) { c.Tools = tools })
	w.replies = func(q model.Request, n int) line {
		offered := slices.ContainsFunc(q.Tools, func(d chat.ToolDef) bool { return d.Name == lookup })
		switch {
		case offered && n == 1:
			return use(lookup, `{}`)
		case n <= 2:
			return use(injectedCalls(poison)...)
		}
		return say(poison)
	}
	return w, func() []string {
		var out []string
		for _, f := range all {
			if len(f.Calls()) > 0 {
				out = append(out, f.Name)
			}
		}
		return out
	}
}

var nameLike = regexp.MustCompile(`[\p{L}\p{Cf}_][\p{L}\p{N}\p{Cf}_./:;-]+`)

// injectedCalls returns the calls of a model that does what a text says, as alternating names and
// arguments.
func injectedCalls(poison string) []string {
	names := slices.Clone(forbidden)
	for _, word := range nameLike.FindAllString(poison, -1) {
		if word != "lookup" && word != "web_search" && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	var calls []string
	for _, name := range names[:min(len(names), 60)] {
		calls = append(calls, name, `{"confirm":true,"decision":"approve","next":"admin","input":"x"}`)
	}
	return calls
}

// TestInjection checks that poisoned tool results and model output, in every kind of document, make
// no agent call a tool that it does not list (SEC13), are never evaluated (SEC3, S4-16, S0-13), and
// approve nothing (SEC12).
func TestInjection(t *testing.T) {
	t.Parallel()
	for name, poison := range poisons(t) {
		for format, test := range map[string]func(*testing.T, string){
			"steps": injectSteps, "canvas": injectCanvas, "rounds": injectRounds, "routes": injectRoutes,
			"held": injectHeld,
		} {
			t.Run(name+"/"+format, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, poison) })
			})
		}
	}
}

// checkForbidden checks that no forbidden tool was called, although models requested it.
func checkForbidden(t *testing.T, r *run, called func() []string) {
	t.Helper()
	if got := called(); len(got) > 0 {
		t.Errorf("tools were called that no agent lists: %v", got)
	}
	asked := 0
	for _, d := range events[*event.ToolFailed](r) {
		if d.Error.Code == string(tool.KindUnknownTool) {
			asked++
		}
	}
	if asked < len(forbidden) {
		t.Errorf("only %d calls were refused: the models did not obey", asked)
	}
}

func injectSteps(t *testing.T, poison string) {
	w, called := poisonedWorld(t, poison, "lookup")
	r := w.runs(`{"agents": {
		"Keeper": {"model": "openai/fake", "instruction": "Keep."},
		"Researcher": {"model": "openai/fake", "instruction": "Look.", "tools": ["lookup"]},
		"Writer": {"model": "openai/fake", "instruction": "Write about {{ $steps.research.output }}."}},
		"workflow": [
			{"type": "agent", "id": "secret", "name": "Keeper"},
			{"type": "agent", "id": "research", "name": "Researcher"},
			{"type": "agent", "id": "write", "name": "Writer"}]}`, "go")
	r.is(event.StatusCompleted)
	checkForbidden(t, r, called)
	q := w.of("Writer")[0]
	same(t, "system prompt of the writer", q.System, "Write about "+poison+".")
	if block := "[research (agent: Researcher)]:\n" + poison + "\n"; !strings.Contains(q.LastText(), block) {
		t.Errorf("the prompt does not hold %q:\n%s", block, q.LastText())
	}
	result := w.of("Researcher")[1].LastText()
	same(t, "result of the tool", result, poison)
}

func injectCanvas(t *testing.T, poison string) {
	doc := canvas("s -> a -> gate; gate:approve -> yes; gate:reject -> no", start(),
		agent("a", `"tools":{"web_search":true}`), approval("gate"),
		agent("yes", `"userPrompt":"Do {{PREVIOUS_OUTPUT}} now"`), agent("no"))
	for _, answer := range []string{"approve", "reject"} {
		w, called := poisonedWorld(t, poison, "web_search")
		r := w.runs(doc, "go")
		o := r.is(event.StatusPaused)
		if len(o.Waiting) != 1 || o.Waiting[0].Node != "gate" || len(w.of("yes"))+len(w.of("no")) > 0 {
			t.Fatalf("waiting %s, asked %v", asJSON(o.Waiting), w.asked())
		}
		checkForbidden(t, r, called)
		r.answers(answer)
		r.is(event.StatusCompleted)
		checkForbidden(t, r, called)
		switch yes := w.prompts("yes"); {
		case answer == "approve":
			same(t, "prompt", yes[0], "Do "+poison+" now")
		case len(yes) > 0:
			t.Errorf("what was rejected was done: %q", yes)
		}
	}
}

func injectRounds(t *testing.T, poison string) {
	w, called := poisonedWorld(t, poison, "lookup")
	wf, _ := load(t, `{"maxRounds": 1, "edges": [{"id": "e", "from": "n1", "to": "n2"}],
		"nodes": [{"id": "n1", "type": "agent", "config": {"agentId": "a"}}, {"id": "n2", "type": "agent", "config": `+
		`{"agentId": "b"}}]}`,
		service.LoadOptions{Agents: []workflow.Agent{{ID: "a", System: "You are a.", Tools: []string{"lookup"}},
			{ID: "b", System: "You are b."}}})
	r := w.beginWorkflow(wf, "go")
	r.is(event.StatusCompleted)
	checkForbidden(t, r, called)
	if q := w.of("b")[0]; !strings.Contains(q.LastText(), poison) || q.System != "You are b." {
		t.Errorf("system %q, prompt:\n%s", q.System, q.LastText())
	}
}

// injectRoutes checks that a text may route along an edge of the document, like the text of any
// agent, and nowhere else.
func injectRoutes(t *testing.T, poison string) {
	w, called := poisonedWorld(t, poison, "lookup")
	r := w.runs(routes("a+lookup x b", "a:tool_executor->x; x:lookup->a; a->b"), "go")
	r.waitSettled()
	for _, d := range events[*event.StepStarted](r) {
		if d.Kind != "agent" && d.Kind != "exec" {
			t.Errorf("a step of kind %s", d.Kind)
		}
	}
	if got := called(); len(got) > 0 {
		t.Errorf("tools were called that no agent lists: %v", got)
	}
	for _, q := range w.of("b") {
		if !strings.HasPrefix(q.System, "You are b.") {
			t.Errorf("system prompt %q", q.System)
		}
	}
}
