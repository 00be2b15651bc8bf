package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// P40: no lock is held across a model call. While the calls of 200 concurrent runs are blocked,
// other runs of the same store are started, answered, shown, listed and cancelled, and complete.
func TestNoLockAcrossCalls(t *testing.T) {
	t.Parallel()
	const blocked = 200
	calling, release := make(chan struct{}, blocked), make(chan struct{})
	s := opened(t, filepath.Join(t.TempDir(), "hocket.db"), func(ctx context.Context, q model.Request) (string, error) {
		if q.Node != "blocked" {
			return q.Agent, nil
		}
		calling <- struct{}{}
		select {
		case <-release:
			return "released", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	w := agentGraph("", enginetest.Agent("blocked"))
	runs := make([]string, blocked)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			var err error
			if runs[i], err = s.Start(t.Context(),
				service.StartRequest{Workflow: w, Session: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range blocked { // every call is in flight, and none has returned
		<-calling
	}

	free := begin(t, s, service.StartRequest{Workflow: agentGraph("a -> ok; ok:approve -> b", enginetest.Agent("a"),
		enginetest.Approval("ok"), enginetest.Agent("b"))})
	paused(t, s, free)
	approve(t, s, free)
	if o := ended(t, s, free); o.Status != event.StatusCompleted {
		t.Errorf("a run beside the blocked ones is %s, %v", o.Status, o.Error)
	}
	if heads, _, err := s.List(t.Context(), journal.Query{Statuses: []journal.Status{journal.StatusRunning},
		Limit: 1000}); err != nil || len(heads) != blocked {
		t.Errorf("%d runs are running, %v; want %d", len(heads), err, blocked)
	}
	if o, err := s.Show(t.Context(), runs[0]); err != nil || o.Status != event.StatusRunning {
		t.Errorf("a blocked run is %s, %v", o.Status, err)
	}
	if err := s.Cancel(t.Context(), runs[0], ""); err != nil {
		t.Error(err)
	}
	if o := ended(t, s, runs[0]); o.Status != event.StatusCancelled {
		t.Errorf("the blocked run that was cancelled is %s", o.Status)
	}
	close(release)
	for _, run := range runs[1:] {
		if o := ended(t, s, run); o.Status != event.StatusCompleted {
			t.Errorf("run %s is %s, %v", run, o.Status, o.Error)
		}
	}
}

// P40: 200 runs whose only step takes 200 ms take as long as one, if only the calls take time: they
// all run concurrently.
func TestRuns_Concurrent(t *testing.T) {
	t.Parallel()
	took := func(n int) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s, err := service.Open(t.Context(), service.Config{
				Documents: linked.Kit(),
				DB:        service.Memory, Kind: journal.KindServe, Env: func(string) string { return "" },
				Models: map[string]model.Client{
					"own": modelFunc(func(_ context.Context, q model.Request) (string, error) {
						time.Sleep(200 * time.Millisecond)
						return q.Agent, nil
					})},
			})
			if err != nil {
				t.Fatal(err)
			}
			w := agentGraph("", enginetest.Agent("a"))
			began := time.Now()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() { ended(t, s, begin(t, s, service.StartRequest{Workflow: w})) })
			}
			wg.Wait()
			d = time.Since(began)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	if one, all := took(1), took(200); one < 200*time.Millisecond || all >= 2*one {
		t.Errorf("200 runs took %s, one took %s", all, one)
	}
}

// deafDriver ignores cancellations, like one whose process is elsewhere and hangs.
type deafDriver struct{ driver.Driver }

func (deafDriver) Cancel(context.Context, string, string) error { return nil }

// a start that waits for the end of the run that it replaces ends when its caller has left,
// although its context is still active, and stores nothing.
func TestStartAbandoned(t *testing.T) {
	t.Parallel()
	s := opened(t, service.Memory, replyWithAgentName)
	s.WrapDriver(func(d driver.Driver) driver.Driver { return deafDriver{d} })
	w := agentGraph("", enginetest.Approval("ok"))
	w.Concurrency = &workflow.Concurrency{Max: 1, IfBusy: workflow.BusyCancel}
	first := begin(t, s, service.StartRequest{Workflow: w})
	paused(t, s, first)
	left := make(chan struct{})
	close(left)
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "second", Abandoned: left}); !errors.Is(
		err, context.Canceled) {
		t.Errorf("%v, want that the start ends with its caller", err)
	}
	if _, err := s.Show(t.Context(), "second"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("the run that did not begin: %v", err)
	}
	approve(t, s, first)
	ended(t, s, first)
	if o := ended(t, s, begin(t, s, service.StartRequest{Workflow: agentGraph("", enginetest.Agent("a"))})); o.Status !=
		event.StatusCompleted {
		t.Errorf("a run after it is %s, %v", o.Status, o.Error)
	}
}
