//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/op"
)

// start starts a run of a stored workflow and waits until it has ended or paused.
func (tr *tour) start(t *testing.T, workflow string, input any) api.Run {
	t.Helper()
	res := must(tr.c.StartRunWithResponse(tr.ctx, &api.StartRunParams{Wait: new("1m")},
		api.StartBody{Workflow: &workflow, Input: input}))
	return checkStatus(t, res, 201, res.JSON201)
}

// runs starts and inspects runs (P24, P36).
func (tr *tour) runs(t *testing.T) {
	tr.run = tr.start(t, "poem", "rain")
	if tr.run.Status != "completed" || tr.run.Output != "says by poet" || tr.run.Input != "rain" ||
		tr.run.Usage.ModelCalls != 1 || *tr.run.Workflow.Version != 1 {
		t.Errorf("ran %+v", tr.run)
	}
	// Repeating the request returns the same run; a different request with its key is rejected.
	params := &api.StartRunParams{IdempotencyKey: new("k1"), Prefer: new("wait=60")}
	first := must(tr.c.StartRunWithResponse(tr.ctx, params, api.StartBody{Workflow: new("poem"), Input: "snow"}))
	again := must(tr.c.StartRunWithResponse(tr.ctx, params, api.StartBody{Workflow: new("poem"), Input: "snow"}))
	if a, b := checkStatus(t, first, 201, first.JSON201), checkStatus(t, again, 200, again.JSON200); a.Id != b.Id ||
		a.Status != "completed" {
		t.Errorf("first %s, again %s", a.Id, b.Id)
	}
	refused(t, must(tr.c.StartRunWithResponse(tr.ctx, params, api.StartBody{Workflow: new("poem"), Input: "sun"})), 422,
		"invalid")
	refused(t, must(tr.c.StartRunWithResponse(tr.ctx, nil, api.StartBody{Workflow: new("missing")})), 404, "not_found")

	got := must(tr.c.GetRunWithResponse(tr.ctx, tr.run.Id, nil))
	if r := checkStatus(t, got, 200, got.JSON200); !reflect.DeepEqual(r, tr.run) {
		t.Errorf("P36: shown as %+v, and then as %+v", tr.run, r)
	}
	list := must(tr.c.ListRunsWithResponse(tr.ctx, &api.ListRunsParams{Status: new("completed"), Workflow: new("poem"),
		Limit: new(int64(1))}))
	page := checkStatus(t, list, 200, list.JSON200)
	rest := must(tr.c.ListRunsWithResponse(tr.ctx, &api.ListRunsParams{Status: new("completed"), Workflow: new("poem"),
		Cursor: &page.Next}))
	if l := checkStatus(t, rest, 200, rest.JSON200); len(page.Items) != 1 || len(l.Items) != 1 ||
		l.Items[0].Id != tr.run.Id ||
		l.Next != "" {
		t.Errorf("listed %+v, then %+v", page, l)
	}
	counts := must(tr.c.CountRunsWithResponse(tr.ctx, &api.CountRunsParams{Workflow: new("poem")}))
	if n := checkStatus(t, counts, 200, counts.JSON200); n.Status["completed"] < 2 || n.Workflow["poem"] < 2 {
		t.Errorf("counted %+v", n)
	}
	// it has ended
	paid := op.SignalIn{RunPath: op.RunPath{ID: tr.run.Id}, Name: "paid", Body: &op.SignalBody{Value: []byte("1")}}
	tr.withTest(t).operate(op.SignalRun.Operation, &paid).is(http.StatusConflict)
	order := must(tr.c.StartRunWithResponse(tr.ctx, &api.StartRunParams{Prefer: new("wait=60")},
		api.StartBody{Document: new("workflow: [{type: signal, signal: paid}]\n")}))
	paused := checkStatus(t, order, 201, order.JSON201)
	var s struct{ Run, Node, Key string }
	paid.ID = paused.Id
	tr.withTest(t).operate(op.SignalRun.Operation, &paid).is(http.StatusOK).into(&s)
	if paused.Status != "paused" || s.Run != paused.Id || s.Node == "" || s.Key == "" {
		t.Errorf("a run that is %s took %+v", paused.Status, s)
	}

	waits := tr.start(t, "gate", nil)
	var r api.Run
	tr.withTest(t).operate(op.CancelRun.Operation, &op.CancelIn{RunPath: op.RunPath{ID: waits.Id},
		WaitOptions: op.WaitOptions{Wait: "1m"},
		Body:        &op.CancelInputBody{Reason: "no need"}}).is(http.StatusOK).into(&r)
	if waits.Status != "paused" || r.Status != "cancelled" || len(r.Waiting) != 0 {
		t.Errorf("cancelled %+v", r)
	}
	tr.withTest(t).operate(op.CancelRun.Operation, &op.CancelIn{RunPath: op.RunPath{ID: tr.run.Id}}).
		is(http.StatusConflict)
}

// projections reads the views of a run.
func (tr *tour) projections(t *testing.T) {
	call := must(tr.c.GetCallWithResponse(tr.ctx, tr.run.Id, "1.0.1", nil))
	if c := checkStatus(t, call, 200, call.JSON200); c.Model != "openai/m" || len(c.Messages) == 0 || !c.Ended {
		t.Errorf("call %s", call.Body)
	}
	logs := must(tr.c.GetLogsWithResponse(tr.ctx, tr.run.Id, nil))
	if l := checkStatus(t, logs, 200, logs.JSON200); len(l.Items) < 2 || l.Items[len(l.Items)-1].Timestamp.IsZero() ||
		!strings.Contains(string(logs.Body), "says by poet") {
		t.Errorf("logs %s", logs.Body)
	}
	trail := must(tr.c.GetTrailWithResponse(tr.ctx, tr.run.Id, nil))
	if l := checkStatus(t, trail, 200, trail.JSON200); len(l.Items) != 1 || l.Items[0].AgentName != "poet" ||
		l.Items[0].Output != "says by poet" {
		t.Errorf("trail %s", trail.Body)
	}
	for what, res := range map[string]interface {
		StatusCode() int
		GetBody() []byte
	}{
		"says by poet":   must(tr.c.GetContextWithResponse(tr.ctx, tr.run.Id)),
		"openai/m":       must(tr.c.GetRunDefinitionWithResponse(tr.ctx, tr.run.Id)),
		`"kind":"agent"`: must(tr.c.GetRunGraphWithResponse(tr.ctx, tr.run.Id)),
	} {
		if res.StatusCode() != http.StatusOK || !json.Valid(res.GetBody()) ||
			!strings.Contains(string(res.GetBody()), what) {
			t.Errorf("%d does not say %s: %s", res.StatusCode(), what, res.GetBody())
		}
	}
}

// checkLongValues reads a value that is shown as a reference, and pages of steps.
func (tr *tour) checkLongValues(t *testing.T) {
	input := strings.Repeat("a long letter\n", 5000)
	run := tr.start(t, "poem", input)
	ref, ok := run.Input.(map[string]any)["$value"].(map[string]any)
	if !ok || ref["bytes"] != float64(len(input)) || !strings.HasPrefix(input, ref["head"].(string)) {
		t.Fatalf("the input is %+v", run.Input)
	}
	whole := must(tr.c.GetValueWithResponse(tr.ctx, run.Id, ref["sha256"].(string), nil))
	if whole.StatusCode() != http.StatusOK || string(whole.Body) != input {
		t.Errorf("%d: %d bytes", whole.StatusCode(), len(whole.Body))
	}
	refused(t, must(tr.c.GetValueWithResponse(tr.ctx, tr.run.Id, ref["sha256"].(string), nil)), 404, "not_found")
	list := must(tr.c.ListStepsWithResponse(tr.ctx, run.Id, &api.ListStepsParams{Limit: new(int64(1))}))
	steps := checkStatus(t, list, 200, list.JSON200)
	one := must(tr.c.GetStepWithResponse(tr.ctx, run.Id, steps.Items[0].Seq))
	if s := checkStatus(t, one, 200, one.JSON200); !reflect.DeepEqual(s, steps.Items[0]) || s.Output != "says by poet" {
		t.Errorf("step %+v, listed %+v", s, steps)
	}
	refused(t, must(tr.c.ListStepsWithResponse(tr.ctx, run.Id, &api.ListStepsParams{Cursor: new("x")})), 400, "invalid")
}

// answers answers waits that are open at the same time (P1, P23, P24).
func (tr *tour) answers(t *testing.T) {
	run := tr.start(t, "gates", nil)
	list := must(tr.c.ListWaitsWithResponse(tr.ctx, &api.ListWaitsParams{Workflow: new("gates")}))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 2 || l.Items[0].Run != run.Id ||
		*l.Items[0].Tool != "think" || l.Items[0].Kind != "approval" {
		t.Fatalf("waits %+v", l)
	}
	refused(t, must(tr.c.ResumeRunWithResponse(tr.ctx, run.Id, nil, api.ResumeBody{Decision: new("approve")})), 409,
		"conflict")
	for _, node := range []string{"b", "a"} {
		for range 2 { // the second repeats it with the same key
			res := must(tr.c.ResumeRunWithResponse(tr.ctx, run.Id,
				&api.ResumeRunParams{Wait: new("1m"), IdempotencyKey: new("for " + node)},
				api.ResumeBody{Decision: new("approve"), Node: &node, Note: new("for " + node)}))
			run = checkStatus(t, res, 200, res.JSON200)
		}
	}
	if out, err := json.Marshal(run.Outputs); run.Status != "completed" || err != nil ||
		!strings.Contains(string(out), "of a person") {
		t.Errorf("answered: %+v", run)
	}
	// A run that was ended by its limits continues with higher ones (D20).
	two := strings.Replace(poem, "name: poet}\n", "name: poet}\n  - {id: b, type: agent, name: poet}\n", 1)
	short := must(tr.c.StartRunWithResponse(tr.ctx, &api.StartRunParams{Wait: new("1m")},
		api.StartBody{Document: &two, Limits: &api.Limits{MaxSteps: new(int64(1))}}))
	failed := checkStatus(t, short, 201, short.JSON201)
	if failed.Status != "failed" || failed.Error == nil {
		t.Fatalf("with one step: %+v", failed)
	}
	reopened := must(tr.c.ResumeRunWithResponse(tr.ctx, failed.Id, &api.ResumeRunParams{Wait: new("1m")},
		api.ResumeBody{Limits: &api.Limits{MaxSteps: new(int64(5))}}))
	if r := checkStatus(t, reopened, 200, reopened.JSON200); r.Status != "completed" || len(r.Steps) < 2 {
		t.Errorf("reopened: %+v", r)
	}
}

// forks forks a run, which leaves the original unchanged.
func (tr *tour) forks(t *testing.T) {
	run := tr.start(t, "gate", nil)
	all := must(tr.c.ListEventsWithResponse(tr.ctx, run.Id, nil))
	events := checkStatus(t, all, 200, all.JSON200).Items
	var fork api.Run
	tr.withTest(t).operate(op.ForkRun.Operation, &op.ForkIn{RunPath: op.RunPath{ID: run.Id},
		Body: op.ForkInputBody{At: uint64(len(events))}}).is(http.StatusCreated).into(&fork)
	if fork.Id == run.Id || *fork.ForkedFrom != run.Id {
		t.Errorf("forked %+v", fork)
	}
	res := must(tr.c.ResumeRunWithResponse(tr.ctx, fork.Id, &api.ResumeRunParams{Wait: new("1m")},
		api.ResumeBody{Decision: new("approve")}))
	if r := checkStatus(t, res, 200, res.JSON200); r.Status != "completed" ||
		!strings.HasPrefix(r.Output.(string), "says ") {
		t.Errorf("the fork gave %+v", r)
	}
	var retried api.Run
	tr.withTest(t).operate(op.RetryRun.Operation, &op.RetryIn{RunPath: op.RunPath{ID: fork.Id},
		Body: op.RetryBody{From: "ok"}}).is(http.StatusCreated).into(&retried)
	if r := retried; r.Id == fork.Id || *r.ForkedFrom != fork.Id {
		t.Errorf("the retry gave %+v", r)
	}
	still := must(tr.c.GetRunWithResponse(tr.ctx, run.Id, nil))
	if r := checkStatus(t, still, 200, still.JSON200); r.Status != "paused" || len(r.Waiting) != 1 {
		t.Errorf("the run is %+v", r)
	}
}

// events reads events as JSON and as a stream, and with a ticket (P22).
func (tr *tour) events(t *testing.T) {
	var all []api.EventShape
	for cursor := new(int64(0)); cursor != nil; {
		res := must(tr.c.ListEventsWithResponse(tr.ctx, tr.run.Id,
			&api.ListEventsParams{Cursor: cursor, Limit: new(int64(2))}))
		page := checkStatus(t, res, 200, res.JSON200)
		all, cursor = append(all, page.Items...), nil
		if n, err := strconv.ParseInt(page.Next, 10, 64); err == nil {
			cursor = &n
		}
	}
	for i, e := range all {
		if e.Seq != int64(i+1) || e.Run != tr.run.Id {
			t.Fatalf("event %d is %+v", i+1, e)
		}
	}
	if len(all) < 5 || all[0].Type != "run.created" || all[len(all)-1].Type != "run.completed" {
		t.Fatalf("events %+v", all)
	}

	// Following a run from its start yields each event once, and then the end.
	res := must(tr.c.StartRunWithResponse(tr.ctx, nil, api.StartBody{Workflow: new("poem")}))
	id, last := checkStatus(t, res, 201, res.JSON201).Id, 0
	_, live := tr.stream(t, id, "0")
	if ended, bad := readStream(live, &last); !ended || bad != "" || last != len(all) {
		t.Errorf("the stream ended: %v, at %d of %d, %s", ended, last, len(all), bad)
	}
	if status, _ := tr.stream(t, id, strconv.Itoa(last)); status != http.StatusNoContent {
		t.Errorf("who has seen all of it gets %d", status)
	}

	made := must(tr.c.CreateEventTicketWithResponse(tr.ctx, id))
	ticket := checkStatus(t, made, 201, made.JSON201)
	if ticket.Path != "/api/v1/runs/"+id+"/events" || !ticket.Expires.After(time.Now()) {
		t.Errorf("ticket %+v", ticket)
	}
	sse := []string{"Authorization", "", "Accept", "text/event-stream"}
	if a := tr.do("GET", ticket.Path+"?ticket="+ticket.Ticket, "", sse...).is(200); !strings.Contains(a.body,
		"event: run.completed\n") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("by ticket: %s", a.body)
	}
	tr.do("GET", "/api/v1/runs/"+tr.run.Id+"/events?ticket="+ticket.Ticket, "", sse...).is(401)
	if a := tr.do("GET", ticket.Path+"?view=logs", "", "Accept", "text/event-stream").is(200); !strings.Contains(a.body,
		"says by poet") {
		t.Errorf("as logs: %s", a.body)
	}
}

// stream opens the event stream of a run, after an event.
func (tr *tour) stream(t *testing.T, id, after string) (status int, body io.Reader) {
	t.Helper()
	res, err := tr.c.ListEvents(tr.ctx, id, nil, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", after)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res.StatusCode, res.Body
}

// checkOffers lists what can be used here, and what starts on its own.
func (tr *tour) checkOffers(t *testing.T) {
	tools := must(tr.c.ListToolsWithResponse(tr.ctx, nil))
	if l := checkStatus(t, tools, 200, tools.JSON200); len(l.Items) < 3 ||
		!strings.Contains(string(tools.Body), `"name":"think"`) {
		t.Errorf("tools %s", tools.Body)
	}
	models := must(tr.c.ListModelsWithResponse(tr.ctx, nil))
	usable := map[string]bool{}
	for _, m := range checkStatus(t, models, 200, models.JSON200).Items {
		usable[m.Name] = m.Usable
	}
	if !usable["openai"] || usable["anthropic"] {
		t.Errorf("models %s", models.Body)
	}
	doc := `{"name": "Feeds", "agents": [{"id": "watcher", "name": "Watcher", "model": "openai/m", "systemPrompt": ` +
		`"Look."}],
 "branches": [{"id": "daily", "executionMode": "interval", "schedule": "daily@09:00", "nodes": [{"id": "list", ` +
		`"type": "agent", "config": {"agentId": "watcher"}}]}]}`
	made := must(tr.c.CreateWorkflowWithResponse(tr.ctx, api.CreateBody{Id: new("feeds"), Document: doc}))
	checkStatus(t, made, 201, made.JSON201)
	list := must(tr.c.ListSchedulesWithResponse(tr.ctx, &api.ListSchedulesParams{Tz: new("Europe/Berlin")}))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 1 || l.Items[0].Workflow != "feeds" ||
		*l.Items[0].Branch != "daily" || l.Items[0].Next == nil || l.Items[0].Problem != "" {
		t.Errorf("schedules %s", list.Body)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	preview := must(tr.c.PreviewScheduleWithResponse(tr.ctx, &api.PreviewScheduleParams{Workflow: "feeds",
		Branch: new("daily"), Tz: new("Europe/Berlin"), From: &from, Count: new(int64(2))}))
	if p := checkStatus(t, preview, 200, preview.JSON200); len(p.Times) != 2 ||
		!p.Times[0].Equal(from.Add(8*time.Hour)) ||
		p.Zone != "Europe/Berlin" {
		t.Errorf("preview %s", preview.Body)
	}
}
