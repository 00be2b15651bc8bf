package run_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// TestSession_QueueAcrossProcesses (P19) checks that the starts of one session that three processes
// queue begin in the order in which they came, each once, and never two at once.
func TestSession_QueueAcrossProcesses(t *testing.T) {
	t.Parallel()
	starts := 30
	if longtest.Enabled() {
		starts = 100
	}
	for name, c := range map[string]struct {
		starts int
		db     func(*testing.T) string
	}{
		"file":     {15, func(t *testing.T) string { return filepath.Join(t.TempDir(), "hocket.db") }},
		"postgres": {starts, func(t *testing.T) string { return pgtest.URL(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sessionLine(t, c.db(t), c.starts)
		})
	}
}

func sessionLine(t *testing.T, db string, starts int) {
	t.Helper()
	var processes []*service.Service
	for range 3 {
		// A separate pool: each process has its own connections and locks.
		processes = append(processes, opened(t, db, replyWithAgentName, func(c *service.Config) {
			c.Stores = store.Servers{Postgres: pghome.New(nil)}
		}))
	}
	first := begin(t, processes[0], service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok")),
		Session: "s",
		IfBusy:  service.IfBusyQueue})
	paused(t, processes[0], first)
	order := make([]string, starts)
	order[0] = first
	var wg sync.WaitGroup
	for i := 1; i < starts; i++ {
		wg.Go(func() {
			run, err := processes[i%3].Start(t.Context(), service.StartRequest{
				Workflow: agentGraph("", enginetest.Agent("a")), Session: "s", IfBusy: service.IfBusyQueue,
			})
			if err != nil {
				t.Error(err)
			}
			order[i] = run
		})
		processes[(i+1)%3].AwaitLine(t, "s", i)
	}
	approve(t, processes[1], first)
	wg.Wait()
	ended(t, processes[2], order[starts-1])
	heads, _, err := processes[0].List(t.Context(), journal.Query{Session: "s", Limit: 1000})
	if err != nil || len(heads) != starts {
		t.Fatalf("%d runs of the session, want %d; %v", len(heads), starts, err)
	}
	var before time.Time
	for i, run := range order {
		h, err := processes[i%3].Head(t.Context(), run)
		if err != nil || h.Status != journal.StatusCompleted {
			t.Fatalf("start %d: run %s is %s, %v", i, run, h.Status, err)
		}
		if h.Created.Before(before) {
			t.Errorf("start %d began at %s, before the end of the one before at %s", i, h.Created, before)
		}
		before = h.Ended
	}
	processes[0].AwaitLine(t, "s", 0)
}
