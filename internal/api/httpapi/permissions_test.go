package httpapi_test

import (
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// TestFork_DecisionPermissions checks that a past decision of a run applies in a fork of it only
// for callers who may make such decisions; otherwise one approval would permit the same action any
// number of times (SEC12).
func TestFork_DecisionPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	w.do("POST", at+"/resume?wait=1m", m{"decision": "approve"}).is(200)
	events, err := w.service.Events(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	asked, answered := uint64(0), uint64(0)
	for _, e := range events {
		switch e.Data.(type) {
		case *event.WaitOpened:
			asked = e.Seq
		case *event.WaitAnswered:
			answered = e.Seq
		}
	}
	if asked == 0 || answered == 0 {
		t.Fatal("no decision was made")
	}
	agent := w.withCaller(access.RoleAdmin, false)
	agent.do("POST", at+"/fork", m{"at": answered}).problem(403, "forbidden")
	if fork := agent.do("POST", at+"/fork", m{"at": asked}).is(201).run(); fork.Status != "paused" {
		t.Errorf("the fork that waits is %s", fork.Status)
	}
	fork := w.do("POST", at+"/fork", m{"at": answered}).is(201).run()
	if done := w.do("POST", "/api/v1/runs/"+fork.ID+"/resume?wait=1m", m{}).is(200).run(); done.Status != "completed" {
		t.Errorf("the fork of who may approve is %s", done.Status)
	}
	var runs httpapi.List[httpapi.RunLine]
	w.do("GET", "/api/v1/runs", nil).is(200).decode(&runs)
	if len(runs.Items) != 3 {
		t.Errorf("%d runs: the refused fork is stored", len(runs.Items))
	}
}

// TestRetry_Permissions checks that a retry keeps decisions only for callers who may make them,
// that another model, document or limit needs the role edit, and that a rejected retry is not
// stored (SEC2, SEC12).
func TestRetry_Permissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	w.do("POST", at+"/retry", m{}).problem(409, "conflict")
	w.do("POST", at+"/resume?wait=1m", m{"decision": "approve"}).is(200)
	w.do("POST", at+"/retry", m{}).problem(422, "invalid")
	w.do("POST", at+"/retry", m{"from": "x"}).problem(422, "invalid")
	w.do("POST", at+"/retry", m{"from": "p", "name": "x"}).problem(422, "invalid")
	w.do("POST", at+"/retry", m{"from": "p", "document": poem}).problem(422, "invalid")
	w.do("POST", "/api/v1/runs/nothing/retry", m{}).problem(404, "not_found")
	agent, runner := w.withCaller(access.RoleAdmin, false), w.withCaller(access.RoleRun, true)
	agent.do("POST", at+"/retry", m{"from": "p"}).problem(403, "forbidden")
	runner.do("POST", at+"/retry", m{"from": "w"}).problem(403, "forbidden")
	for _, body := range []m{{"from": "w", "model": "own/n"}, {"from": "w", "document": post},
		{"from": "w", "limits": m{"maxSteps": 9}}} {
		runner.do("POST", at+"/retry", body).problem(403, "forbidden")
	}
	if made := agent.do("POST", at+"/retry?wait=1m", m{"from": "w"}).is(201).run(); made.Status != "paused" ||
		!made.Retry || *made.ForkedFrom != run.ID {
		t.Errorf("the retry that waits: %+v", made)
	}
	if made := w.do("POST", at+"/retry?wait=1m", m{"from": "p", "model": "own/n", "document": post}).is(201).
		run(); made.Status != "completed" || *made.Steps[len(made.Steps)-1].Model != "own/n" {
		t.Errorf("the retry of who may approve: %+v", made)
	}
	var runs httpapi.List[httpapi.RunLine]
	w.do("GET", "/api/v1/runs", nil).is(200).decode(&runs)
	if len(runs.Items) != 3 {
		t.Errorf("%d runs: a refused retry is stored", len(runs.Items))
	}
}

// TestActorOfAnswer checks that the run object and the journal record who answered, through which
// transport and when, and that the same answer with another token leaves the first one unchanged
// (SEC12).
func TestActorOfAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	ann, bob := w.withCaller(access.RoleRun, true), w.withCaller(access.RoleAdmin, true)
	ann.caller.Name, ann.caller.Token = "ann", "t1"
	bob.caller.Name, bob.caller.Token = "bob", "t2"
	ann.do("POST", at+"/resume?wait=1m", m{"decision": "approve", "note": "fine"}).is(200)
	bob.do("POST", at+"/resume?wait=1m", m{"decision": "approve"}).is(200)
	o := w.do("GET", at, nil).is(200).run()
	want := project.Answer{
		Wait: run.Waiting[0].ID, Node: "ok", Kind: "approval", Decision: "approve", Note: "fine",
		By: event.Actor{Name: "ann", Token: "t1", Channel: event.ChannelHTTP, Role: "run"},
	}
	if len(o.Answers) != 1 || o.Answers[0].At.IsZero() {
		t.Fatalf("answers %+v", o.Answers)
	}
	o.Answers[0].At = time.Time{}
	if diff := cmp.Diff(o.Answers[0], want); diff != "" {
		t.Errorf("answer (-got +want):\n%s", diff)
	}
	if got := w.do("GET", at+"/events?limit=1000", nil).is(200).body; !strings.Contains(got,
		`"by":{"name":"ann","token":"t1","channel":"http","role":"run"}`) || strings.Contains(got, "bob") {
		t.Errorf("events %s", got)
	}
}

// TestLimits_AnswerBudgetQuestion checks that new limits for a run that asks for a larger budget
// are the answer, which only a token with permission to approve may submit, whatever its role (P20,
// SEC12).
func TestLimits_AnswerBudgetQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asks := "agents: {poet: {model: own/m, instruction: Write.}}\nworkflow:\n  budget: {calls: 1, on_reached: " +
		"pause}\n  steps:\n    - {id: a, type: agent, name: poet}\n    - {id: b, type: agent, name: poet}\n"
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": asks}).is(201).run()
	if run.Status != event.StatusPaused {
		t.Fatalf("the run does not ask: %s %+v", run.Status, run.Error)
	}
	at := "/api/v1/runs/" + run.ID
	for _, role := range []access.Role{access.RoleEdit, access.RoleAdmin} {
		w.withCaller(role, false).do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}}).problem(403, "forbidden")
	}
	boss, wait := w.withCaller(access.RoleEdit, true), run.Waiting[0].ID
	for _, body := range []m{{"limits": m{"maxCalls": 9}, "wait": wait}, {"limits": m{"maxCalls": 9}, "wait": "w99"}} {
		w.withCaller(access.RoleRun, true).do("POST", at+"/resume", body).problem(403, "forbidden")
	}
	w.withCaller(access.RoleEdit, false).do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}, "wait": wait}).problem(
		403,
		"forbidden")
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}, "wait": "w99"}).problem(404, "not_found")
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}, "node": "none"}).problem(404, "not_found")
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}, "wait": wait, "note": "n"}).problem(422, "invalid")
	boss.do("POST", at+"/resume", m{"limits": m{"maxSteps": 9}, "wait": wait}).problem(422, "invalid")
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 1}, "wait": wait}).problem(422, "invalid")
	boss.do("POST", at+"/resume", m{"wait": wait}).problem(422, "invalid")
	// no limit is silently dropped
	for _, more := range []m{{"maxCalls": 9, "maxTokens": 50_000}, {"maxCalls": 9, "maxSteps": 40},
		{"maxCalls": 9, "timeoutSeconds": 60}} {
		boss.do("POST", at+"/resume", m{"limits": more, "wait": wait}).problem(422, "invalid")
		boss.do("POST", at+"/resume", m{"limits": more}).problem(422, "invalid")
	}
	// the question is about calls
	boss.do("POST", at+"/resume", m{"limits": m{"maxTokens": 50_000}, "wait": wait}).problem(422, "invalid")
	done := boss.do("POST", at+"/resume?wait=1m", m{"limits": m{"maxCalls": 9}, "wait": wait}).is(200).run()
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 9}, "wait": wait}).is(200)
	boss.do("POST", at+"/resume", m{"limits": m{"maxCalls": 8}, "wait": wait}).problem(409, "conflict")
	if done.Status != event.StatusCompleted || len(done.Answers) != 1 ||
		done.Answers[0].By.Channel != event.ChannelHTTP {
		t.Errorf("the run is %s, answers %+v", done.Status, done.Answers)
	}

	again := w.do("POST", "/api/v1/runs?wait=1m", m{"document": asks}).is(201).run()
	if done := boss.do("POST", "/api/v1/runs/"+again.ID+"/resume?wait=1m", m{"limits": m{"maxCalls": 9}}).is(200).
		run(); done.Status != event.StatusCompleted {
		t.Errorf("limits without a wait: the run is %s", done.Status)
	}
	approval := w.do("POST", "/api/v1/runs?wait=1m",
		m{"document": "workflow:\n  - {id: ok, type: approval, prompt: Go on?}\n"}).is(201).run()
	boss.do("POST", "/api/v1/runs/"+approval.ID+"/resume",
		m{"limits": m{"maxCalls": 9}, "wait": approval.Waiting[0].ID}).problem(422, "invalid")
}

// TestLimits_Idempotent checks that a request with a key takes effect once, whichever way it refers
// to the question for a larger budget. A repeated request does not answer the next question.
func TestLimits_Idempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asks := "agents: {poet: {model: own/m, instruction: Write.}}\nworkflow:\n  budget: {calls: 1, on_reached: " +
		"pause}\n  steps:\n    - {id: a, type: agent, name: poet}\n" +
		"    - {id: b, type: agent, name: poet}\n    - {id: c, type: agent, name: poet}\n"
	for _, name := range []m{{}, {"node": "b"}} {
		run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": asks}).is(201).run()
		if len(run.Waiting) != 1 {
			t.Fatalf("%s: %+v", run.Status, run.Waiting)
		}
		if name["node"] != nil {
			name["node"] = run.Waiting[0].Node
		}
		body := m{"limits": m{"maxCalls": 2}}
		maps.Copy(body, name)
		first := run.Waiting[0].ID
		for range 2 {
			run = w.do("POST", "/api/v1/runs/"+run.ID+"/resume?wait=1m", body, "Idempotency-Key", "k1").is(200).run()
			if run.Status != event.StatusPaused || len(run.Waiting) != 1 || run.Waiting[0].ID == first ||
				len(run.Answers) != 1 {
				t.Fatalf("%v: the run is %s, waits %+v, answers %+v", name, run.Status, run.Waiting, run.Answers)
			}
		}
	}
}

// TestLimitsOfRunners checks that a caller with the role run cannot raise the limits of a run
// (SEC2), as over MCP.
func TestLimitsOfRunners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem + "  - {id: b, type: agent, name: poet}\n",
		"limits": m{"maxSteps": 1}}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	w.withCaller(access.RoleRun, true).do("POST", at+"/resume", m{"limits": m{"maxSteps": 5}}).problem(403, "forbidden")
	if o := w.do("GET", at, nil).is(200).run(); o.Status != "failed" {
		t.Errorf("run is %s", o.Status)
	}
	if done := w.withCaller(access.RoleEdit, false).do("POST", at+"/resume?wait=1m", m{"limits": m{"maxSteps": 5}}).is(
		200).
		run(); done.Status != "completed" {
		t.Errorf("run is %s", done.Status)
	}
}

// boundedWorkflow is a workflow with a budget for its runs.
const boundedWorkflow = `agents:
  poet: {model: own/m, instruction: Write.}
workflow:
  budget: {calls: 5, tokens: 1000}
  steps:
    - {id: a, type: agent, name: poet}
`

// TestLimitsOfStarts checks that a caller with the role run may lower the limits of a workflow but
// not raise them (SEC2).
func TestLimitsOfStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PUT", "/api/v1/workflows/poem", m{"document": boundedWorkflow}).is(200)
	runner := w.withCaller(access.RoleRun, false)
	for _, more := range []m{{"maxCalls": 6}, {"maxTokens": 1001}, {"maxSteps": 1001},
		{"maxCalls": 1, "maxTokens": 2000}} {
		runner.do("POST", "/api/v1/runs", m{"workflow": "poem", "limits": more}).problem(403, "forbidden")
	}
	runner.do("POST", "/api/v1/runs",
		m{"workflow": "poem", "limits": m{"maxCalls": 5, "maxTokens": 10, "maxSteps": 2, "timeout": "1m"}}).is(201)
	w.withCaller(access.RoleEdit, false).do("POST", "/api/v1/runs", m{"workflow": "poem", "limits": m{"maxCalls": 6}}).
		is(201)
}

// TestRequest_TruncatedBody checks that a truncated body is reported as a client error, not as an
// internal error (P36).
func TestRequest_TruncatedBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, broken := range []error{io.ErrUnexpectedEOF, errors.New("invalid byte in chunk length")} {
		req := httptest.NewRequestWithContext(transport.With(t.Context(), &transport.Caller{Principal: w.caller,
			Service: w.service}), "POST", "/api/v1/runs", iotest.ErrReader(broken))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, req)
		answer{t, rec.Code, rec.Header(), rec.Body.String()}.problem(400, "invalid")
	}
}
