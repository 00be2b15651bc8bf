package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/ratelimit"
)

// admit returns the admission of model calls to providers: one queue for each key, over all runs
// (P14).
func (op *Opener) admit(reg *model.Registry, defaultModel string) func(*driver.Info,
	*engine.CallModel) driver.Admission {
	return func(info *driver.Info, c *engine.CallModel) driver.Admission {
		key, full, err := reg.Key(cmp.Or(info.Model, c.Model, defaultModel))
		if err != nil {
			return nil // the call itself reports the error
		}
		return ticketAdmission{op.cfg.Limiters.Limiter(key, op.ratesOf(full.Provider), op.lineOf(key)).Take()}
	}
}

// lineOf returns the queue of the store's processes that use a key.
func (op *Opener) lineOf(key string) ratelimit.Line {
	if op.cfg.Lines == nil {
		return nil
	}
	return keyLine{op.cfg.Lines, journal.Line{Kind: journal.LineKey, Name: key}}
}

// keyLine adapts a queue of the store for limiters.
type keyLine struct {
	store Lines
	line  journal.Line
}

// Enter implements ratelimit.Line.
func (k keyLine) Enter(ctx context.Context) (uint64, error) { return k.store.Enter(ctx, k.line) }

// Position implements ratelimit.Line.
func (k keyLine) Position(ctx context.Context, place uint64) (before, all int, err error) {
	st, err := k.store.Position(ctx, k.line, place)
	return st.Before, st.All, asErrLost(err)
}

// Leave implements ratelimit.Line.
func (k keyLine) Leave(ctx context.Context, place uint64) error {
	return asErrLost(k.store.Leave(ctx, k.line, place))
}

// Changed implements ratelimit.Line.
func (k keyLine) Changed(c chan<- struct{}) (stop func()) {
	return k.store.Subscribe(c, journal.OfLines())
}

// asErrLost returns ratelimit.ErrLost for a place that is gone, including when the store was
// closed.
func asErrLost(err error) error {
	if errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrClosed) {
		return fmt.Errorf("%w: %w", ratelimit.ErrLost, err)
	}
	return err
}

// ratesOf returns the limits of a provider: the program's, else the operator's.
func (op *Opener) ratesOf(provider string) ratelimit.Limits {
	if l, ok := op.cfg.RateLimits[provider]; ok || op.cfg.Operator == nil {
		return l
	}
	p := op.cfg.Operator.Providers[provider]
	return ratelimit.Limits{RequestsPerMinute: p.RequestsPerMinute, TokensPerMinute: p.TokensPerMinute,
		Concurrency: p.Concurrency}
}

// ticketAdmission adapts a ticket for drivers.
type ticketAdmission struct{ *ratelimit.Ticket }

// Done implements driver.Admission.
func (t ticketAdmission) Done(res engine.ModelResult) {
	o := ratelimit.Outcome{OK: res.Failure == nil}
	if res.Usage != nil {
		o.Tokens = res.Usage.InputTokens + res.Usage.OutputTokens
	}
	if f := res.Failure; f != nil {
		kind := model.ErrorKind(f.Code)
		o.TurnedAway = kind == model.KindRateLimit || kind == model.KindOverloaded
		o.RetryAfter = f.RetryAfter()
	}
	t.Ticket.Done(o)
}
