package engine

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// Consequences of budgets: package ledger determines what fits, and this file decides what happens
// to the run (P20).
const (
	// defaultOutput is reserved for the answer of an agent that sets no limit of its own; it is a
	// limit that current models accept.
	defaultOutput = 16_384
	// bytesPerToken, tokensPerMessage and tokensPerCall are used to estimate input.
	bytesPerToken, tokensPerMessage, tokensPerCall = 3, 4, 16
)

// BoundByWorkflow is the shared budget of all runs of a workflow, which drivers keep.
const BoundByWorkflow = "workflow"

// Around implements ledger.World.
func (s *state) Around(step int) (node string, budget *workflow.Budget, outward int) {
	for ; step > 0; step = s.graph.StepScope(step).Owner {
		if b := s.graph.StepNode(step).Budget; b != nil {
			return s.graph.NodeID(step), b, s.graph.StepScope(step).Owner
		}
	}
	return "", nil, 0
}

// Calls implements ledger.World.
func (s *state) Calls() iter.Seq[ledger.Call] {
	return func(yield func(ledger.Call) bool) {
		for key, c := range s.Loop.All() {
			if c.Kind != loop.Model && !yield(ledger.Call{Key: key, Step: c.Step, State: ledgerState(c)}) {
				return
			}
		}
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// budgetExceeded handles a budget that is used up: the node fails, the run ends, or a person is
// asked for a larger budget.
func (m *machine) budgetExceeded(id int, met *ledger.Balance, detail string, limit int64) {
	switch {
	case met.Bound == ledger.BoundByNode:
		m.emitStep(id, &event.LimitReached{Limit: event.CodeNodeBudget, Max: limit, Detail: detail})
		m.failStep(id, event.Failure{Code: event.CodeNodeBudget, Limit: detail, Max: limit,
			Message: fmt.Sprintf("the budget of %q of %d %s is used up", met.Node, limit, detail)})
	case m.state.Ending != nil: // the call waits for the reopening
	case met.Bound == ledger.BoundByParent:
		m.emitStep(id, &event.LimitReached{Limit: event.CodeParentBudget, Max: limit, Detail: detail})
	case m.askedForBudget():
		m.withheld = true
	case m.state.Limits.OnBudget == workflow.OnBudgetPause:
		d := &event.LimitReached{Limit: event.CodeBudget, Max: limit, Detail: detail}
		m.withheld = true
		m.emitStep(id, &event.WaitOpened{
			Wait: fmt.Sprintf("b%d", m.state.Waits.Len()+1), Kind: workflow.WaitQuestion, Limit: d,
			Remind: m.state.remindAt(m.now, 0),
			Prompt: fmt.Sprintf("%s. How much may it use in total? Answer with an amount such as %s, or with %s.",
				sentence(m.state.limitFailure(d, "").Message),
				ledger.Text(detail, chat.AddTokens(max(limit, 1), max(limit, 1))), workflow.BudgetStop),
		})
	default:
		m.emitStep(id, &event.LimitReached{Limit: event.CodeBudget, Max: limit, Detail: detail})
	}
}

// endByWorkflowBudget ends the run because of the budget of its workflow, which its driver keeps.
// The call that exceeded it waits for the reopening; false means that the run ends anyway and
// cannot be reopened.
func (m *machine) endByWorkflowBudget(step int, text string) bool {
	if m.state.Ending == nil {
		m.emitStep(step, &event.LimitReached{Limit: event.CodeWorkflowBudget, Detail: text})
		return true
	}
	return m.state.Ending.Limit
}

// childBudgetExceeded handles a step's budget that was used up by work that its call started: of
// the step's budgets, the one with the least left of detail.
func (m *machine) childBudgetExceeded(step int, detail string) {
	if m.state.Ending != nil {
		return // it waits for the reopening
	}
	if met, limit := ledger.LeastLeft(m.balances(step), detail); met != nil {
		m.budgetExceeded(step, met, detail, limit)
	}
}

// waitsForBudget reports whether a failed call that had too little budget is kept, to be repeated
// with a larger one.
func (m *machine) waitsForBudget(step int, f *event.Failure, detail string, late bool) bool {
	if f == nil || detail == "" || late || m.state.isFailing() {
		return false
	}
	return ledger.BoundsDetail(m.balances(step), detail)
}

// askedForBudget reports whether a person is being asked for a larger budget.
func (m *machine) askedForBudget() bool {
	return len(m.state.Waits.Open(func(w *waits.Wait) bool { return w.Limit != nil })) > 0
}

// largerBudget parses the answer to the question for a larger budget. It returns limits, or nil if
// the run is to end. A plain number has the unit of the budget.
func (m *machine) largerBudget(met *event.LimitReached, text string) (*workflow.Limits, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, workflow.BudgetStop) {
		return nil, nil //nolint:nilnil // the run is to end
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += map[string]string{ledger.DetailCalls: "calls", ledger.DetailMoney: "USD"}[met.Detail]
	}
	l, err := workflow.ParseBudget(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w, or %s", waits.ErrAnswer, err, workflow.BudgetStop)
	}
	if ledger.Limit(l.Budget(), met.Detail) <= met.Max {
		return nil, fmt.Errorf("%w: the run used up its budget of %d %s; answer with a larger one", waits.ErrAnswer,
			met.Max,
			met.Detail)
	}
	l = MergeLimits(*m.state.Limits, l)
	return &l, nil
}

// cutShort handles an answer that was cut off by the budget: it is paid for, but it is not an
// answer (P30).
func (m *machine) cutShort(key string, c *loop.Call, d ModelResult) {
	step, bound := c.Step, c.Reserved.Bound
	f := event.Failure{Code: event.CodeBudget,
		Message: fmt.Sprintf("the answer was cut off after %d tokens, the rest of the budget", c.Reserved.Output),
		Node:    m.graph.NodeID(step)}
	model := c.Model
	m.emitStep(step, &event.ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage,
		CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Source: d.Source,
		Details: event.CleanDetails(d.Details)})
	balances := m.balances(step)
	for i := range balances {
		met := &balances[i]
		if met.Bound != bound {
			continue
		}
		rate, priced := m.state.Ledger.Rate(model)
		_, detail, limit := met.RoomNow(0, rate, priced)
		m.budgetExceeded(step, met, detail, limit)
	}
}

// ledgerState returns the state of a tool or function call in the ledger's terms. A call that waits
// for its retry timer has none of the named states.
func ledgerState(c *loop.Call) ledger.CallState {
	switch {
	case c.State == loop.Open:
		return ledger.CallOut
	case c.State == loop.Asking && c.Kind == loop.Tool:
		return ledger.CallHeld
	case (c.State == loop.Due || c.State == loop.Queued) && c.Kind == loop.Tool && c.Approved != "":
		return ledger.CallApproved
	case c.State == loop.Due || c.State == loop.Queued || c.State == loop.Failed:
		return ledger.CallIdle
	}
	return ledger.CallOther
}

// spend counts what a model call used. free means that it was rejected before it cost anything.
func (s *state) spend(ev *event.Event, key string, u *chat.Usage, costUSD *float64, free bool) {
	s.Ledger.Charge(s, ev.Step, s.Ledger.UseOfModel(key, s.Loop.Call(key).Model, u, costUSD, free))
}

// countCalls counts the calls that an event adds, for the run and for the nodes around its step.
func (s *state) countCalls(ev *event.Event) {
	if models, tools := event.CallsOf(ev.Data); models+tools != 0 {
		s.Ledger.Charge(s, ev.Step, ledger.Amount{Calls: int64(models + tools)})
	}
}
