package server_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/service/schedule"
)

// TestIdle checks that a namespace counts as idle until its next schedule, and never while a run is
// not over, a schedule has no calendar, or a notification is to be sent.
func TestIdle(t *testing.T) {
	t.Parallel()
	in := time.Now().Add(3 * time.Hour).UTC()
	steps := func(schedule string) string {
		return fmt.Sprintf("agents: {w: {instruction: Write.}}\n%s\nworkflow: [{type: agent, name: w}]\n", schedule)
	}
	apply := func(t *testing.T, svc *service.Service, text string) {
		t.Helper()
		_, problems, err := svc.Apply(t.Context(), service.ApplyRequest{Documents: []service.Document{
			{File: "flow.yaml", Data: []byte(text)}}})
		if err != nil || problems.HasErrors() {
			t.Fatal(err, problems)
		}
	}
	for name, tc := range map[string]struct {
		prepare  func(*testing.T, *world, *service.Service)
		from, to time.Duration
	}{
		"empty": {func(*testing.T, *world, *service.Service) {}, 23 * time.Hour, 24 * time.Hour},
		"schedule": {func(t *testing.T, _ *world, svc *service.Service) {
			t.Helper()
			apply(t, svc, steps(fmt.Sprintf("time_zone: UTC\nschedule: \"%d %d * * *\"", in.Minute(), in.Hour())))
		}, 2*time.Hour + 30*time.Minute, 3*time.Hour - 89*time.Second},
		"paused schedule": {func(t *testing.T, _ *world, svc *service.Service) {
			t.Helper()
			apply(t, svc, steps(fmt.Sprintf("time_zone: UTC\nschedule: \"%d %d * * *\"", in.Minute(), in.Hour())))
			if _, err := svc.ControlSchedule(t.Context(), service.ControlRequest{Workflow: "flow",
				Do: schedule.Pause}); err != nil {
				t.Fatal(err)
			}
		}, 23 * time.Hour, 24 * time.Hour},
		"continuous": {func(t *testing.T, _ *world, svc *service.Service) {
			t.Helper()
			apply(t, svc, `{"agents": [{"id": "w", "name": "W", "systemPrompt": "Write."}], "branches": [
  {"id": "watch", "executionMode": "continuous", "nodes": [
    {"id": "look", "type": "agent", "config": {"agentId": "w"}}]}]}`)
		}, math.MinInt64, 0},
		"run that waits": {func(t *testing.T, w *world, svc *service.Service) {
			t.Helper()
			w.fill(t, access.DefaultNamespace, token)
		}, math.MinInt64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, server.Config{})
			svc, err := w.Service(t.Context(), access.DefaultNamespace)
			if err != nil {
				t.Fatal(err)
			}
			tc.prepare(t, w, svc)
			if d := w.IdleFor(t.Context(), access.DefaultNamespace, svc); d < tc.from || d > tc.to {
				t.Errorf("idle for %s, want %s to %s", d, tc.from, tc.to)
			}
		})
	}

	for name, tc := range map[string]struct {
		endpoint bool
		from, to time.Duration
	}{
		"run that is over":        {false, 23 * time.Hour, 24 * time.Hour},
		"notification to be sent": {true, math.MinInt64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
			}))
			defer refusing.Close()
			w := open(t, server.Config{Service: service.Config{
				Operator: &config.Config{Outbound: config.Outbound{Allow: []string{refusing.URL}}}}})
			if tc.endpoint {
				w.made(t, token, "/api/v1/notifications/endpoints", `{"url": "`+refusing.URL+`"}`)
			}
			svc, err := w.Service(t.Context(), access.DefaultNamespace)
			if err != nil {
				t.Fatal(err)
			}
			doc := "workflow:\n  - {id: a, type: set, values: {x: 1}}\n"
			wf, problems, err := service.Load(t.Context(), "flow.yaml", []byte(doc),
				service.LoadOptions{Formats: linked.Kit().Formats})
			if err != nil || problems.HasErrors() {
				t.Fatal(err, problems)
			}
			run, err := svc.Start(t.Context(), service.StartRequest{Workflow: wf})
			if err != nil {
				t.Fatal(err)
			}
			if st, err := svc.Wait(t.Context(), run); err != nil || st.Status != event.StatusCompleted {
				t.Fatal(st, err)
			}
			if d := w.IdleFor(t.Context(), access.DefaultNamespace, svc); d < tc.from || d > tc.to {
				t.Errorf("idle for %s, want %s to %s", d, tc.from, tc.to)
			}
		})
	}
}
