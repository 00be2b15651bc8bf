package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/server"
)

// late is a workflow that waits for a person, sends a reminder after a minute, and follows the
// timeout edge after two.
const late = `{"id": "late", "name": "Late", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "hi"}},
  {"id": "ok", "type": "approval", "data": {"prompt": "Print it?", "remindAfter": "1m", "deadline": "2m"}},
  {"id": "p", "type": "agent", "data": {"agentName": "printer", "model": "own/m"}},
  {"id": "n", "type": "agent", "data": {"agentName": "missing", "model": "own/m"}}],
 "connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "p", "sourceHandle": "approve"}, ` +
	`{"source": "ok", "target": "n", "sourceHandle": "timeout"}]}`

// P33, P24: a reminder, a deadline and the edge that it takes survive restarts of the server before
// each of them, and are visible over HTTP; the number of open waits matches the journal in every
// view. A decision after the deadline gets 410, even after a restart.
func TestDeadline_AcrossRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := modelled(t, filepath.Join(t.TempDir(), "hocket.db"),
			func(_ context.Context, q model.Request) (string, error) { return "by " + q.Agent, nil })
		var s *server.Server
		var w *world
		end := func() {
			t.Helper()
			if s == nil {
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		again := func() {
			t.Helper()
			end()
			cfg.Service.Env = func(name string) string { return map[string]string{server.EnvToken: token}[name] }
			var err error
			if s, err = server.Open(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			w = &world{Server: s}
		}
		defer func() { end() }()
		get := func(path string, into any) string {
			t.Helper()
			rec := w.by(t, token, "GET", path, "")
			if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil || rec.Code != http.StatusOK {
				t.Fatalf("%s: %v, %d %s", path, err, rec.Code, rec.Body)
			}
			return rec.Body.String()
		}
		again()
		rec := w.by(t, token, "POST", "/api/v1/runs?wait=10s", starting(t, late, "", ""))
		var run project.Run
		if err := json.Unmarshal(rec.Body.Bytes(), &run); err != nil || rec.Code != http.StatusCreated ||
			run.Status != "paused" {
			t.Fatalf("%v: %d %s", err, rec.Code, rec.Body)
		}
		path := "/api/v1/runs/" + run.ID
		count := func(when string, want, reminders int) {
			t.Helper()
			var now project.Run
			get(path, &now)
			var waits struct{ Items []project.Waiting }
			get("/api/v1/waits", &waits)
			var lines struct{ Items []struct{ Waiting int } }
			get("/api/v1/runs", &lines)
			var events any
			told := strings.Count(get(path+"/events?limit=1000", &events), `"type":"wait.reminded"`)
			if len(now.Waiting) != want || len(waits.Items) != want || len(lines.Items) != 1 ||
				lines.Items[0].Waiting != want || told != reminders {
				t.Errorf("%s: %+v in the run, %+v in the list of waits, %+v in the list of runs, %d reminders", when,
					now.Waiting, waits.Items, lines.Items, told)
			}
			for _, one := range append(now.Waiting, waits.Items...) {
				if one.Deadline.Sub(one.Since) != 2*time.Minute || one.ID != run.Waiting[0].ID {
					t.Errorf("%s: the wait is %+v", when, one)
				}
			}
		}
		pass := func(d time.Duration) {
			time.Sleep(d) // the bubble's clock
			synctest.Wait()
		}
		count("at first", 1, 0)
		pass(30 * time.Second)
		again()
		pass(20 * time.Second)
		count("before the reminder", 1, 0)
		pass(15 * time.Second)
		count("after the reminder", 1, 1)
		again()
		pass(30 * time.Second)
		count("before the deadline", 1, 1)
		end()
		s = nil
		pass(time.Minute) // it passes while no server runs
		again()
		pass(5 * time.Second)
		count("after the deadline", 0, 1)
		for range 2 {
			var now project.Run
			if get(path, &now); now.Status != "completed" || string(now.Output) != `"by missing"` {
				t.Errorf("after the deadline: %+v", now)
			}
			if rec := w.by(t, token, "POST", path+"/resume", `{"decision": "approve", "wait": "`+run.Waiting[0].ID+
				`"}`); rec.Code != http.StatusGone || problem(t, rec).Code != "gone" {
				t.Errorf("a decision after the deadline: %d %s", rec.Code, rec.Body)
			}
			again()
		}
	})
}
