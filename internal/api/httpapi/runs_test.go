package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// TestStartRun starts a document, waits for the run to end, and reads it through every operation.
func TestStartRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem, "input": "rain"}).is(http.StatusCreated)
	run := made.run()
	if run.Status != "completed" || string(run.Output) != `"by poet"` || string(run.Input) != `"rain"` {
		t.Fatalf("got %s", made.body)
	}
	at := made.header.Get("Location")
	if at != "/api/v1/runs/"+run.ID {
		t.Errorf("Location %q", at)
	}
	if again := w.do("GET", at, nil).is(200); again.body != made.body {
		t.Errorf("P36: shown as\n%s\nand then as\n%s", made.body, again.body)
	}
	var lines httpapi.List[httpapi.RunLine]
	w.do("GET", "/api/v1/runs?status=completed,failed", nil).is(200).decode(&lines)
	if len(lines.Items) != 1 || lines.Items[0].ID != run.ID || lines.Next != "" {
		t.Errorf("listed %+v", lines)
	}
	for path, says := range map[string]string{"logs": "llm_response", "trail": `"agentName":"poet"`,
		"context": "by poet", "events": "run.completed"} {
		if a := w.do("GET", at+"/"+path, nil).is(200); !strings.Contains(a.body, says) {
			t.Errorf("%s does not say %s: %s", path, says, a.body)
		}
		w.do("GET", "/api/v1/runs/missing/"+path, nil).problem(404, "not_found")
	}
}

// TestEvents_Pagination checks that the pages of events add up to the whole journal, each event
// once (P22).
func TestEvents_Pagination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}).is(201).header.Get("Location") + "/events"
	type page = httpapi.List[struct {
		Seq  int
		Type string
	}]
	var whole page
	w.do("GET", at, nil).is(200).decode(&whole)
	cursor, seen := "0", 0
	for i := 0; cursor != ""; i++ {
		var p page
		w.do("GET", at+"?limit=2&cursor="+cursor, nil).is(200).decode(&p)
		for _, e := range p.Items {
			if seen++; e.Seq != seen || e.Type != whole.Items[seen-1].Type {
				t.Fatalf("event %d is %+v", seen, e)
			}
		}
		cursor = p.Next
	}
	if seen != len(whole.Items) || seen < 5 {
		t.Errorf("%d events in pages, %d in all", seen, len(whole.Items))
	}
}

// long replies to every call with a long string.
type long struct{ text string }

func (l long) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(l.text)}, Model: q.Model,
		StopReason: model.StopEnd}, nil
}

// TestEventsPageBytes checks that a page of large events is small because long values are
// references (SEC17).
func TestEventsPageBytes(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, service.Memory, long{strings.Repeat("much to read ", 60_000)})
	steps := poem
	for range 4 {
		steps += "  - {type: agent, name: poet}\n"
	}
	at := w.do("POST", "/api/v1/runs?wait=1m", m{"document": steps}).is(201).header.Get("Location") + "/events"
	a := w.do("GET", at+"?limit=1000", nil).is(200)
	var p httpapi.List[struct{ Seq int }]
	if a.decode(&p); len(a.body) > 100<<10 || len(p.Items) < 20 || p.Next != "" {
		t.Errorf("%d events in %d bytes, next %q", len(p.Items), len(a.body), p.Next)
	}
}

// TestRefusedStarts checks that a start with an error that can be detected before the first call
// stores no run (D25), and that documents on a server may not specify commands (SEC5).
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	command := strings.Replace(poem, "instruction: Write.",
		"instruction: Write., toolsets: [{type: mcp, command: /bin/true}]", 1)
	variable := strings.Replace(poem, "instruction: Write.",
		"instruction: Write., toolsets: [{type: mcp, remote: {url: 'https://example.org/mcp', headers: {X: "+
			"'${env.SECRET}'}}}]", 1)
	folder := strings.Replace(poem, "instruction: Write.", "instruction: Write., toolsets: [{type: filesystem}]", 1)
	for _, c := range []struct {
		name   string
		body   any
		status int
		says   string
	}{
		{"no JSON", `{"workflow": `, 400, "body"},
		{"nothing to run", m{}, 422, "workflow or document"},
		{"two to run", m{"workflow": "a", "document": poem}, 422, "workflow or document"},
		{"unknown field", m{"workflow": "a", "override": m{}}, 422, "body.override"},
		{"no workflow", m{"workflow": "missing"}, 404, "missing"},
		{"bad document", m{"document": "workflow:\n  - {id: a, type: agent, name: missing}"}, 422, ""},
		{"a command", m{"document": command}, 422, "/bin/true"},
		{"a variable", m{"document": variable}, 422, "SECRET"},
		{"a folder", m{"document": folder}, 422, "files"},
		{"bad limit", m{"document": poem, "limits": m{"timeout": "soon"}}, 422, "body.limits.timeout"},
		{"limit below 0", m{"document": poem, "limits": m{"maxSteps": -1}}, 422, "body.limits.maxSteps"},
		{"unknown branch", m{"document": poem, "branch": "b"}, 422, "branch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := w.withT(t).do("POST", "/api/v1/runs", c.body)
			code := map[int]string{400: "invalid", 422: "invalid", 404: "not_found"}[c.status]
			if got := p.problem(c.status, code); !strings.Contains(got.Detail, c.says) ||
				strings.Contains(got.Detail, "goroutine") {
				t.Errorf("detail %q does not say %q", got.Detail, c.says)
			}
		})
	}
	if p := w.do("POST", "/api/v1/runs", m{"document": "workflow:\n  - {id: a, type: agent, name: missing}"}).problem(
		422, "invalid"); len(p.Diagnostics) == 0 ||
		p.Diagnostics[0].Span.Start.Line != 2 {
		t.Errorf("diagnostics %+v", p.Diagnostics)
	}
	w.do("POST", "/api/v1/runs?wait=2m", m{"document": poem}).problem(422, "invalid")
	if a := w.do("GET", "/api/v1/runs", nil).is(200); a.body != `{"items":[],"next":""}`+"\n" {
		t.Errorf("runs were stored: %s", a.body)
	}
}

// TestStart_RunRole checks that a token with the role run can start only published
// workflows (SEC2, D33).
func TestStart_RunRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withCaller(access.RoleRun, false)
	for name, body := range map[string]m{
		"document": {"document": poem}, "both": {"workflow": "poem", "document": poem},
		"draft": {"workflow": "poem", "draft": true}, "version": {"workflow": "poem", "version": 1},
	} {
		t.Run(name, func(t *testing.T) { w.withT(t).do("POST", "/api/v1/runs", body).problem(403, "forbidden") })
	}
	for name, body := range map[string]m{
		"resume with a document": {"decision": "approve", "document": poem},
		"resume with agents":     {"input": "x", "agents": []any{}}, "a node override": {"nodes": m{}},
	} {
		t.Run(name, func(t *testing.T) { w.withT(t).do("POST", "/api/v1/runs/r/resume", body).problem(422, "invalid") })
	}
}

// TestStart_IdempotencyKey checks that the same key returns the same run, and that a different
// request with the key is rejected (P24).
func TestStart_IdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}, "Idempotency-Key", "k1").is(201)
	again := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}, "Idempotency-Key", "k1").is(200)
	if again.body != first.body || again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	w.do("POST", "/api/v1/runs", m{"document": poem, "input": "other"}, "Idempotency-Key", "k1").problem(422, "invalid")
	w.do("POST", "/api/v1/runs", m{"document": poem}, "Idempotency-Key", strings.Repeat("k", 256)).problem(422,
		"invalid")
}

// TestApprove follows an approval from the list of waits to the end, over HTTP alone (P23), with
// permission to approve (SEC12, D32).
func TestApprove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs", m{"document": post}, "Prefer", "respond-async, wait=60").is(201).run()
	if run.Status != "paused" {
		t.Fatalf("run is %s", run.Status)
	}
	var waits httpapi.List[httpapi.OpenWait]
	w.do("GET", "/api/v1/waits", nil).is(200).decode(&waits)
	if len(waits.Items) != 1 || waits.Items[0].Run != run.ID || waits.Items[0].Prompt != "Print it?" ||
		strings.Join(waits.Items[0].Options, " ") != "approve reject" {
		t.Fatalf("waits %+v", waits)
	}
	// the string to be approved
	if got := string(waits.Items[0].Input); got != `"by writer"` || got != string(run.Waiting[0].Input) {
		t.Errorf("to be judged: %s, in the run object %s", got, run.Waiting[0].Input)
	}
	at := "/api/v1/runs/" + run.ID
	agent := w.withCaller(access.RoleAdmin, false)
	for _, body := range []m{{"decision": "approve"}, {"input": "yes"},
		{"decision": "reject", "wait": waits.Items[0].ID}, {"decision": "approve", "node": "ok"}} {
		agent.do("POST", at+"/resume", body).problem(403, "forbidden")
	}
	w.do("POST", at+"/resume", m{"decision": "approve", "wait": "w99"}).problem(404, "not_found")
	w.do("POST", at+"/resume", m{"decision": "maybe"}).problem(422, "invalid")
	w.do("POST", at+"/resume", m{"decision": "approve", "input": "x"}).problem(422, "invalid")
	w.do("POST", at+"/resume", m{"note": "x"}).problem(422, "invalid")
	done := w.do("POST", at+"/resume?wait=1m", m{"decision": "approve", "note": "fine"}).is(200).run()
	if done.Status != "completed" || string(done.Output) != `"by publisher"` {
		t.Errorf("got %+v", done)
	}
	w.do("POST", at+"/resume", m{}).problem(409, "conflict")
	w.do("POST", at+"/resume", m{"limits": m{"maxSteps": 9}}).problem(409, "conflict")
	w.do("POST", at+"/cancel", nil).problem(409, "conflict")
	w.do("GET", "/api/v1/waits?workflow=missing", nil).is(200)
}

// TestAnswer_Concurrent checks that of 100 concurrent decisions one has an effect and all receive
// the same response; the opposite decision yields 409, and a decision on a closed wait 410, with or
// without the id of the wait (P24).
func TestAnswer_Concurrent(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(decision, wait string) m{
		"with its wait": func(decision, wait string) m { return m{"decision": decision, "wait": wait} },
		"without":       func(decision, _ string) m { return m{"decision": decision} },
		"by its node":   func(decision, _ string) m { return m{"decision": decision, "node": "ok"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clicks(t, body)
		})
	}
}

func clicks(t *testing.T, body func(decision, wait string) m) {
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	const clicks = 100
	answers := make([]answer, clicks)
	var all sync.WaitGroup
	for i := range clicks {
		all.Go(func() {
			answers[i] = w.do("POST", at+"/resume?wait=1m", body("approve", run.Waiting[0].ID))
		})
	}
	all.Wait()
	for i, a := range answers {
		if a.is(200).body != answers[0].body {
			t.Fatalf("answer %d: %s, answer 0: %s", i, a.body, answers[0].body)
		}
	}
	if n := strings.Count(w.do("GET", at+"/events?limit=1000", nil).body, `"type":"wait.answered"`); n != 1 {
		t.Errorf("%d answers were taken", n)
	}
	w.do("POST", at+"/resume", body("reject", run.Waiting[0].ID)).problem(409, "conflict")
	w.do("POST", at+"/resume", body("approve", run.Waiting[0].ID)).is(200)

	late := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	w.do("POST", "/api/v1/runs/"+late.ID+"/cancel?wait=1m", m{"reason": "no need"}).is(200)
	w.do("POST", "/api/v1/runs/"+late.ID+"/cancel", nil).is(200)
	w.do("POST", "/api/v1/runs/"+late.ID+"/resume", body("approve", late.Waiting[0].ID)).problem(410, "gone")
	never := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}).is(201).run()
	w.do("POST", "/api/v1/runs/"+never.ID+"/resume", body("approve", "w1")).problem(404, "not_found")
}

// gates are parallel agents, each of which waits for an approval before it calls think.
const gates = `permissions: {ask: [think]}
agents:
  a: {model: own/m, instruction: Think., toolsets: [{type: think}]}
  b: {model: own/m, instruction: Think., toolsets: [{type: think}]}
  c: {model: own/m, instruction: Think., toolsets: [{type: think}]}
workflow:
  - {id: all, type: parallel, steps: [{id: a, type: agent, name: a}, {id: b, type: agent, name: b}, {id: c, type: ` +
	`agent, name: c}]}
`

// TestAnswers_AnyOrder checks that with several open approvals an answer without an id is
// rejected and changes nothing, that with ids each branch receives its own answer once in every
// order, and that the run completes with the last answer (P1).
func TestAnswers_AnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": gates}).is(201).run()
			at := "/api/v1/runs/" + run.ID
			if len(run.Waiting) != 3 {
				t.Fatalf("waiting %+v", run.Waiting)
			}
			w.do("POST", at+"/resume", m{"decision": "approve"}).problem(409, "conflict")
			for i, node := range strings.Split(order, "") {
				decision := map[bool]string{true: "reject", false: "approve"}[node == "b"]
				now := w.do("POST", at+"/resume?wait=1m", m{"decision": decision, "node": node, "note": "for " + node}).
					is(200).run()
				if want := map[bool]string{true: "completed", false: "paused"}[i == 2]; string(now.Status) != want ||
					len(now.Waiting) != 2-i {
					t.Fatalf("after %d answers: %s, %d waits", i+1, now.Status, len(now.Waiting))
				}
			}
			done := w.do("GET", at, nil).is(200).run()
			for node, says := range map[string]string{"a": "of a", "b": "for b", "c": "of c"} {
				if out := string(done.Outputs[node]); !strings.Contains(out, says) {
					t.Errorf("%s gave %s, which does not say %q", node, out, says)
				}
			}
			events := w.do("GET", at+"/events?limit=1000", nil).is(200).body
			for _, node := range []string{"a", "b", "c"} {
				if n := strings.Count(events, `"note":"for `+node+`"`); n != 1 {
					t.Errorf("%d answers for %s", n, node)
				}
			}
		})
	}
}

// TestForkAndDelete forks a run, and deletes runs that are at rest.
func TestForkAndDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	w.do("POST", at+"/fork", m{"at": 99999}).problem(422, "invalid")
	w.do("POST", "/api/v1/runs/missing/fork", m{"at": 1}).problem(404, "not_found")
	var events httpapi.List[struct{ Seq int }]
	w.do("GET", at+"/events", nil).is(200).decode(&events)
	made := w.do("POST", at+"/fork", m{"at": len(events.Items)}).is(201)
	fork := made.run()
	if fork.ID == run.ID || fork.ForkedFrom == nil || made.header.Get("Location") != "/api/v1/runs/"+fork.ID {
		t.Errorf("fork %s of %s", made.body, run.ID)
	}
	if done := w.do("POST", "/api/v1/runs/"+fork.ID+"/resume?wait=1m", m{"decision": "approve"}).is(200).
		run(); done.Status != "completed" {
		t.Errorf("the fork is %s", done.Status)
	}
	if still := w.do("GET", at, nil).is(200).run(); still.Status != "paused" {
		t.Errorf("the run is %s", still.Status)
	}
	for _, id := range []string{run.ID, fork.ID} {
		w.do("DELETE", "/api/v1/runs/"+id, nil).is(204)
		w.do("GET", "/api/v1/runs/"+id, nil).problem(404, "not_found")
		w.do("DELETE", "/api/v1/runs/"+id, nil).problem(404, "not_found")
	}
}

// TestReopen checks that a run that was ended by its step limit continues with a higher limit
// (D20), and that the limits of a start apply.
func TestReopen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc := "agents:\n  poet: {model: own/m, instruction: Write.}\nworkflow:\n  - {id: a, type: agent, name: poet}\n  " +
		"- {id: b, type: agent, name: poet}\n"
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": doc, "limits": m{"maxSteps": 1}}).is(201).run()
	if run.Status != "failed" {
		t.Fatalf("run is %s", run.Status)
	}
	w.do("POST", "/api/v1/runs/"+run.ID+"/resume", m{"limits": m{"maxSteps": 1}}).problem(422, "invalid")
	if done := w.do("POST", "/api/v1/runs/"+run.ID+"/resume?wait=1m", m{"limits": m{"maxSteps": 5}}).is(200).
		run(); done.Status != "completed" {
		t.Errorf("run is %s", done.Status)
	}
}

// TestDeadlines checks that the list of waits shows the deadline of a decision and its options
// (P33). No document format has questions with options, so the test builds the workflow in Go.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := workflow.Node{ID: "ask", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion,
		Prompt: "Which?", Options: []string{"left", "right"}, Deadline: workflow.Duration(time.Hour)}}
	run, err := w.service.Start(t.Context(), service.StartRequest{Workflow: enginetest.Graph([]workflow.Node{ask}, "")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	var waits httpapi.List[httpapi.OpenWait]
	w.do("GET", "/api/v1/waits", nil).is(200).decode(&waits)
	if len(waits.Items) != 1 || waits.Items[0].Deadline.Sub(waits.Items[0].Since) != time.Hour ||
		strings.Join(waits.Items[0].Options, " ") != "left right" {
		t.Fatalf("waits %+v", waits)
	}
	w.do("POST", "/api/v1/runs/"+run+"/resume", m{"decision": "approve"}).problem(422, "invalid")
	if done := w.do("POST", "/api/v1/runs/"+run+"/resume?wait=1m", m{"decision": "left"}).is(200).
		run(); done.Status != "completed" {
		t.Errorf("run is %s", done.Status)
	}
}

// TestRetryOnVersion checks that a run continues from a step on a stored version of its workflow,
// published or draft, if the part that has already run is the same in that version, and that the
// earlier calls are not repeated.
func TestRetryOnVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const two = "agents:\n  a: {model: own/m}\n  b: {model: own/m}\nworkflow:\n  - {id: first, type: agent, name: " +
		"a}\n  - {id: second, type: agent, name: b}\n"
	w.do("PUT", "/api/v1/workflows/two", m{"document": two}).is(200)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"workflow": "two"}).is(201).run()
	at := "/api/v1/runs/" + run.ID + "/retry?wait=1m"
	repaired := strings.Replace(two, "b: {model: own/m}", "b: {model: own/m, instruction: Mended.}", 1)
	w.do("PUT", "/api/v1/workflows/two", m{"document": repaired, "draft": true}).is(200)
	w.do("PUT", "/api/v1/workflows/two", m{"document": strings.Replace(two, "id: first", "id: other", 1)}).is(200)
	for name, body := range map[string]m{"draft": {"from": "second", "draft": true},
		"version": {"from": "second", "version": 2}} {
		made := w.do("POST", at, body).is(201).run()
		if made.Status != "completed" || !made.Retry || len(made.Steps) != 2 || made.Steps[0].Output == nil {
			t.Errorf("%s: %+v", name, made)
		}
		if text := w.do("GET", "/api/v1/runs/"+made.ID+"/definition", nil).is(200).body; !strings.Contains(text,
			"Mended.") {
			t.Errorf("%s: it ran on %s", name, text)
		}
		replies := strings.Count(w.do("GET", "/api/v1/runs/"+made.ID+"/events", nil).is(200).body,
			`"type":"model.replied"`)
		if replies != 2 {
			t.Errorf("%s: %d replies, want that of the first step and a new one", name, replies)
		}
	}
	w.do("POST", at, m{"from": "second", "version": 3}).problem(422, "invalid")
	w.do("POST", at, m{"from": "second", "version": 9}).problem(404, "not_found")
	w.do("POST", at, m{"from": "second", "version": 2, "document": two}).problem(422, "invalid")
	w.withCaller(access.RoleRun, true).do("POST", at, m{"from": "second", "version": 3}).problem(403, "forbidden")
}
