package embedded_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// TestReservation_FreedInSameBatch checks that a run can start although it requests its share of
// the budget just before the run that holds all of it is reported as ended, when both messages
// reach the parent run together and nothing follows them (P20).
func TestReservation_FreedInSameBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		var blocked atomic.Pointer[chan struct{}]
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		o.append = func(ctx context.Context, a journal.Append) error {
			if c := blocked.Load(); c != nil {
				<-*c
			}
			return o.Backend.Append(ctx, a)
		}
		check := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		w := &sim.World{
			Func: func(ctx context.Context, _ string, c *engine.CallFunc, l driver.Caller) engine.FuncResult {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				_, err := l.Begin(ctx, "first", 1, nil)
				check(err)
				gate := make(chan struct{})
				blocked.Store(&gate)
				var told sync.WaitGroup
				// keeps the actor busy
				told.Go(func() { check(l.Use(engine.CallUse{Run: "", Ended: true, Used: event.Used{ModelCalls: 1}})) })
				synctest.Wait()
				told.Go(func() {
					part, err := l.Begin(ctx, "second", 1, nil)
					if err != nil || part == nil || part.MaxTokens != 600 {
						t.Errorf("the second run may use %+v, %v; want 600 tokens", part, err)
					}
				})
				synctest.Wait()
				told.Go(func() {
					check(
						l.Use(engine.CallUse{Run: "first", Ended: true,
							Used: event.Used{Borne: event.Spent{Tokens: 400}}}))
				})
				synctest.Wait()
				blocked.Store(nil)
				close(gate)
				told.Wait()
				check(l.Use(engine.CallUse{Run: "second", Ended: true, Used: event.Used{}}))
				return engine.FuncResult{Output: c.Input}
			}}
		d := open(t, m, embedded.Config{Store: o, Open: w.Open,
			Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
		one := &workflow.Workflow{Name: "test", Entry: "n",
			Nodes: []workflow.Node{{ID: "n", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "n"}}}}
		run, err := d.Start(t.Context(), driver.Spec{Workflow: one, Input: event.Value(`1`),
			Limits: workflow.Limits{MaxTokens: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		if s := status(t, d, run); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
	})
}
