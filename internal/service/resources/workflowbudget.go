package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/workflow"
)

const (
	// unknownOutput is the number of output tokens charged for a call of unknown usage, and
	// reserved for a reply without another limit.
	unknownOutput = 16_384
	// minOutput is the minimum number of output tokens that justifies a call.
	minOutput = 16
	// heartbeatInterval is the interval of heartbeats of a call that waits for room.
	heartbeatInterval = 30 * time.Second
)

// claim is one model call of this process: its reservation and, once it is done, its usage. It
// counts until the journal contains the call.
type claim struct {
	run, key string
	used     ledger.Amount
	done     bool
}

// account is the usage of all runs of one workflow in the current period. It is safe for concurrent
// use.
type account struct {
	opener   *Opener
	workflow string
	budget   config.WorkflowBudget

	mu          sync.Mutex
	since       time.Time
	journaled   ledger.Amount     // from journals
	readThrough map[string]uint64 // last event counted in journaled, by run
	childRuns   map[string]bool   // unfinished agent runs started by runs of the workflow
	claims      []*claim
	changed     chan struct{} // closed when a claim is done
}

// account returns the account of a workflow.
func (op *Opener) account(name string) *account {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.accounts == nil {
		op.accounts = map[string]*account{}
	}
	a := op.accounts[name]
	if a == nil {
		a = &account{opener: op, workflow: name, budget: op.cfg.Operator.Budgets.Workflow,
			readThrough: map[string]uint64{},
			childRuns:   map[string]bool{}, changed: make(chan struct{})}
		op.accounts[name] = a
	}
	return a
}

// start returns the start of the period that contains at; zero means that the period has no start.
func start(per string, at time.Time) time.Time {
	at = at.UTC()
	switch per {
	case config.PerDay:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	case config.PerMonth:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// refresh reads the journal entries added since the last refresh.
func (a *account) refresh(ctx context.Context) error {
	if since := start(a.budget.Per, time.Now()); !since.Equal(a.since) {
		a.since, a.journaled = since, ledger.Amount{}
		clear(a.readThrough)
		a.drop(func(c *claim) bool { return c.done })
	}
	q := journal.Query{Workflow: a.workflow, Limit: 1000}
	for {
		heads, next, err := a.opener.cfg.Journal.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range heads {
			h := &heads[i]
			if h.Workflow != a.workflow || ofGraph(h) { // "" means all
				continue
			}
			if err := a.countJournal(ctx, h); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	for _, run := range slices.Sorted(maps.Keys(a.childRuns)) {
		h, err := a.opener.cfg.Journal.Head(ctx, run)
		switch {
		case errors.Is(err, journal.ErrNotFound): // it is about to begin, or was deleted
			continue
		case err != nil:
			return err
		case !ofGraph(&h):
			delete(a.childRuns, run)
			continue
		}
		if err := a.countJournal(ctx, &h); err != nil {
			return err
		}
		if h.Status.Ended() {
			delete(a.childRuns, run)
		}
	}
	return nil
}

// ofGraph reports whether a run is an agent run of a Go graph: it counts for the workflow of the
// graph.
func ofGraph(h *journal.Head) bool { return h.Format == definition.FormatAgent && h.Parent != "" }

// countJournal counts the entries added to the journal of a run since it was last read.
func (a *account) countJournal(ctx context.Context, h *journal.Head) error {
	if h.LastSeq <= a.readThrough[h.Run] || h.Updated.Before(a.since) {
		return nil
	}
	defer journal.Hold(a.opener.cfg.Journal, h.Run)()
	var events []event.Event // all are read before any counts, so an error counts none
	err := journal.EachEvents(ctx, a.opener.cfg.Journal, h.Run, a.readThrough[h.Run],
		func(more []event.Event, _ bool) error {
			events = append(events, more...)
			return nil
		})
	if err != nil {
		return err
	}
	var forked time.Time
	for j := range events {
		if d, ok := events[j].Data.(*event.RunCreated); ok {
			forked = d.ForkedAt
		}
		// earlier events belong to the run that this one was forked from, and count there
		if !events[j].At.Before(forked) {
			a.countEvent(h.Run, &events[j])
		}
		a.readThrough[h.Run] = events[j].Seq
	}
	return nil
}

// countEvent counts an event.
func (a *account) countEvent(run string, e *event.Event) {
	var (
		key string
		u   ledger.Amount
	)
	switch d := e.Data.(type) {
	case *event.ModelReplied:
		key, u = d.Call, a.cost(d.Model, d.Usage, d.CostUSD)
	case *event.ModelFailed:
		switch {
		case d.Withheld():
			return
		case d.IsFree():
			key, u = d.Call, ledger.Amount{Calls: 1}
		default:
			key, u = d.Call, a.cost(d.Model, d.Usage, d.CostUSD)
		}
	case *event.ToolReturned:
		if d.Call != "" { // otherwise the engine produced it itself
			u.Calls = 1
		}
	case *event.ToolFailed:
		u.Calls = 1
	case *event.ChildStarted:
		a.childRuns[d.Run] = true
	case *event.CallUsed:
		if d.Run == "" { // from a session
			key, u = d.Key, ledger.NewAmount(d.Used.Borne.Tokens, d.Used.Borne.CostUSD, d.Used.Borne.Calls)
		}
	}
	if !e.At.Before(a.since) {
		a.journaled = a.journaled.Plus(u)
	}
	if key != "" {
		found := false
		a.drop(func(c *claim) bool {
			first := !found && c.done && c.run == run && c.key == run+"/"+key
			found = found || first
			return first
		})
	}
}

func (a *account) cost(ref string, u *chat.Usage, usd *float64) ledger.Amount {
	if u == nil {
		u = &chat.Usage{OutputTokens: unknownOutput}
	}
	out := ledger.Amount{Tokens: chat.AddTokens(u.InputTokens, u.OutputTokens), Calls: 1}
	if usd != nil {
		out.Cost = chat.ToMoney(*usd)
	} else if rate, ok := a.opener.cfg.Prices.Rate(fullRef(ref)); ok {
		out.Cost = rate.Cost(*u)
	}
	return out
}

func (a *account) drop(is func(*claim) bool) {
	kept := a.claims[:0]
	for _, c := range a.claims {
		if !is(c) {
			kept = append(kept, c)
		}
	}
	clear(a.claims[len(kept):])
	a.claims = kept
}

// tryClaim claims the usage of a call: up to want output tokens, as far as there is room. If the
// claim and the error are both nil, others hold the rest, and wait is closed when one of them is
// done.
func (a *account) tryClaim(ctx context.Context, run, key string, input, want int64, rate chat.Rate) (
	c *claim, output int64, wait <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(ctx); err != nil {
		return nil, 0, nil, err
	}
	spent, all := a.journaled, a.journaled
	for _, c := range a.claims {
		all = all.Plus(c.used)
		if c.done {
			spent = spent.Plus(c.used)
		}
	}
	least := min(minOutput, want)
	if a.room(spent, input, want, rate) < least {
		return nil, 0, nil, &model.Error{Kind: model.KindBudget, Message: a.spentText()}
	}
	if output = a.room(all, input, want, rate); output < least {
		return nil, 0, a.changed, nil
	}
	c = &claim{run: run, key: key, used: ledger.Amount{Tokens: chat.AddTokens(input, output),
		Cost: rate.Most(input, output), Calls: 1}}
	a.claims = append(a.claims, c)
	return c, output, nil, nil
}

// room returns the number of output tokens, up to want, available for a call with the given input;
// a negative number means that not even the input fits.
func (a *account) room(taken ledger.Amount, input, want int64, rate chat.Rate) int64 {
	b := ledger.Balance{Budget: workflow.Budget{MaxTokens: a.budget.Tokens, MaxCostUSD: a.budget.CostUSD,
		MaxCalls: a.budget.Calls}}
	room, _, _ := b.Room(input, taken, rate, true)
	return min(room, want)
}

func (a *account) spentText() string {
	span := "in all"
	if !a.since.IsZero() {
		span = "since " + a.since.Format(time.DateOnly) + " (UTC)"
	}
	return fmt.Sprintf("the budget for all runs of workflow %q leaves nothing for this call: they used %d tokens, %d "+
		"calls and %.4f USD %s; see budgets.workflow of %s",
		a.workflow, a.journaled.Tokens, a.journaled.Calls, a.journaled.Cost.USD(), span, config.Name)
}

// settle records the usage of a call. If u is nil, the usage is unknown, and the whole claim
// counts.
func (a *account) settle(c *claim, u *ledger.Amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u != nil {
		c.used = *u
	}
	c.done = true
	close(a.changed)
	a.changed = make(chan struct{})
}

// accountModels makes model calls within the operator's budget for their workflow (P20).
type accountModels struct {
	inner   model.Client
	opener  *Opener
	info    driver.Info
	trusted bool
}

// Call implements model.Client.
func (m *accountModels) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	head, err := m.opener.cfg.Journal.Head(ctx, m.info.Run)
	if err != nil {
		return model.Reply{}, err
	}
	for ofGraph(&head) {
		if head, err = m.opener.cfg.Journal.Head(ctx, head.Parent); err != nil {
			return model.Reply{}, err
		}
	}
	a := m.opener.account(head.Workflow)
	rate, priced := m.opener.rateOf(m.info.Workflow, m.trusted, req.Model)
	if !priced && a.budget.CostUSD > 0 {
		return model.Reply{},
			&model.Error{Kind: model.KindInvalidRequest,
				Message: fmt.Sprintf("budgets.workflow of %s bounds money, and the price of %q is not known; name it "+
					"in a file of prices", config.Name, req.Model)}
	}
	want := maxOutput(req.Params)
	c, output, err := a.claim(ctx, m.info.Run, req, want, rate, onDelta)
	if err != nil {
		return model.Reply{}, err
	}
	req.Params = driver.Within(req.Params, output)
	reply, err := m.inner.Call(ctx, req, onDelta)
	switch u := model.UsageOf(err); {
	case err == nil && reply.Usage != nil:
		a.settle(c, new(a.cost(req.Model, reply.Usage, m.opener.cfg.cost(reply.Model, *reply.Usage))))
	case u != nil:
		a.settle(c, new(a.cost(req.Model, u, nil)))
	case err != nil && event.CodeIs(driver.FailureOf(ctx, err).Code, event.Free):
		a.settle(c, &ledger.Amount{Calls: 1})
	default:
		a.settle(c, nil)
	}
	if err == nil && output < want && reply.StopReason == model.StopLength {
		usage := reply.Usage
		if usage == nil {
			usage = &chat.Usage{OutputTokens: output}
		}
		return model.Reply{},
			&model.Error{Kind: model.KindBudget,
				Message: fmt.Sprintf("the answer was cut after %d tokens, which is all that the budget of "+
					"workflow %q left", output, a.workflow), Usage: usage, Source: reply.Source}
	}
	return reply, err
}

// claim retries tryClaim until there is room, or until there will never be any.
func (a *account) claim(ctx context.Context, run string, req model.Request, want int64, rate chat.Rate,
	onDelta func(model.Delta)) (*claim, int64, error) {
	input := model.EstimateInput(req)
	for {
		c, output, wait, err := a.tryClaim(ctx, run, req.IdempotencyKey, input, want, rate)
		if err != nil || c != nil {
			return c, output, err
		}
		alive := time.NewTimer(heartbeatInterval)
		select {
		case <-ctx.Done():
			alive.Stop()
			return nil, 0, ctx.Err()
		case <-alive.C:
			if onDelta != nil {
				onDelta(model.Delta{})
			}
		case <-wait:
			alive.Stop()
		}
	}
}

// rateOf returns the price of the model that ref names in a workflow.
func (op *Opener) rateOf(w *workflow.Workflow, trusted bool, ref string) (chat.Rate, bool) {
	full := fullRef(ref)
	if _, known, err := op.registry(w, trusted).Key(ref); err == nil {
		full = known.String()
	}
	return op.cfg.Prices.Rate(full)
}

// withinBudget applies the operator's budget for the workflow, if any, to the models of a run.
func (op *Opener) withinBudget(models model.Client, info driver.Info) model.Client {
	if b := op.cfg.Operator.Budgets.Workflow; b.Tokens <= 0 && b.CostUSD <= 0 && b.Calls <= 0 {
		return models
	}
	return &accountModels{inner: models, opener: op, info: info, trusted: info.Meta[MetaTrusted] != ""}
}
