package service_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

// A run by hand that was interrupted waits for a person to resume it, perhaps for ever: it keeps no schedule silent (P37). One that a scheduler left is
// taken up, and the schedule goes on after its end (S1-39).
func TestScheduleAfterInterruptedRun(t *testing.T) {
	t.Parallel()
	const doc = `{"id": "w", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], "edges": [],
		"executionMode": "continuous", "schedule": "1"}`
	for _, c := range []struct {
		kind     journal.Kind
		left     journal.Status // what becomes of the run that was left
		isActive bool
	}{
		{journal.KindRun, journal.StatusRunning, true},
		{journal.KindScheduler, journal.StatusCompleted, false},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "hocket.db")
			open := func(kind journal.Kind) *service.Service {
				t.Helper()
				s, err := service.Open(t.Context(), service.Config{DB: db, Kind: kind, Env: func(string) string { return "" }})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			first := open(c.kind)
			if _, problems := applyText(t, first, "w.json", doc, false); problems.HasErrors() {
				t.Fatal(problems)
			}
			w, _, _, err := first.LoadStored(t.Context(), "w", service.Which{}, service.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// The answer would come after 2 s; whoever takes the run up waits for it anew.
			slow := []byte("replies:\n  - {text: late, delayMs: 2000, times: always}\n")
			left, err := first.Start(t.Context(), service.StartRequest{Workflow: w, Files: service.Files{Replies: slow}})
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}

			s := open(journal.KindScheduler)
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var (
				head   journal.Head
				asking error
			)
			err = s.Schedule(ctx, service.ScheduleRequest{
				Files: service.Files{Replies: []byte("replies:\n  - {text: done, times: always}\n")},
				Report: func(e scheduler.Event) {
					if e.Kind == scheduler.EventStarted && ctx.Err() == nil {
						head, asking = s.Head(t.Context(), left)
						cancel()
					}
				},
			})
			if err = errors.Join(err, asking); err != nil || head.Status != c.left || head.Interrupted != c.isActive {
				t.Errorf("when the schedule's run started, the run that was left was %s (interrupted %v), %v; want %s", head.Status, head.Interrupted, err, c.left)
			}
		})
	}
}
