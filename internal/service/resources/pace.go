package resources

import (
	"cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/ratelimit"
)

// admit gives the turns of model calls that go to providers: one queue for each key, over all runs (P14).
func (op *Opener) admit(reg *model.Registry, defaultModel string) func(*driver.Info, *engine.CallModel) driver.Admission {
	return func(info *driver.Info, c *engine.CallModel) driver.Admission {
		key, full, err := reg.Key(cmp.Or(info.Model, c.Model, defaultModel))
		if err != nil {
			return nil // the call itself says what is wrong
		}
		return turn{op.cfg.Limiters.Limiter(key, op.ratesOf(full.Provider)).Take()}
	}
}

// ratesOf gives what a provider takes: as the program says, else as the operator does.
func (op *Opener) ratesOf(provider string) ratelimit.Limits {
	if l, ok := op.cfg.RateLimits[provider]; ok || op.cfg.Operator == nil {
		return l
	}
	p := op.cfg.Operator.Providers[provider]
	return ratelimit.Limits{RequestsPerMinute: p.RequestsPerMinute, TokensPerMinute: p.TokensPerMinute, Concurrency: p.Concurrency}
}

// turn is a ticket as drivers use it.
type turn struct{ *ratelimit.Ticket }

// Done implements driver.Admission.
func (t turn) Done(res engine.ModelResult) {
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
