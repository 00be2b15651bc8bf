package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

const compaction = `"model": "openai/one", "compaction": {"at": 300, "keep": 1, "pin": ["act"], "model": ` +
	`"openai/short"}, "toolsets": [{"type": "think"}], "maxIterations": 60`

// thinkingModel returns a model that calls think n times before it is done, and answers every
// request for a summary.
func thinkingModel(n int) func(q model.Request, before int) line {
	said := 0
	return func(q model.Request, _ int) line {
		switch {
		case strings.Contains(q.System, "Write a summary"):
			return say("the sum of it")
		case said < n:
			said++
			return use("think", fmt.Sprintf(`{"thought":%q}`, strings.Repeat("w", 100)+fmt.Sprint(said)))
		}
		return say("done")
	}
}

// withoutRoutes runs test with a document of each format in which agents call tools themselves.
func withoutRoutes(keys string, test func(t *testing.T, doc string)) func(t *testing.T) {
	return inEachFormat(keys, func(t *testing.T, doc string) {
		t.Helper()
		if !strings.Contains(doc, "AGENT") {
			test(t, doc)
		}
	})
}

// talk is a routes document of two agents that answer each other, in one conversation.
const talk = `{"id": "w", "name": "w", "entrypointNodeId": "s", "nodes": [
	{"id": "s", "workflowId": "w", "nodeType": "AGENT", "nodeName": "S", "agentId": "a"}, {"id": "t", "workflowId": ` +
	`"w", "nodeType": "AGENT", "nodeName": "T", "agentId": "b"}],
	"edges": [{"id": "e", "workflowId": "w", "sourceNodeId": "s", "targetNodeId": "t", "conditionType": "ALWAYS", ` +
	`"conditionValue": null},
	{"id": "f", "workflowId": "w", "sourceNodeId": "t", "targetNodeId": "s", "conditionType": "ALWAYS", ` +
	`"conditionValue": null}],
	"agents": [{"id": "a", "systemPrompt": "Do.", "compaction": {"at": 300, "keep": 2}}, {"id": "b", "systemPrompt": ` +
	`"Do."}]}`

// compactions returns the compaction events of a run, and checks that each follows the reply with
// its summary.
func compactions(t *testing.T, r *run) (list []*event.AgentCompacted) {
	t.Helper()
	events := r.recorded().Events
	for i, e := range events {
		if d, ok := e.Data.(*event.AgentCompacted); ok {
			reply, replied := events[i-1].Data.(*event.ModelReplied)
			if !replied || !reply.Compaction || reply.Call != d.Call {
				t.Errorf("event %d follows %s", e.Seq, asJSON(events[i-1]))
			}
			list = append(list, d)
		}
	}
	return list
}

var agentCompactions = []rule{
	{name: "X-84 a conversation as long as the agent says is shortened", test: func(t *testing.T) {
		withoutRoutes(compaction, func(t *testing.T, doc string) {
			t.Helper()
			w := newWorld(t)
			w.replies = thinkingModel(30)
			r := w.runs(doc, "go")
			o := r.is(event.StatusCompleted)
			same(t, "output", string(o.Output), `"done"`)
			list := compactions(t, r)
			if len(list) < 3 {
				t.Fatalf("the conversation was shortened %d times", len(list))
			}
			same(t, "calls", o.Usage.ModelCalls, 31+len(list))
			for _, q := range w.all() {
				if len(q.Messages) > 20 {
					t.Errorf("a call has %d messages", len(q.Messages))
				}
			}
		})(t)
		w := newWorld(t)
		n := 0
		w.replies = func(q model.Request, _ int) line {
			if strings.Contains(q.System, "Write a summary") {
				return say("the sum of it")
			}
			if n++; n > 30 {
				return fail(model.KindContentFilter, "enough")
			}
			return say(fmt.Sprint("message ", n, strings.Repeat(" word", 30)))
		}
		r := w.runs(talk, "go")
		r.is(event.StatusFailed)
		if n := len(compactions(t, r)); n < 2 {
			t.Errorf("the shared conversation was shortened %d times", n)
		}
	}},
	{name: "X-85 what stays, and who writes the summary",
		test: withoutRoutes(compaction, func(t *testing.T, doc string) {
			t.Helper()
			w, _ := withTools(t)
			next := thinkingModel(20)
			pinned := false
			w.replies = func(q model.Request, n int) line {
				if !pinned && !strings.Contains(q.System, "Write a summary") {
					pinned = true
					return use("act", `{"n":7}`)
				}
				return next(q, n)
			}
			w.runs(strings.Replace(doc, `"toolsets"`, `"tools": ["act"], "toolsets"`, 1),
				"go").is(event.StatusCompleted)
			asked := w.all()
			last := asked[len(asked)-1]
			if task := last.Messages[0].Text.String(); !strings.Contains(task, "go") {
				t.Errorf("the task is gone: %q", task)
			}
			text := asJSON(last.Messages)
			if !strings.Contains(text, `"act"`) || strings.Count(text, "the sum of it") != 1 {
				t.Errorf("the last call has %s", text)
			}
			for _, q := range asked {
				if summary := strings.Contains(q.System, "Write a summary"); summary != (q.Model == "short") ||
					summary &&
						len(q.Tools) > 0 {
					t.Errorf("%s is asked, for a summary: %v", q.Model, summary)
				}
			}
		})},
	{name: "X-86 without a summary the conversation stays whole",
		test: withoutRoutes(compaction, func(t *testing.T, doc string) {
			t.Helper()
			w := newWorld(t)
			next := thinkingModel(15)
			w.replies = func(q model.Request, n int) line {
				if strings.Contains(q.System, "Write a summary") {
					return fail(model.KindContentFilter, "withheld")
				}
				return next(q, n)
			}
			o := w.completes(doc, "go")
			step := o.Steps[len(o.Steps)-1]
			if len(step.Warnings) == 0 ||
				!strings.Contains(step.Warnings[0], "was not shortened (content_filter): withheld") {
				t.Errorf("warnings %q", step.Warnings)
			}
		})},
	{name: "X-87 a provider that does not take the conversation",
		test: withoutRoutes(strings.Replace(compaction, `"at": 300, `, "", 1), func(t *testing.T, doc string) {
			t.Helper()
			w := newWorld(t)
			next, before := thinkingModel(8), 0
			w.replies = func(q model.Request, n int) line {
				if before++; before == 8 {
					return fail(model.KindContextLength, "too long")
				}
				return next(q, n)
			}
			r := w.runs(doc, "go")
			r.is(event.StatusCompleted)
			same(t, "times", len(compactions(t, r)), 1)
			if !slices.ContainsFunc(r.recorded().Events, func(e event.Event) bool {
				d, ok := e.Data.(*event.ModelCalled)
				return ok && d.Compaction != nil && d.Compaction.Reason == "overflow"
			}) {
				t.Error("no call says that the conversation was too long")
			}
		})},
	{name: "X-88 a summary on disk is not asked for again", outside: true, test: func(t *testing.T) {
		w := newWorld(t, onDisk(t.TempDir()+"/h.db"))
		next, summaries, asks := thinkingModel(15), 0, false
		w.replies = func(q model.Request, n int) line {
			l := next(q, n)
			switch {
			case strings.Contains(q.System, "Write a summary"):
				summaries++
			case l.text == "done" && !asks:
				asks = true
				return use("user_prompt", `{"message":"Go on?"}`)
			}
			return l
		}
		doc := strings.Replace(agentDocuments(compaction)["steps"], `{"type": "think"}`,
			`{"type": "think"}, {"type": "user_prompt"}`, 1)
		r := w.runs(doc, "go")
		r.is(event.StatusPaused)
		before := len(compactions(t, r))
		w = w.restart()
		r.w = w
		r.answers("yes")
		r.is(event.StatusCompleted)
		if after := len(compactions(t, r)); before == 0 || summaries != after || after > before+1 {
			t.Errorf("%d compactions before, %d after, %d requests for summaries", before, after, summaries)
		}
	}},
}

// all returns all requests.
func (f *fake) all() []model.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func TestAgentCompactions(t *testing.T) { check(t, agentCompactions) }
