package service

import (
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/service/resources"
)

// Shared is what several services of one process share, one service for each namespace (ADR 22):
// the queue of each provider key, the limit on calls in flight, for which they take turns (SEC17),
// and the adapters with their connections. It is safe for concurrent use and need not be closed.
type Shared struct {
	// limiters limit the rate of calls of all runs, by key.
	limiters ratelimit.Set
	slots    *embedded.Slots
	adapters map[model.Protocol]model.Factory
}

// Share returns what services opened with cfg share, whatever their stores: set it as Config.Shared
// of each. Their Adapters, Operator, Keeper and MaxCalls are those of cfg, so cfg must have its own
// Keeper for them.
func Share(cfg Config) *Shared {
	return cfg.withDefaults().Shared
}

func newShared(cfg Config) *Shared {
	return &Shared{slots: embedded.NewSlots(cfg.MaxCalls), adapters: resources.SharedAdapters(cfg.Adapters,
		cfg.Operator, cfg.Keeper)}
}

// Calls returns the number of calls in flight in all services that share s, the number that wait
// for a slot among them (Config.MaxCalls), and the number that wait for the rate limit of their
// provider.
func (s *Shared) Calls() (active, forSlot, forRate int) {
	active, forSlot = s.slots.Load()
	return active, forSlot, s.limiters.Waiting()
}
