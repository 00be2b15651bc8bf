package run_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
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

// countingDriver counts the runs that it is asked to start.
type countingDriver struct {
	driver.Driver
	starts *atomic.Int32
}

func (d countingDriver) Start(ctx context.Context, spec driver.Spec) (string, error) {
	d.starts.Add(1)
	return d.Driver.Start(ctx, spec)
}

// TestSession_Created checks that a run of a session is not created, at the time at which the
// driver is asked to start it, before the run that holds the session has ended.
func TestSession_Created(t *testing.T) {
	t.Parallel()
	for policy, want := range map[service.IfBusy]int32{
		service.IfBusyReject: 1, service.IfBusyQueue: 2, service.IfBusyCancelPrevious: 2,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := opened(t, service.Memory, replyWithAgentName)
			var starts atomic.Int32
			s.WrapDriver(func(d driver.Driver) driver.Driver { return countingDriver{d, &starts} })
			q := service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok")), Session: "s", IfBusy: policy}
			first := begin(t, s, q)
			paused(t, s, first)
			if policy == service.IfBusyQueue {
				go func() {
					s.AwaitLine(t, "s", 1)
					approve(t, s, first)
				}()
			}
			second, err := s.Start(t.Context(), q)
			if got := starts.Load(); got != want {
				t.Errorf("the driver was asked to start %d runs, want %d", got, want)
			}
			if policy == service.IfBusyReject {
				if !errors.Is(err, journal.ErrBusy) {
					t.Errorf("got %v, want that the session is busy", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			before, err := s.Head(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Head(t.Context(), second)
			if err != nil {
				t.Fatal(err)
			}
			if after.Created.Before(before.Ended) {
				t.Errorf("created at %s, before the end of the one before at %s", after.Created, before.Ended)
			}
		})
	}
}
