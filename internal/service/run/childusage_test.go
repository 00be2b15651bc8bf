package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// fakeProvider sells model calls and keeps the ledger. Lead agents request as many child runs as
// asks returns, in one reply, and then answer; all others answer.
type fakeProvider struct {
	asks func(agent, prompt string) int
	// fails reports whether a call fails but is still charged.
	fails func(agent string, n int) bool
	// out is the number of output tokens sold for a reply without a limit.
	out int64
	// hold, if not nil, blocks a call until the channel is closed or the call is cancelled.
	hold func(agent string, n int) <-chan struct{}

	mu           sync.Mutex
	ledger       chat.Usage
	calls        int
	callsByAgent map[string]int
}

func (m *fakeProvider) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	m.mu.Lock()
	if m.callsByAgent == nil {
		m.callsByAgent = map[string]int{}
	}
	m.callsByAgent[req.Agent]++
	n := m.callsByAgent[req.Agent]
	m.mu.Unlock()
	if m.hold != nil {
		if c := m.hold(req.Agent, n); c != nil {
			select {
			case <-c:
			case <-ctx.Done():
				return model.Reply{}, &model.Error{Kind: model.KindNetwork, Message: "cut off",
					Usage: m.sell(chat.Usage{InputTokens: 3, OutputTokens: 2})}
			}
		}
	}
	u, stop := chat.Usage{InputTokens: 10, OutputTokens: m.out}, model.StopEnd
	if most := req.Params.MaxTokens; most != nil && *most < u.OutputTokens {
		u.OutputTokens, stop = *most, model.StopLength
	}
	if m.fails != nil && m.fails(req.Agent, n) {
		return model.Reply{}, &model.Error{Kind: model.KindContentFilter, Message: "withheld", Usage: m.sell(u)}
	}
	r := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}, Model: req.Model,
		StopReason: stop}
	if len(req.Messages) == 1 && stop == model.StopEnd {
		for i := range m.asks(req.Agent, req.Messages[0].Text.String()) {
			r.Message.ToolCalls = append(r.Message.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i),
				Name: req.Tools[0].Name, Arguments: event.Value(fmt.Sprintf(`{"input":"part %d"}`, i))})
		}
	}
	r.Usage = m.sell(u)
	return r, nil
}

func (m *fakeProvider) sell(u chat.Usage) *chat.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger, m.calls = m.ledger.Add(u), m.calls+1
	return &u
}

func (m *fakeProvider) sold() (chat.Usage, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger, m.calls
}

// treeTop, treeMiddle and treeLow are three workflows, each a tool of the preceding one.
const (
	treeTop = `
agents:
  Top: {model: house/m, instruction: top, max_tokens: 200, toolsets: [{type: workflow, workflow: middle, tool: ` +
		`middle, description: middle}]}
workflow:
  - {type: agent, name: Top}
`
	treeMiddle = `
agents:
  Middle: {model: house/m, instruction: middle, max_tokens: 200, toolsets: [{type: workflow, workflow: low, tool: ` +
		`low, description: low}]}
workflow:
  - {type: agent, name: Middle}
`
	treeLow = `
agents:
  Low: {model: house/m, instruction: low, max_tokens: 200}
workflow:
  - {type: agent, name: Low, retry: {max_attempts: 2, on: [content_filter], backoff: {initial_delay_seconds: 0}}}
`
)

func openTree(t *testing.T, db string, m *fakeProvider) *service.Service {
	t.Helper()
	prices, problems := price.Parse("prices.yaml",
		[]byte("asOf: \"2026-11\"\nsource: test\nprices:\n  - {models: [house/m], input: 1, output: 4}\n"))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db,
		Models: map[string]model.Client{"house": m}, Prices: prices, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startTree(t *testing.T, s *service.Service, limits workflow.Limits) string {
	t.Helper()
	for id, text := range map[string]string{"middle": treeMiddle, "low": treeLow} {
		if _, err := s.Entry(t.Context(), id); err == nil {
			continue
		}
		storeAs(t, s, id, text)
	}
	w, problems, err := s.Load(t.Context(), "top.yaml", []byte(treeTop), service.LoadOptions{})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func wantLedger(t *testing.T, o project.Run, m *fakeProvider) {
	t.Helper()
	want, calls := m.sold()
	rate := chat.Rate{Input: 1_000_000, Output: 4_000_000}
	if u := o.Usage; u.InputTokens != want.InputTokens || u.OutputTokens != want.OutputTokens ||
		u.ModelCalls != calls || u.UnknownCosts != 0 || u.KnownCost != rate.Cost(want) {
		t.Errorf("the run used %+v; the provider says %+v in %d calls, %v", u, want, calls, rate.Cost(want))
	}
	var input, output int64
	var cost chat.Money
	for _, st := range o.Steps {
		input, output, cost = input+st.Usage.InputTokens, output+st.Usage.OutputTokens, cost.Plus(st.Usage.KnownCost)
	}
	if input != want.InputTokens || output != want.OutputTokens || cost != rate.Cost(want) {
		t.Errorf("the steps used %d and %d for %v; the provider says %+v", input, output, cost, want)
	}
}

// P20: the usage of a run is what the provider sold to it and to all its descendants, including
// failed attempts: by run, by step, and in money.
func TestUsage_ChildRuns(t *testing.T) {
	t.Parallel()
	m := &fakeProvider{out: 30, asks: func(agent, _ string) int { return map[string]int{"Top": 2, "Middle": 3}[agent] },
		fails: func(agent string, n int) bool { return agent == "Low" && n%2 == 1 && n < 6 }}
	s := openTree(t, service.Memory, m)
	defer s.Close()
	run := startTree(t, s, workflow.Limits{})
	o := ended(t, s, run)
	if o.Status != event.StatusCompleted || o.Usage.ToolCalls != 8 {
		t.Fatalf("the run is %s, %v, with %d tool calls", o.Status, o.Error, o.Usage.ToolCalls)
	}
	wantLedger(t, o, m)
	for _, h := range childrenOf(t, s, run) {
		if got, err := s.Show(t.Context(), h.Run); err != nil || got.Usage.ModelCalls < 5 || got.Usage.ToolCalls != 3 {
			t.Errorf("run %s: %+v, %v", h.Run, got.Usage, err)
		}
	}
}

// P20, P12: an interrupted run with child runs counts their usage once, however many resumes it
// takes.
func TestUsage_ChildRunsAfterRestart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "h.db")
	reached := make(chan struct{}, 100)
	var stop chan struct{}
	m := &fakeProvider{out: 30, asks: func(agent, _ string) int { return map[string]int{"Top": 2, "Middle": 2}[agent] }}
	m.hold = func(agent string, n int) <-chan struct{} {
		if agent != "Low" && n%3 != 2 {
			return nil
		}
		reached <- struct{}{}
		return stop
	}
	var run string
	for range 4 {
		stop = make(chan struct{})
		s := openTree(t, db, m)
		if run == "" {
			run = startTree(t, s, workflow.Limits{})
		} else if err := s.Resume(t.Context(), run); err != nil && !errors.Is(err, engine.ErrEnded) {
			t.Fatal(err)
		}
		<-reached
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m.hold = nil
	before, _ := m.sold()
	s := openTree(t, db, m)
	defer s.Close()
	if err := s.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, run)
	if o.Status != event.StatusCompleted {
		t.Fatalf("the run is %s, %v", o.Status, o.Error)
	}
	after, _ := m.sold()
	var journals chat.Usage // usage in the journals of all runs for their own calls
	list, _, err := s.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		events, err := s.Events(t.Context(), h.Run, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch d := e.Data.(type) {
			case *event.ModelReplied:
				journals = journals.Add(*d.Usage)
			case *event.ModelFailed:
				if d.Usage != nil {
					journals = journals.Add(*d.Usage)
				}
			}
		}
	}
	if o.Usage.InputTokens != journals.InputTokens || o.Usage.OutputTokens != journals.OutputTokens ||
		journals.InputTokens > after.InputTokens || before.InputTokens == 0 {
		t.Errorf("the run used %+v; the journals tell of %+v, and %+v was sold", o.Usage, journals, after)
	}
}

// P20: a run and all its descendants together never exceed its budget, whatever each of them
// requests; the run ends at the budget, and continues under a larger one from where each of them
// was: nothing is paid for twice.
func TestBudget_ChildRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		top, middle := rapid.IntRange(1, 4).Draw(rt, "top"), rapid.IntRange(0, 4).Draw(rt, "middle")
		m := &fakeProvider{out: rapid.Int64Range(20, 200).Draw(rt, "out"), asks: func(agent, _ string) int {
			return map[string]int{"Top": top, "Middle": middle}[agent]
		}}
		var limits workflow.Limits
		kind := rapid.SampledFrom([]string{"tokens", "money", "calls"}).Draw(rt, "kind")
		raise := func(by int64) {
			switch kind {
			case "tokens":
				limits.MaxTokens += 100 * by
			case "money":
				limits.MaxCostUSD += float64(by) * 0.0004
			default:
				limits.MaxCalls += by
			}
		}
		raise(rapid.Int64Range(1, 40).Draw(rt, "budget"))
		s := openTree(t, service.Memory, m)
		defer s.Close()
		run := startTree(t, s, limits)
		within := func(o project.Run) {
			sold, calls := m.sold()
			tokens, cost := sold.InputTokens+sold.OutputTokens,
				(chat.Rate{Input: 1_000_000, Output: 4_000_000}).Cost(sold)
			if limits.MaxTokens > 0 && tokens > limits.MaxTokens || limits.MaxCostUSD > 0 && cost > chat.ToMoney(
				limits.MaxCostUSD) || limits.MaxCalls > 0 && int64(calls+o.Usage.ToolCalls) > limits.MaxCalls {
				rt.Fatalf("%d tokens, %v, %d calls of %+v", tokens, cost, calls+o.Usage.ToolCalls, limits)
			}
			if o.Usage.InputTokens != sold.InputTokens || o.Usage.OutputTokens != sold.OutputTokens ||
				o.Usage.ModelCalls != calls {
				rt.Fatalf("the run used %+v; %+v was sold in %d calls", o.Usage, sold, calls)
			}
		}
		for round := 0; ; round++ {
			o := ended(t, s, run)
			within(o)
			if o.Status == event.StatusCompleted {
				break
			}
			if o.Error == nil || o.Error.Code != event.CodeBudget || round > 200 {
				rt.Fatalf("the run is %s after %d budgets: %+v", o.Status, round, o.Error)
			}
			raise(rapid.Int64Range(5, 40).Draw(rt, "more"))
			if err := s.Reopen(t.Context(), run, limits, event.LocalBy(event.ChannelCLI)); err != nil {
				rt.Fatal(err)
			}
		}
		if heads := childrenOf(t, s, run); len(heads) != top {
			rt.Errorf("%d runs below, want %d: each goes on and none begins anew", len(heads), top)
		}
	})
}

// P20: if the budget says pause, a run whose child runs need more asks a person, and continues with
// the answer.
func TestBudget_ChildRunsPause(t *testing.T) {
	t.Parallel()
	m := &fakeProvider{out: 100, asks: func(agent, _ string) int {
		return map[string]int{"Top": 1, "Middle": 2}[agent]
	}}
	s := openTree(t, service.Memory, m)
	defer s.Close()
	run := startTree(t, s, workflow.Limits{MaxTokens: 400, OnBudget: workflow.OnBudgetPause})
	o := ended(t, s, run)
	if o.Status != event.StatusPaused || len(o.Waiting) != 1 ||
		!strings.Contains(o.Waiting[0].Prompt, "budget of 400 tokens is used up") {
		t.Fatalf("the run is %s, %+v, %+v", o.Status, o.Error, o.Waiting)
	}
	below := childrenOf(t, s, run)
	if len(below) != 1 {
		t.Fatalf("%d runs below", len(below))
	}
	c, err := s.Show(t.Context(), below[0].Run)
	if err != nil || c.Error == nil || c.Error.Code != event.CodeParentBudget {
		t.Fatalf("the run below: %+v, %v", c.Error, err)
	}
	if err := s.Reopen(t.Context(), below[0].Run, workflow.Limits{MaxTokens: 1_000_000},
		event.LocalBy(event.ChannelCLI)); !errors.Is(err, engine.ErrAbove) {
		t.Errorf("a run below was given more by itself: %v", err)
	}
	withLimits(t, s, run, workflow.Limits{MaxTokens: 5000})
	if o = ended(t, s, run); o.Status != event.StatusCompleted {
		t.Fatalf("the run is %s, %+v", o.Status, o.Error)
	}
	wantLedger(t, o, m)
}

// P20, D10: the usage of child runs that were cancelled with their run counts toward that run's
// usage.
func TestUsage_CancelledChildRuns(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 10)
	m := &fakeProvider{out: 30, asks: func(agent, _ string) int { return map[string]int{"Top": 2, "Middle": 1}[agent] }}
	m.hold = func(agent string, _ int) <-chan struct{} {
		if agent != "Low" {
			return nil
		}
		reached <- struct{}{}
		return make(chan struct{})
	}
	s := openTree(t, service.Memory, m)
	defer s.Close()
	run := startTree(t, s, workflow.Limits{})
	<-reached
	<-reached
	if err := s.Cancel(t.Context(), run, ""); err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, run)
	if o.Status != event.StatusCancelled {
		t.Fatalf("the run is %s", o.Status)
	}
	wantLedger(t, o, m)
}

// P20: a fork of a run with an active child run starts a separate child run; the other run's usage
// is not counted in the fork, and nothing is reserved for it.
func TestUsage_ForkWithChildRuns(t *testing.T) {
	t.Parallel()
	reached, stop := make(chan struct{}, 10), make(chan struct{})
	m := &fakeProvider{out: 30, asks: func(agent, _ string) int { return map[string]int{"Top": 1, "Middle": 1}[agent] }}
	m.hold = func(agent string, _ int) <-chan struct{} {
		if agent != "Low" {
			return nil
		}
		reached <- struct{}{}
		return stop
	}
	s := openTree(t, service.Memory, m)
	defer s.Close()
	run := startTree(t, s, workflow.Limits{MaxTokens: 2000})
	<-reached
	h, err := s.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), run, h.LastSeq, service.ForkRights{})
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	wantLedger(t, ended(t, s, run), m)
	if err := s.Resume(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	if o := ended(t, s, fork); o.Status != event.StatusCompleted || o.Usage.ModelCalls != 5 ||
		o.Usage.OutputTokens != 150 || o.Usage.UnknownCosts != 0 {
		t.Errorf("the fork is %s, %+v, and used %+v", o.Status, o.Error, o.Usage)
	}
}
