package embedded_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
)

// TestInterrupt_DuringCall checks that a run that is interrupted during a call is left unchanged,
// at whatever moment that happens: a call that was cut off is not a failure of the run (D10).
func TestInterrupt_DuringCall(t *testing.T) {
	t.Parallel()
	const runs = 200
	for range 30 {
		m := journal.NewMemory()
		store := m.Open(journal.KindRun)
		w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
			<-ctx.Done()
			return model.Reply{}, ctx.Err()
		}}
		d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: store, Open: w.Open})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		ids := make([]string, runs)
		for i := range runs {
			wg.Go(func() {
				id, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a")})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = id
				if err := d.Interrupt(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := m.Open(journal.KindRun)
		for _, id := range ids {
			h, err := other.Head(t.Context(), id)
			if err != nil || h.Status.Ended() {
				t.Errorf("run %s: %s, %v; want it left as it was", id, h.Status, err)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// stoppedTools are tools whose policies cannot be read before the run is interrupted; begun signals
// that a policy was requested.
type stoppedTools struct {
	driver.Tools
	begun chan struct{}
}

func (t stoppedTools) Policy(ctx context.Context, _ tool.Call) (tool.Policy, error) {
	t.begun <- struct{}{}
	<-ctx.Done()
	return "", ctx.Err()
}

// TestInterrupt_DuringResume checks that a run that is interrupted while it is resumed is left
// unchanged: no person is asked about a lost tool call because its policy was not yet known (P12).
func TestInterrupt_DuringResume(t *testing.T) {
	t.Parallel()
	store, begun := journal.NewMemory().Open(journal.KindRun), make(chan struct{}, 1)
	var taken atomic.Bool
	w := &sim.World{
		Model: func(_ context.Context, q model.Request) (model.Reply, error) {
			r := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}}
			if len(q.Messages) == 1 {
				r.Message.ToolCalls = []chat.ToolCall{{ID: "c", Name: "act", Arguments: event.Value(`{}`)}}
			}
			return r, nil
		},
		Tools: map[string]sim.Tool{
			"act": {Policy: tool.PolicyRetry, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				if taken.Load() {
					return tool.Result{Text: "acted"}, nil
				}
				begun <- struct{}{}
				<-ctx.Done()
				return tool.Result{}, ctx.Err()
			}}},
	}
	var slow atomic.Bool
	d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: store,
		Open: func(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
			k, err := w.Open(ctx, info)
			if err == nil && slow.Load() {
				k.Tools = stoppedTools{k.Tools, begun}
			}
			return k, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a")})
	if err != nil {
		t.Fatal(err)
	}
	interrupt := func() {
		<-begun
		if err := d.Interrupt(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	taken.Store(true)
	slow.Store(true)
	resumed := make(chan error, 1)
	go func() { resumed <- d.Resume(t.Context(), run) }()
	interrupt()
	if err := <-resumed; !errors.Is(err, driver.ErrClosed) {
		t.Errorf("resume: %v", err)
	}
	slow.Store(false)
	if err := d.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if st, err := d.Wait(t.Context(), run); err != nil || st.Status != event.StatusCompleted {
		t.Errorf("the run is %+v, %v", st, err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
