package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// answers is a model that replies with the result of a function.
type answers func(ctx context.Context, q model.Request) (string, error)

func (f answers) Call(ctx context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	text, err := f(ctx, q)
	if err != nil {
		return model.Reply{}, err
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)}, Model: q.Model,
		StopReason: model.StopEnd}, nil
}

// modelled returns the configuration of a server backed by a store file, in which agents with the
// model own/m reply with the result of f.
func modelled(t *testing.T, db string, f answers) server.Config {
	t.Helper()
	if db == "" {
		db = filepath.Join(t.TempDir(), "hocket.db")
	}
	return server.Config{Service: service.Config{Documents: linked.Kit(), DB: db,
		Models: map[string]model.Client{"own": f}}}
}

const (
	work = "agents:\n  worker: {model: own/m, instruction: Work.}\nworkflow:\n  - {id: a, type: agent, name: worker}\n"
	// ask is a workflow that waits for a person before its agent runs.
	ask = `{"nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "hi"}}, {"id": "ok", "type": "approval"},
  {"id": "b", "type": "agent", "data": {"agentName": "writer", "model": "own/m"}}],
 "connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "b", "sourceHandle": "approve"}]}`
)

func starting(t *testing.T, doc, session, ifBusy string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"document": doc, "session": session, "ifBusy": ifBusy})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `,"ifBusy":""`, "")
}

// call sends a request over the network with the environment's token, and returns its status and
// its body, also decoded as a run object if it is one.
func (s *served) call(t *testing.T, method, path, body string) (int, string, project.Run) {
	t.Helper()
	answer := s.with(t, token, method, path, body)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	var run project.Run
	if answer.StatusCode < 300 && answer.StatusCode != http.StatusNoContent {
		if err := json.Unmarshal(text, &run); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
	return answer.StatusCode, string(text), run
}

// concurrently makes n concurrent calls of f.
func concurrently(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

// P19: of 100 concurrent starts of one session, half of them at each of two servers on one store,
// exactly one is accepted; the others get 409 with the name of the active run, and store nothing.
// Queued runs each get their turn, one at a time; cancel_previous leaves one.
func TestSessionOfTwoServers(t *testing.T) {
	t.Parallel()
	says := func(context.Context, model.Request) (string, error) { return "done", nil }
	first := modelled(t, "", says)
	two := []*served{serve(t, first), serve(t, modelled(t, first.Service.DB, says))}
	type seen struct {
		code int
		body string
		run  project.Run
	}
	all := func(n int, path, body string) []seen {
		out := make([]seen, n)
		concurrently(n, func(i int) { out[i].code, out[i].body, out[i].run = two[i%2].call(t, "POST", path, body) })
		return out
	}
	id := ""
	for _, a := range all(100, "/api/v1/runs?wait=1m", starting(t, ask, "s", "")) {
		if a.code == http.StatusCreated {
			if id != "" {
				t.Errorf("both %s and %s were accepted", id, a.run.ID)
			}
			id = a.run.ID
		}
	}
	if id == "" {
		t.Fatal("none was accepted")
	}
	for i, a := range all(4, "/api/v1/runs", starting(t, ask, "s", "")) {
		if a.code != http.StatusConflict || !strings.Contains(a.body, `"code":"conflict"`) ||
			!strings.Contains(a.body, id) {
			t.Errorf("start %d: %d %s", i, a.code, a.body)
		}
	}
	list := func(query string) (lines []struct{ ID, Status string }) {
		t.Helper()
		var page struct{ Items []struct{ ID, Status string } }
		if _, body, _ := two[1].call(t, "GET", "/api/v1/runs?limit=200&"+query, ""); json.Unmarshal([]byte(body),
			&page) != nil {
			t.Fatal(body)
		}
		return page.Items
	}
	if runs := list(""); len(runs) != 1 || runs[0].ID != id {
		t.Errorf("stored are %+v", runs)
	}

	if code, body, _ := two[0].call(t, "POST", "/api/v1/runs/"+id+"/cancel?wait=1m", "{}"); code != http.StatusOK {
		t.Fatal(code, body)
	}
	for i, a := range all(10, "/api/v1/runs?wait=1m", starting(t, work, "s", "queue")) {
		if a.code != http.StatusCreated || a.run.Status != "completed" {
			t.Errorf("queued start %d: %d %s", i, a.code, a.body)
		}
	}
	for i, a := range all(10, "/api/v1/runs", starting(t, ask, "s", "cancel_previous")) {
		if a.code != http.StatusCreated {
			t.Errorf("start %d in the place of another: %d %s", i, a.code, a.body)
		}
	}
	if open, gone := list("status=paused,running"), list("status=cancelled"); len(open) != 1 || len(gone) != 10 {
		t.Errorf("%d runs have not ended, %d are cancelled", len(open), len(gone))
	}
}

// P24: of 100 identical concurrent decisions, half of them at each of two servers on one store, one
// takes effect, and all get the same response; the opposite decision gets 409, and a decision on a
// cancelled run gets 410.
func TestDecisionsAtTwoServers(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	says := func(context.Context, model.Request) (string, error) {
		calls.Add(1)
		return "done", nil
	}
	first := modelled(t, "", says)
	two := []*served{serve(t, first), serve(t, modelled(t, first.Service.DB, says))}
	_, body, run := two[0].call(t, "POST", "/api/v1/runs?wait=1m", starting(t, ask, "", ""))
	if len(run.Waiting) != 1 {
		t.Fatal(body)
	}
	path := "/api/v1/runs/" + run.ID
	decide := func(run project.Run, decision string) string {
		return fmt.Sprintf(`{"decision": %q, "wait": %q}`, decision, run.Waiting[0].ID)
	}
	var got [100]string
	concurrently(len(got), func(i int) {
		code, text, done := two[i%2].call(t, "POST", path+"/resume?wait=1m", decide(run, "approve"))
		for code == http.StatusServiceUnavailable { // the store was busy for too long; the request may be retried
			code, text, done = two[i%2].call(t, "POST", path+"/resume?wait=1m", decide(run, "approve"))
		}
		got[i] = fmt.Sprint(code, " ", done.Status, " ", text)
	})
	for i, text := range got {
		if text != got[0] || !strings.HasPrefix(text, "200 completed ") {
			t.Fatalf("decision %d: %s\ndecision 0: %s", i, text, got[0])
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("what follows was done %d times", n)
	}
	for _, s := range two {
		if code, text, _ := s.call(t, "POST", path+"/resume", decide(run, "reject")); code != http.StatusConflict {
			t.Errorf("the opposite: %d %s", code, text)
		}
	}
	_, _, late := two[0].call(t, "POST", "/api/v1/runs?wait=1m", starting(t, ask, "", ""))
	if code, text, _ := two[1].call(t, "POST", "/api/v1/runs/"+late.ID+"/cancel?wait=1m", ""); code != http.StatusOK {
		t.Fatal(code, text)
	}
	for _, s := range two {
		if code, text, _ := s.call(t, "POST", "/api/v1/runs/"+late.ID+"/resume",
			decide(late, "approve")); code != http.StatusGone {
			t.Errorf("after the end: %d %s", code, text)
		}
	}
}

// P40: 200 runs started over HTTP make their calls concurrently: no call ends before all have
// begun. Meanwhile the server answers other requests.
func TestRunsOverlap(t *testing.T) {
	t.Parallel()
	const n = 200
	var begun atomic.Int64
	release := make(chan struct{})
	s := serve(t, modelled(t, "", func(ctx context.Context, _ model.Request) (string, error) {
		begun.Add(1)
		select {
		case <-release:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	var ids [n]string
	concurrently(n, func(i int) {
		code, body, run := s.call(t, "POST", "/api/v1/runs", starting(t, work, fmt.Sprint(i), ""))
		if code != http.StatusCreated {
			t.Error(code, body)
		}
		ids[i] = run.ID
	})
	until(t, "all calls began", func() bool { return begun.Load() == n })
	for _, path := range []string{"/api/v1/runs/" + ids[0], "/api/v1/runs?status=running&limit=200", "/api/v1/waits"} {
		if code, body, _ := s.call(t, "GET", path, ""); code != http.StatusOK || path != "/api/v1/waits" &&
			!strings.Contains(body, `"status":"running"`) {
			t.Errorf("%s while all calls stand still: %d %s", path, code, body)
		}
	}
	close(release)
	for _, id := range ids {
		if status := s.waitForRest(t, id); status != "completed" {
			t.Errorf("%s is %s", id, status)
		}
	}
}

// waitForRest waits for a run to end or to pause, and returns its status.
func (s *served) waitForRest(t *testing.T, run string) string {
	t.Helper()
	_, _ = io.Copy(io.Discard, s.with(t, token, "GET", "/api/v1/runs/"+run+"/events", "", "Accept",
		"text/event-stream").Body)
	_, _, r := s.call(t, "GET", "/api/v1/runs/"+run, "")
	return string(r.Status)
}
