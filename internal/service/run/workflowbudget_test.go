package run_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const houseDocument = `
agents:
  one: {model: house/m, instruction: I am one, max_tokens: 400}
workflow:
  - {type: agent, name: one}
`

// limitedModel replies with 300 tokens, or fewer if its limit is lower, and counts the tokens sold.
type limitedModel struct {
	mu    sync.Mutex
	sold  int64
	calls int
}

func (o *limitedModel) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	u, stop := chat.Usage{InputTokens: 10, OutputTokens: 300}, model.StopEnd
	if most := *req.Params.MaxTokens; most < u.OutputTokens {
		u.OutputTokens, stop = most, model.StopLength
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sold, o.calls = o.sold+u.InputTokens+u.OutputTokens, o.calls+1
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}, Usage: &u,
		Model: req.Model, StopReason: stop}, nil
}

func (o *limitedModel) soldSoFar() (tokens int64, calls int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sold, o.calls
}

func openHouse(t *testing.T, db string, provider model.Client, b config.WorkflowBudget) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        db, Models: map[string]model.Client{"house": provider}, Env: func(string) string { return "" },
		Operator: &config.Config{Budgets: config.Budgets{Workflow: b}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startHouse starts one run and returns its id.
func startHouse(t *testing.T, s *service.Service, name string) string {
	t.Helper()
	w, problems, err := service.Load(t.Context(), name, []byte(houseDocument),
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	w.Name = name
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go"})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// outcome waits for a run and returns "completed" or the code of its failure.
func outcome(t *testing.T, s *service.Service, run string) string {
	t.Helper()
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	o, err := s.Show(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if o.Error != nil {
		return o.Error.Code
	}
	return string(o.Status)
}

// P20: runs of one workflow together never exceed its budget, however many run concurrently;
// another process sees the usage of the first; and a run that reached the budget continues when
// there is room again (D20).
func TestWorkflowBudget(t *testing.T) {
	t.Parallel()
	const budget = 2000
	db, provider := filepath.Join(t.TempDir(), "h.db"), &limitedModel{}
	first := openHouse(t, db, provider, config.WorkflowBudget{Tokens: budget, Per: config.PerMonth})
	var runs []string
	for range 20 {
		runs = append(runs, startHouse(t, first, "w"))
	}
	got, stopped := map[string]int{}, ""
	for _, run := range runs {
		code := outcome(t, first, run)
		if got[code]++; code == event.CodeWorkflowBudget {
			stopped = run
		}
	}
	sold, _ := provider.soldSoFar()
	if sold > budget || sold < budget-100 || got["completed"] < 5 ||
		got["completed"]+got[event.CodeWorkflowBudget] != len(runs) {
		t.Fatalf("runs ended as %v; the provider sold %d tokens of a budget of %d", got, sold, budget)
	}
	if code := outcome(t, first, startHouse(t, first, "another")); code != "completed" {
		t.Errorf("a run of another workflow ended as %s", code)
	}

	second := openHouse(t, db, provider, config.WorkflowBudget{Tokens: budget, Per: config.PerMonth})
	_, calls := provider.soldSoFar()
	if code := outcome(t, second, startHouse(t, second, "w")); code != event.CodeWorkflowBudget {
		t.Errorf("the run of a second process ended as %s", code)
	}
	if _, n := provider.soldSoFar(); n != calls {
		t.Errorf("the second process called the model %d times", n-calls)
	}

	third := openHouse(t, db, provider, config.WorkflowBudget{Tokens: 2 * budget})
	if err := third.Reopen(t.Context(), stopped, workflow.Limits{}, event.LocalBy(event.ChannelCLI)); err != nil {
		t.Fatal(err)
	}
	if code := outcome(t, third, stopped); code != "completed" {
		t.Errorf("the run that was reopened with a larger budget ended as %s", code)
	}
}

// P20: a budget of calls counts calls, and a budget in money cannot be enforced without the price
// of the model: the call is not made.
func TestWorkflowBudget_CallsAndCost(t *testing.T) {
	t.Parallel()
	provider := &limitedModel{}
	s := openHouse(t, service.Memory, provider, config.WorkflowBudget{Calls: 2})
	var got []string
	for range 3 {
		got = append(got, outcome(t, s, startHouse(t, s, "w")))
	}
	if _, n := provider.soldSoFar(); n != 2 || got[2] != event.CodeWorkflowBudget {
		t.Errorf("%d calls were made of two; the runs ended as %v", n, got)
	}
	money := openHouse(t, service.Memory, provider, config.WorkflowBudget{CostUSD: 1})
	if code := outcome(t, money, startHouse(t, money, "w")); code != string(model.KindInvalidRequest) {
		t.Errorf("a model without price ended the run as %s", code)
	}
	if _, n := provider.soldSoFar(); n != 2 {
		t.Errorf("a model without price was called")
	}
}
