package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// AccountSession wraps a client for one model call of a session, so that the budgets of the run
// that by's call belongs to limit it: the model call reserves its maximum usage before it is made,
// and its usage counts in that run. If by belongs to no run, the client is returned unchanged. key
// identifies the model call within the function call that makes it.
//
// The client returns the errors of models, or a *engine.BudgetError if a budget leaves nothing for
// the call, which is then not made.
func (op *Opener) AccountSession(by driver.Ledger, models model.Client, key string) model.Client {
	if by.Info() == nil {
		return models
	}
	return &sessionModels{op, by, models, key}
}

type sessionModels struct {
	opener *Opener
	ledger driver.Ledger
	models model.Client
	key    string
}

// Call implements model.Client.
func (m *sessionModels) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	ledger := m.ledger
	q := engine.CallReserve{Key: m.key, Model: req.Model, Input: model.EstimateInput(req),
		Output: maxOutput(req.Params)}
	if rate, ok := m.opener.rateOf(&workflow.Workflow{}, false, req.Model); ok {
		q.Rate = &rate
	}
	grant, err := ledger.Reserve(ctx, q)
	switch {
	case errors.Is(err, engine.ErrPrice):
		return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest,
			Message: fmt.Sprintf("%v; name it in a file of prices", err), Err: err}
	case err != nil:
		return model.Reply{}, err
	}
	if grant.Reserved {
		req.Params = driver.Within(req.Params, grant.Output)
	}
	claimed := req
	claimed.IdempotencyKey = ledger.Info().Run + "/" + grant.Key
	reply, err := m.opener.withinBudget(keyRestorer{m.models, req.IdempotencyKey}, *ledger.Info()).Call(ctx, claimed,
		onDelta)
	if told := m.reportUsage(ctx, q, grant, reply, err); told != nil && err == nil {
		return model.Reply{}, told
	}
	failed, ok := errors.AsType[*model.Error](err)
	switch {
	case ok && failed.Kind == model.KindBudget:
		ledger.Short(event.CodeWorkflowBudget)
	case err == nil && grant.Short != "" && reply.StopReason == model.StopLength:
		ledger.Short(grant.Short)
		return model.Reply{}, fmt.Errorf("the answer was cut after %d tokens: %w", grant.Output,
			&engine.BudgetError{Detail: grant.Short})
	}
	return reply, err
}

// reportUsage reports the usage of the call.
func (m *sessionModels) reportUsage(ctx context.Context, q engine.CallReserve, grant driver.Grant, reply model.Reply,
	callErr error) error {
	u, estimated := reply.Usage, reply.UsageEstimated
	if callErr != nil {
		u, estimated = model.UsageOf(callErr), model.EstimatedOf(callErr)
	}
	ref := cmp.Or(reply.Model, q.Model)
	use := engine.CallUse{Key: grant.Key, Ended: true, Model: ref, UsageEstimated: estimated,
		Used: event.Used{ModelCalls: 1, Borne: event.Spent{Calls: 1}}}
	if callErr == nil {
		use.Warning = cmp.Or(event.ReplyWarning(&reply.Message, string(reply.StopReason)), reply.Warning)
	}
	used := &use.Used
	code := ""
	if callErr != nil {
		code = driver.FailureOf(ctx, callErr).Code
	}
	switch {
	case u != nil:
		used.InputTokens, used.OutputTokens = u.InputTokens, u.OutputTokens
		used.Borne.Tokens = chat.AddTokens(u.InputTokens, u.OutputTokens)
		if usd := m.opener.cfg.cost(ref, *u); usd != nil {
			used.CostUSD, used.Borne.CostUSD = *usd, *usd
		} else {
			used.UnknownCosts = 1
			if q.Rate != nil {
				used.Borne.CostUSD = q.Rate.Cost(*u).USD()
			}
		}
	case code == event.CodeWorkflowBudget: // it was withheld
		use.Used = event.Used{}
	case event.CodeIs(code, event.Free):
	case grant.Reserved && errors.Is(context.Cause(ctx), driver.ErrInterrupted):
		return nil // it is repeated when the run continues, with a new reservation
	case grant.Reserved:
		used.UnknownCosts, used.Borne.Tokens = 1, chat.AddTokens(q.Input, grant.Output)
		if q.Rate != nil {
			used.Borne.CostUSD = q.Rate.Most(q.Input, grant.Output).USD()
		}
	default:
		used.UnknownCosts, used.Borne.Tokens = 1, unknownOutput
	}
	if use.Used == (event.Used{}) && !grant.Reserved {
		return nil
	}
	err := m.ledger.Use(use)
	if errors.Is(err, engine.ErrCallLate) {
		return nil
	}
	return err
}

// keyRestorer restores the idempotency key of a client's calls, which outer clients replaced with
// the name of the call.
type keyRestorer struct {
	model.Client
	key string
}

// Call implements model.Client.
func (k keyRestorer) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	req.IdempotencyKey = k.key
	return k.Client.Call(ctx, req, onDelta)
}

// AccountTool counts a tool call of a session in the run that by's call belongs to; key identifies
// the tool call within that call. The caller must call settle when the tool has returned.
// AccountTool returns a *engine.BudgetError if a budget leaves no call, in which case the tool must
// not be called, or the error of ctx.
func (op *Opener) AccountTool(ctx context.Context, by driver.Ledger, key string) (settle func(), err error) {
	grant, err := by.Reserve(ctx, engine.CallReserve{Key: key, Tool: true})
	if err != nil {
		return nil, err
	}
	return func() {
		err := by.Use(engine.CallUse{Key: grant.Key, Ended: true,
			Used: event.Used{ToolCalls: 1, Borne: event.Spent{Calls: 1}}})
		if err != nil && !errors.Is(err, engine.ErrCallLate) {
			op.cfg.Logger.Debug("tool call of a session was not counted", "error", err)
		}
	}, nil
}

// maxOutput returns the maximum number of output tokens of a reply, including reasoning.
func maxOutput(p model.Params) int64 {
	want := int64(unknownOutput)
	if n := p.MaxTokens; n != nil && *n > 0 {
		want = *n
	}
	if n := p.ThinkingBudget; n != nil && *n > 0 {
		want = chat.AddTokens(want, *n)
	}
	return want
}

// AllowUncounted returns an error unless work whose usage is never reported, such as that of a
// coding agent that speaks ACP, may begin in the call that by belongs to; it may if that call
// belongs to no run. It returns an *engine.UncountedError, or the error of ctx.
func (op *Opener) AllowUncounted(ctx context.Context, by driver.Ledger) error {
	if b := op.cfg.Operator.Budgets; by.Info() != nil && b.Uncounted != workflow.UncountedAllow &&
		(b.Workflow.Tokens > 0 || b.Workflow.CostUSD > 0) {
		return &engine.UncountedError{Bound: engine.BoundByWorkflow}
	}
	_, err := by.Reserve(ctx, engine.CallReserve{})
	return err
}
