package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

const daily = `{"id": "w", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", "config": ` +
	`{"agentId": "a"}}], "edges": [],
	"executionMode": "interval", "schedule": "daily@09:00", "timeZone": "UTC"}`

// X-70 X-72 X-73 X-74: a control of a schedule is shown, and remains in effect for the next
// version; an impossible control returns an error.
func TestControlSchedule(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: t.TempDir() + "/hocket.db",
		Kind: journal.KindScheduler, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, doc := range map[string]string{"w.json": daily, "loop.json": strings.Replace(daily, `"id": "w"`,
		`"id": "loop"`, 1), "two.json": `{"id": "two", "agents": [{"id": "a"}], "branches": [
		{"id": "x", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], "edges": [], ` +
		`"executionMode": "continuous"},
		{"id": "y", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], "edges": [], ` +
		`"executionMode": "interval", "schedule": "60"}]}`} {
		if _, problems := applyText(t, s, name, doc, false); problems.HasErrors() {
			t.Fatal(problems)
		}
	}
	say := func(workflow, branch string, do service.ScheduleControl) (service.Scheduled, error) {
		return s.ControlSchedule(t.Context(), service.ControlRequest{Workflow: workflow, Branch: branch, Do: do,
			By: "ann"})
	}
	must := func(do service.ScheduleControl) service.Scheduled {
		t.Helper()
		sc, err := say("w", "", do)
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	first := must(service.ResumeSchedule).Next
	if sc := must(service.PauseSchedule); sc.PausedBy != "ann" || sc.Paused.IsZero() || !sc.Next.IsZero() {
		t.Errorf("paused: %+v", sc)
	}
	if _, problems := applyText(t, s, "w.json", strings.Replace(daily, `"id": "w"`, `"id": "w", "description": "new"`,
		1), false); problems.HasErrors() {
		t.Fatal(problems)
	}
	if sc := must(service.PauseSchedule); sc.Version != 2 || sc.Paused.IsZero() {
		t.Errorf("paused in the next version: %+v", sc)
	}
	if sc := must(service.ResumeSchedule); !sc.Paused.IsZero() || !sc.Next.Equal(first) {
		t.Errorf("resumed: next %s, want %s", sc.Next, first)
	}
	if sc := must(service.SkipSchedule); !sc.SkipUntil.Equal(first) || !sc.Next.Equal(first.AddDate(0, 0, 1)) ||
		sc.SkippedBy != "ann" {
		t.Errorf("skipped: %+v, first %s", sc, first)
	}
	if sc := must(service.SkipSchedule); !sc.Next.Equal(first.AddDate(0, 0, 2)) {
		t.Errorf("skipped twice: next %s, first %s", sc.Next, first)
	}
	if sc := must(service.ResumeSchedule); !sc.SkipUntil.IsZero() || !sc.Next.Equal(first) {
		t.Errorf("skip taken back: %+v", sc)
	}
	asked := must(service.RunSchedule)
	if again := must(service.RunSchedule); again.AskedRun != asked.AskedRun || asked.AskedRun == "" ||
		asked.AskedBy != "ann" {
		t.Errorf("asked for %q and %q", asked.AskedRun, again.AskedRun)
	}
	for _, c := range []struct {
		workflow, branch string
		do               service.ScheduleControl
		want             string
	}{
		{"two", "", service.PauseSchedule, `several schedules: "x", "y"`},
		{"two", "z", service.PauseSchedule, `workflow two has no schedule "z"; it has x, y`},
		{"two", "x", service.SkipSchedule, "no planned time that is known"},
		{"two", "y", service.SkipSchedule, "no planned time that is known"},
		{"two", "x", "stop", `unknown control "stop"`},
	} {
		if _, err := say(c.workflow, c.branch, c.do); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s/%s: %v, want %s", c.do, c.workflow, c.branch, err, c.want)
		}
	}
	if _, err := say("none", "", service.PauseSchedule); !errors.Is(err, catalog.ErrNotFound) {
		t.Error(err)
	}

	// The scheduler starts the requested run, under the id that was returned.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var started string
	err = s.Schedule(ctx, service.ScheduleRequest{
		Files: service.Files{Replies: []byte("replies:\n  - {text: done, times: always}\n")},
		Report: func(e scheduler.Event) {
			if e.Kind == scheduler.EventStarted && e.Workflow == "w" {
				started = e.Run
				cancel()
			}
		}})
	if err != nil || started != asked.AskedRun {
		t.Errorf("run %q, %v; want %q", started, err, asked.AskedRun)
	}
}
