package run_test

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/journal"
)

// P17: a damaged journal in which runs are each other's descendants is read once.
func TestReplies_CyclicJournal(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for run, below := range map[string]string{"a": "b", "b": "a"} {
		data, _, err := journal.Encode([]event.Event{
			{Seq: 1, At: time.Unix(1, 0), Data: &event.ChildStarted{Run: below}},
			{Seq: 2, At: time.Unix(1, 0), Data: &event.ModelReplied{Message: chat.Message{Text: chat.NewText(run)}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		a := journal.Append{
			Run: run, Create: &journal.NewRun{}, Record: journal.Record{First: 1, Last: 2, Data: data},
			Status: journal.StatusPaused, Release: true,
		}
		if err := s.Home().Journal.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	known, err := s.Replied(ctx, "a")
	if err != nil || len(known) != 2 {
		t.Errorf("%d replies, %v", len(known), err)
	}
}
