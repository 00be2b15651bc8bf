package embedded_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/workflow"
)

// clientFunc implements model.Client with a function.
type clientFunc func(context.Context, model.Request) (model.Reply, error)

func (f clientFunc) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	return f(ctx, req)
}

func reply(text string, u chat.Usage) model.Reply {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)}, Usage: &u,
		StopReason: model.StopEnd}
}

// broad returns a fork of n agents; each may modify their nodes.
func broad(n int, each func(*workflow.Node)) *workflow.Workflow {
	f := workflow.Fork{Join: "f/join", Shape: workflow.ShapeMap}
	var (
		nodes []workflow.Node
		ids   []string
	)
	w := &workflow.Workflow{Name: "broad", Entry: "f"}
	for i := range n {
		id := fmt.Sprintf("a%d", i)
		node := enginetest.In("f", enginetest.Agent(id))
		if each != nil {
			each(&node)
		}
		nodes = append(nodes, node)
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id})
		w.Edges = append(w.Edges, workflow.Edge{From: "f", Port: id, To: id}, workflow.Edge{From: id, To: "f/join"})
		ids = append(ids, id)
	}
	w.Nodes = append(enginetest.Fork("f", f, ids...), nodes...)
	return w
}

// turn adapts a ticket to driver.Admission.
type turn struct{ *ratelimit.Ticket }

func (t turn) Done(res engine.ModelResult) {
	o := ratelimit.Outcome{OK: res.Failure == nil}
	if f := res.Failure; f != nil {
		o.TurnedAway, o.RetryAfter = f.Code == string(model.KindRateLimit), f.RetryAfter()
	}
	t.Ticket.Done(o)
}

// TestRateLimit_ManyBranches runs 200 concurrent branches against a provider that accepts ten calls
// a second (P14): all finish, the provider never sees more than ten calls in a second, and hardly
// any call is repeated. Now and then another process uses up part of the key's limit.
func TestRateLimit_ManyBranches(t *testing.T) {
	const branches, perSecond = 200, 10
	w := broad(branches, func(n *workflow.Node) {
		n.Retry = &workflow.Retry{MaxRetries: 8, Delay: workflow.Duration(time.Second), Multiplier: 2,
			On: []string{"rate_limit"}}
	})
	var (
		mu   sync.Mutex
		seen []time.Time
	)
	provider := clientFunc(func(context.Context, model.Request) (model.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, time.Now())
		if len(seen)%40 == 0 { // usage of the key by other processes
			return model.Reply{}, &model.Error{Kind: model.KindRateLimit, Message: "slow down",
				RetryAfter: 2 * time.Second}
		}
		return reply("done", chat.Usage{}), nil
	})
	limiter := ratelimit.New(ratelimit.Limits{RequestsPerMinute: 60 * perSecond})
	kit := &driver.RunResources{Models: provider, Admit: func(*driver.Info, *engine.CallModel) driver.Admission {
		return turn{limiter.Take()}
	}}
	bubble(t, embedded.Config{Open: kitOf(kit)}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		if st := status(t, d, start(t, d, w)); st.Status != event.StatusCompleted {
			t.Errorf("the run is %s", st.Status)
		}
		if len(seen) > branches*12/10 {
			t.Errorf("%d attempts of %d calls", len(seen), branches)
		}
		for i, at := range seen {
			if j := i + perSecond; j < len(seen) && seen[j].Sub(at) < time.Second {
				t.Fatalf("calls %d to %d came within %s", i+1, j+1, seen[j].Sub(at))
			}
			if i >= 39 && (i+1)%40 == 1 && at.Sub(seen[i-1]) < 2*time.Second {
				t.Errorf("call %d came %s after the provider had asked for 2s", i+1, at.Sub(seen[i-1]))
			}
		}
	})
}

func kitOf(k *driver.RunResources) driver.OpenFunc {
	return func(context.Context, driver.Info) (*driver.RunResources, error) { return k, nil }
}

// TestRateLimit_WaitReleasesSlot checks that a call that waits for its provider holds no slot
// (P14): other calls proceed with the only one there is. Cancelling ends the wait, and the call,
// which was never made, costs nothing.
func TestRateLimit_WaitReleasesSlot(t *testing.T) {
	limiter := ratelimit.New(ratelimit.Limits{})
	ticket := limiter.Take()
	if !ticket.Start() {
		t.Fatal("nothing is in the way")
	}
	models := clientFunc(func(_ context.Context, req model.Request) (model.Reply, error) {
		return reply(req.Node, chat.Usage{}), nil
	})
	kit := &driver.RunResources{Models: models, Admit: func(_ *driver.Info, c *engine.CallModel) driver.Admission {
		if c.Node == "paced" {
			return turn{limiter.Take()}
		}
		return nil
	}}
	bubble(t, embedded.Config{Open: kitOf(kit), MaxCalls: 1},
		func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
			ticket.Done(ratelimit.Outcome{TurnedAway: true, RetryAfter: 24 * time.Hour})
			paced := start(t, d, agents("paced"))
			began := time.Now()
			if st := status(t, d, start(t, d, agents("free", "and free"))); st.Status != event.StatusCompleted ||
				time.Since(began) > time.Hour {
				t.Errorf("the other run is %s after %s", st.Status, time.Since(began))
			}
			if err := d.Cancel(t.Context(), paced, ""); err != nil {
				t.Fatal(err)
			}
			if st := status(t, d, paced); st.Status != event.StatusCancelled || time.Since(began) > time.Hour {
				t.Errorf("the paced run is %s after %s", st.Status, time.Since(began))
			}
			p, err := runsOf(m).Export(t.Context(), paced)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(p.Events, func(e event.Event) bool { return e.Data.Type() == "model.failed" })
			if f := p.Events[i].Data.(*event.ModelFailed); f.Usage == nil || *f.Usage != (chat.Usage{}) ||
				f.CostUSD == nil || *f.CostUSD != 0 {
				t.Errorf("a call that was never made used %+v", f.Usage)
			}
		})
}

// TestBudgetOfBranches checks that twenty branches with a shared budget never exceed it together if
// the provider respects the limit that it is sent; the remainder is used, and the run continues
// with a larger budget (P20).
func TestBudgetOfBranches(t *testing.T) {
	const branches, budget = 20, 30_000
	w := broad(branches, nil)
	w.Limits.MaxTokens = budget
	var (
		mu     sync.Mutex
		ledger chat.Usage
	)
	provider := clientFunc(func(ctx context.Context, req model.Request) (model.Reply, error) {
		if req.Params.MaxTokens == nil {
			return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no bound"}
		}
		used := chat.Usage{InputTokens: 10, OutputTokens: min(*req.Params.MaxTokens, 2500)}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		ledger = ledger.Add(used)
		r := reply("done", used)
		if used.OutputTokens < 2500 {
			r.StopReason = model.StopLength
		}
		return r, nil
	})
	kit := &driver.RunResources{Models: provider}
	bubble(t, embedded.Config{Open: kitOf(kit)}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		run := start(t, d, w)
		st := status(t, d, run)
		used := ledger.InputTokens + ledger.OutputTokens
		if st.Status != event.StatusFailed || used > budget || used < budget*8/10 {
			t.Fatalf("the run is %s, and used %d of %d", st.Status, used, budget)
		}
		if err := d.Reopen(t.Context(), run, workflow.Limits{MaxTokens: 10 * budget},
			event.LocalBy(event.ChannelCLI)); err != nil {
			t.Fatal(err)
		}
		if st := status(t, d, run); st.Status != event.StatusCompleted {
			t.Errorf("with more the run is %s", st.Status)
		}
	})
}
