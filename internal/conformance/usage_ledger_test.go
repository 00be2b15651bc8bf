package conformance_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/service"
)

const ledgerDocument = `
agents:
  lead: {model: openai/gpt-5-mini, instruction: I am lead, sub_agents: [helper]}
  helper: {model: openai/gpt-5-mini, instruction: I am helper, description: helps}
  shaky: {model: openai/gpt-5-mini, instruction: I am shaky}
workflow:
  - {type: agent, name: lead}
  - {type: agent, name: shaky, retry: {max_attempts: 1, on: [content_filter], backoff: {initial_delay_seconds: 0}}}
`

// TestUsage_MatchesProviderLedger checks that the usage of a run, with its sub-agents and failed
// attempts, matches the provider's ledger: by attempt, by node and by run; in money too (P20).
func TestUsage_MatchesProviderLedger(t *testing.T) {
	t.Parallel()
	var (
		mu       sync.Mutex
		withheld bool
	)
	server := modeltest.Start(t, func(req modeltest.Request) modeltest.Answer {
		usage := &chat.Usage{InputTokens: 1003 + int64(len(req.Messages)), OutputTokens: 107, CachedTokens: 501,
			ReasoningTokens: 7}
		if strings.Contains(req.System, "I am lead") && len(req.Messages) == 1 {
			return modeltest.Answer{ToolCalls: []chat.ToolCall{
				{Name: req.Tools[0].Name, Arguments: event.Value(`{"input":"help"}`)},
			}, Usage: usage}
		}
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(req.System, "I am shaky") && !withheld {
			withheld = true
			return modeltest.Answer{Text: "half", Finish: "content_filter", Usage: usage}
		}
		return modeltest.Answer{Text: "done", Usage: usage}
	})
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Adapters: providers.Adapters(nil), Env: func(name string) string {
			return map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.BaseURL()}[name]
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, problems, err := service.Load(t.Context(), "doc", []byte(ledgerDocument),
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Read(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	o, want := rec.Object(), server.Ledger()
	rate := chat.Rate{Input: 250_000, Output: 2_000_000, Cached: new(chat.Money(25_000))}
	if o.Usage.InputTokens != want.InputTokens || o.Usage.OutputTokens != want.OutputTokens ||
		o.Usage.ModelCalls != len(server.Requests()) || o.Usage.UnknownCosts != 0 {
		t.Errorf("the run used %+v in %d calls; the provider says %+v in %d", o.Usage, o.Usage.ModelCalls, want,
			len(server.Requests()))
	}
	if o.Usage.KnownCost != rate.Cost(want) || o.Usage.CostUSD == nil || *o.Usage.CostUSD != rate.Cost(want).USD() {
		t.Errorf("the run cost %v, %v; want %v", o.Usage.KnownCost, o.Usage.CostUSD, rate.Cost(want))
	}
	var byAttempt chat.Usage
	failed := 0
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ModelReplied:
			byAttempt = byAttempt.Add(*d.Usage)
		case *event.ModelFailed:
			byAttempt = byAttempt.Add(*d.Usage)
			failed++
		}
	}
	if byAttempt != want || failed != 1 {
		t.Errorf("attempts used %+v, %d of them failed; the provider says %+v", byAttempt, failed, want)
	}
	var input, output int64
	var cost chat.Money
	shown, err := s.Show(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range shown.Steps {
		input, output, cost = input+st.Usage.InputTokens, output+st.Usage.OutputTokens, cost.Plus(st.Usage.KnownCost)
	}
	if input != want.InputTokens || output != want.OutputTokens || cost != o.Usage.KnownCost {
		t.Errorf("steps used %d and %d for %d; want %+v", input, output, cost, want)
	}
}
