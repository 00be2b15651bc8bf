package run_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const raceDocument = `
agents:
  quick: {model: house/m, instruction: quick}
  late: {model: house/m, instruction: late}
workflow:
  - type: parallel
    steps: [{type: agent, name: quick}, {type: agent, name: late}]
`

// racing answers quick agents once a late one waits; the late one is cancelled, and its usage is
// reported nevertheless.
type racing struct {
	waits chan struct{}

	mu     sync.Mutex
	ledger chat.Usage
	calls  int
}

func (r *racing) sell(u chat.Usage) *chat.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger, r.calls = r.ledger.Add(u), r.calls+1
	return &u
}

func (r *racing) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	if req.Agent == "late" {
		r.waits <- struct{}{}
		<-ctx.Done()
		return model.Reply{}, &model.Error{Kind: model.KindNetwork, Message: "cut off",
			Usage: r.sell(chat.Usage{InputTokens: 70, OutputTokens: 7})}
	}
	<-r.waits
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")},
		Usage: r.sell(chat.Usage{InputTokens: 500, OutputTokens: 30})}, nil
}

// P20: an attempt that lost a race and was cancelled counts with the usage that its provider
// reported, and the runs of a workflow add up to the provider's ledger.
func TestUsage_CancelledAttempts(t *testing.T) {
	t.Parallel()
	provider := &racing{waits: make(chan struct{})}
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Models: map[string]model.Client{"house": provider}, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		w, problems, err := service.Load(t.Context(), "race", []byte(raceDocument),
			service.LoadOptions{Formats: linked.Kit().Formats})
		if err != nil || problems.HasErrors() {
			t.Fatal(problems, err)
		}
		for i := range w.Nodes {
			if f := w.Nodes[i].Fork; f != nil {
				f.Until = workflow.UntilRace
			}
		}
		w.Name = "race"
		run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go"})
		if err != nil {
			t.Fatal(err)
		}
		if code := outcome(t, s, run); code != "completed" {
			t.Fatalf("the run ended as %s", code)
		}
	}
	heads, _, err := s.List(t.Context(), journal.Query{Workflow: "race"})
	if err != nil || len(heads) != 3 {
		t.Fatalf("%d runs, %v", len(heads), err)
	}
	var sum chat.Usage
	calls := 0
	for _, h := range heads {
		o, err := s.Show(t.Context(), h.Run)
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(chat.Usage{InputTokens: o.Usage.InputTokens, OutputTokens: o.Usage.OutputTokens})
		calls += o.Usage.ModelCalls
	}
	if sum != provider.ledger || calls != provider.calls || calls != 6 {
		t.Errorf("the runs used %+v in %d calls; the provider says %+v in %d", sum, calls, provider.ledger,
			provider.calls)
	}
}

// silent accepts calls and never answers; if alive is set, it sends heartbeats.
type silent struct{ alive time.Duration }

func (s silent) Call(ctx context.Context, _ model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if s.alive == 0 {
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	}
	tick := time.NewTicker(s.alive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			onDelta(model.Delta{})
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
}

// P11: with default settings a model server that accepts calls and never answers fails the node on
// time, even one that keeps sending heartbeats.
func TestModelCall_Timeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server silent
		want   time.Duration
	}{
		"idle":  {silent{}, model.DefaultIdleTimeout},
		"total": {silent{alive: time.Minute}, model.DefaultTotalTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
					Models: map[string]model.Client{"house": tc.server}, Env: func(string) string { return "" }})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				began := time.Now()
				if code, took := outcome(t, s, startHouse(t, s, "w")), time.Since(began); code != event.CodeTimeout ||
					took != tc.want {
					t.Errorf("the run ended as %s after %s; want %s", code, took, tc.want)
				}
			})
		})
	}
}
