package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sse"
)

// loop is a workflow that writes until a person approves, with two branches before the end.
const loop = `{"id": "post", "name": "Post", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "bees"}},
  {"id": "w", "type": "agent", "data": {"agentName": "writer", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": "own/m"}},
  {"id": "ok", "type": "approval", "data": {"prompt": "Print it?"}},
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": ` +
	`"own/m"}}],
 "connections": [
  {"source": "s", "target": "w"}, {"source": "w", "target": "ok"},
  {"source": "ok", "target": "p", "sourceHandle": "approve"}, {"source": "ok", "target": "w", "sourceHandle": ` +
	`"reject"}]}`

// P36: a client that folds the event stream of a run sees, at each rest and at the end, the run
// object that GET returns at that time, and that a restarted server returns; each (node, iteration)
// occurs once.
func TestStream_MatchesRunObject(t *testing.T) {
	t.Parallel()
	cfg := modelled(t, filepath.Join(t.TempDir(), "hocket.db"),
		func(_ context.Context, q model.Request) (string, error) { return "by " + q.Agent, nil })
	s := serve(t, cfg)
	_, body, run := s.call(t, "POST", "/api/v1/runs?wait=1m", starting(t, loop, "", ""))
	if run.Status != "paused" {
		t.Fatal(body)
	}
	path := "/api/v1/runs/" + run.ID
	svc, err := s.Service(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	_, def, err := svc.RunDefinition(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	f := project.NewFolder(run.ID, def)
	same := func(when, want string) {
		t.Helper()
		text, err := json.Marshal(f.Run())
		if err != nil {
			t.Fatal(err)
		}
		var folded, told any
		if err := json.Unmarshal(text, &folded); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &told); err != nil {
			t.Fatal(err)
		}
		delete(told.(map[string]any), "stepsNext") // the page cursor comes from the server
		if diff := cmp.Diff(folded, told); diff != "" {
			t.Errorf("%s (-folded +told):\n%s", when, diff)
		}
	}
	decisions := []string{"reject", "reject", "approve"}
	steps := map[string]int{}
	kind, rounds := "", 0
	for m, err := range sse.Events(s.with(t, token, "GET", path+"/events", "", "Accept", "text/event-stream").Body) {
		if err != nil {
			t.Fatal(err)
		}
		if kind = m.Name; kind == "end" {
			break
		}
		if kind == "model.delta" || kind == "model.reset" {
			continue
		}
		_, e, err := journal.UnmarshalEvent(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(e)
		switch d := e.Data.(type) {
		case *event.StepStarted:
			steps[fmt.Sprint(e.Node, " ", d.Iteration)]++
		case *event.RunPaused:
			_, now, _ := s.call(t, "GET", path, "")
			same(fmt.Sprintf("at rest %d", rounds), now)
			if code, text, _ := s.call(t, "POST", path+"/resume",
				fmt.Sprintf(`{"decision": %q}`, decisions[rounds])); code != http.StatusOK {
				t.Fatal(code, text)
			}
			rounds++
		}
	}
	if kind != "end" {
		t.Fatal("the stream ended before the run")
	}
	_, last, done := s.call(t, "GET", path, "")
	same("at the end", last)
	if done.Status != "completed" || len(done.Steps) != len(steps) || len(steps) < 8 {
		t.Errorf("the run is %s, with %d steps; the stream had %v", done.Status, len(done.Steps), steps)
	}
	for step, n := range steps {
		if n != 1 {
			t.Errorf("%s is there %d times", step, n)
		}
	}
	s.stop()
	if err := <-s.end; err != nil {
		t.Error(err)
	}
	again := open(t, server.Config{Service: service.Config{Documents: linked.Kit(), DB: cfg.Service.DB}})
	same("after a restart", again.by(t, token, "GET", path, "").Body.String())
}
