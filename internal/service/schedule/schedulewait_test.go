package schedule_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/service/resources"
)

// TestSchedule_WaitForAbandonedRun checks that a scheduler does not wait for a manual run that lost
// its process in the meantime and now waits for a person, perhaps forever (P37, S1-39), just as it
// would not have begun to wait for it (TestScheduleAfterInterruptedRun).
func TestSchedule_WaitForAbandonedRun(t *testing.T) {
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
	const doc = "agents:\n  root: {model: openai/gpt-5-mini, instruction: Hello}\nworkflow:\n  - {type: agent, " +
		"name: root}\n"
	w, problems, err := service.Load(t.Context(), "hello.yaml", []byte(doc),
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	byHand, s := open(journal.KindRun), open(journal.KindScheduler)
	defer s.Close()
	run, err := byHand.Start(t.Context(), service.StartRequest{
		Workflow: w,
		Files:    resources.Files{Replies: []byte("replies:\n  - {text: late, delayMs: 3600000, times: always}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := byHand.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if st, err := s.WaitForRun(ctx, run); !errors.Is(err, scheduler.ErrLeft) {
		t.Errorf("got %q, %v", st, err)
	}
}
