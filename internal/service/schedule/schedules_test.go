package schedule_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// TestScheduleAfterInterruptedRun checks that an interrupted manual run, which waits for a person
// to resume it, perhaps forever, keeps no schedule silent (P37), and that a run that a scheduler
// left is resumed, and the schedule continues after its end (S1-39).
func TestScheduleAfterInterruptedRun(t *testing.T) {
	t.Parallel()
	const doc = `{"id": "w", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", "config": ` +
		`{"agentId": "a"}}], "edges": [],
		"executionMode": "continuous", "schedule": "1"}`
	for _, c := range []struct {
		kind     journal.Kind
		left     journal.Status // outcome of the abandoned run
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
				s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Kind: kind,
					Env: func(string) string { return "" }})
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
			// The reply would come after 2 s; the process that resumes the run waits for the full
			// time again.
			slow := []byte("replies:\n  - {text: late, delayMs: 2000, times: always}\n")
			left, err := first.Start(t.Context(),
				service.StartRequest{Workflow: w, Files: service.Files{Replies: slow}})
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
				t.Errorf("when the schedule's run started, the run that was left was %s (interrupted %v), %v; want %s",
					head.Status, head.Interrupted, err, c.left)
			}
		})
	}
}

// TestSchedule_ConflictingRows checks that a row with its id in agent_workflows keeps a published
// rounds document from running: its schedules are reported as broken, each with the reason, and are
// not lost silently (P37). A routes workflow consists of rows and has no schedules.
func TestSchedule_ConflictingRows(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Env: func(string) string {
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, doc := range map[string]string{
		"w.json": `{"id": "w", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", ` +
			`"config": {"agentId": "a"}}], "edges": [],
			"executionMode": "interval", "schedule": "60"}`,
		"hand.json": `{"id": "hand", "agents": [{"id": "a"}], "nodes": [{"id": "n", "type": "agent", "config": ` +
			`{"agentId": "a"}}], "edges": [], "maxRounds": 1}`,
		"lobby.json": lobby,
	} {
		_, problems, err := s.Apply(t.Context(), service.ApplyRequest{
			LoadOptions: service.LoadOptions{Agents: []workflow.Agent{{ID: "desk"}}},
			Documents:   []service.Document{{File: name, Data: []byte(doc)}},
		})
		if err != nil || problems.HasErrors() {
			t.Fatal(err, problems)
		}
	}
	other, err := sql.Open("sqlite", "file:"+db+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(),
		`INSERT INTO agent_workflows (id, name) VALUES ('w', 'stray'), ('hand', 'stray')`); err != nil {
		t.Fatal(err)
	}
	list, _, _, err := s.Schedules(t.Context(), nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %+v, %v; want the one schedule of w", list, err)
	}
	if sc := list[0]; sc.Workflow != "w" || sc.Schedule.Spec != "60" || sc.Err == nil ||
		!strings.Contains(sc.Err.Error(), "agent_workflows has rows of it too") {
		t.Errorf("got %+v", sc)
	}
}

// a run gets the inputs of its schedule in the version that is published when it starts; a
// schedule that this version lacks starts nothing.
func TestSchedule_PublishedInputs(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        filepath.Join(t.TempDir(), "hocket.db"), Kind: journal.KindScheduler, Env: func(string) string {
			return ""
		},
		Starts: service.Starts{Files: service.Files{Replies: []byte("replies:\n  - {text: done, times: always}\n")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const doc = `{"id": "w", "agents": [{"id": "a"}], "nodes": [{"id": "n", "type": "agent", "config": {"agentId": ` +
		`"a"}}], "edges": [], "inputs": {"city": {"type": "string"}}, "schedules": [SCHEDULES]}`
	publish := func(list string) {
		t.Helper()
		if _, problems := applyText(t, s, "w.json", strings.Replace(doc, "SCHEDULES", list, 1),
			false); problems.HasErrors() {
			t.Fatal(problems)
		}
	}
	publish(`{"id": "x", "schedule": "60", "inputs": {"city": "Ulm"}}, {"id": "y", "schedule": "60", "inputs": ` +
		`{"city": "Bonn"}}`)
	publish(`{"id": "x", "schedule": "60", "inputs": {"city": "Rome"}}`)
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	run, fresh, err := s.StartSlot(t.Context(), scheduler.Slot{Key: scheduler.Key{Workflow: "w", Schedule: "x"},
		Planned: at})
	if err != nil || !fresh {
		t.Fatal(run, fresh, err)
	}
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if first, err := json.Marshal(events[0]); err != nil || !strings.Contains(string(first), `{"city":"Rome"}`) {
		t.Errorf("the run began with %s, %v", first, err)
	}
	_, _, err = s.StartSlot(t.Context(), scheduler.Slot{Key: scheduler.Key{Workflow: "w", Schedule: "y"}, Planned: at})
	if !errors.Is(err, scheduler.ErrRefused) ||
		!strings.Contains(err.Error(), `workflow w has no schedule "y"; it has x`) {
		t.Errorf("a schedule that is gone: %v", err)
	}
}

// TestSchedule_UnattendedCommand checks that a run of a schedule fails with the rule to add where
// nobody could be asked whether a command may run what a rule denies.
func TestSchedule_UnattendedCommand(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(), Permissions: tool.Permissions{Deny: []string{"shell:cmd=touch *"}},
		DB: filepath.Join(t.TempDir(), "hocket.db"), Kind: journal.KindScheduler,
		Env: func(string) string { return "" },
		Starts: service.Starts{Files: service.Files{Tools: []byte("toolsets:\n  - type: shell\n"), Replies: []byte(
			"replies:\n  - {toolCalls: [{name: shell, arguments: {cmd: ./nowhere}}]}\n  - {text: done}\n")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const doc = `{"id": "w", "agents": [{"id": "a", "tools": ["shell"]}], "nodes": [{"id": "n", "type": "agent", ` +
		`"config": {"agentId": "a"}}], "edges": [], "schedules": [{"id": "x", "schedule": "60"}]}`
	if _, problems := applyText(t, s, "w.json", doc, false); problems.HasErrors() {
		t.Fatal(problems)
	}
	run, _, err := s.StartSlot(t.Context(), scheduler.Slot{Key: scheduler.Key{Workflow: "w", Schedule: "x"},
		Planned: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	var got project.Run
	await(t, func() bool {
		rec, err := s.Read(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		got = rec.Object()
		return got.Status != event.StatusRunning
	})
	if got.Error == nil || got.Error.Code != event.CodeUnattended ||
		!strings.Contains(got.Error.Message, `add to allow in the same permissions: "shell", "shell:cmd=./nowhere"`) {
		t.Errorf("%s: %+v, want the rule to add", got.Status, got.Error)
	}
}

// if the key of a workflow limits its runs and others are active, the scheduler receives the
// id of one, not a refusal.
func TestSchedule_ConcurrencyKeyBusy(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(),
		"hocket.db"), Kind: journal.KindScheduler, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	doc := `{"concurrency": {"if_busy": "skip"}, "schedules": [{"id": "x", "schedule": "60"}, {"id": "y", ` +
		`"schedule": "60"}], "workflow": [{"type": "ask", "prompt": "go on?"}]}`
	if _, problems := applyText(t, s, "w.json", doc, false); problems.HasErrors() {
		t.Fatal(problems)
	}
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	slot := scheduler.Slot{Key: scheduler.Key{Workflow: "w", Schedule: "x"}, Planned: at}
	first, _, err := s.StartSlot(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	slot.Schedule = "y" // no run of it is active
	_, _, err = s.StartSlot(t.Context(), slot)
	if busy, ok := errors.AsType[*scheduler.BusyError](err); !ok || busy.Run != first ||
		errors.Is(err, scheduler.ErrRefused) {
		t.Errorf("beside run %s: %v", first, err)
	}
}
