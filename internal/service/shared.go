package service

import (
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/service/resources"
)

// Shared is what several services of one process have in common, one for each namespace (ADR 22): the queue of each provider key, the bound of calls in flight,
// for which they take turns (SEC17), and the adapters with their connections. Safe for concurrent use; it needs no closing.
type Shared struct {
	// limiters pace the calls of all runs, by key.
	limiters ratelimit.Set
	slots    *embedded.Slots
	adapters map[model.Protocol]model.Factory
}

// Share makes what services that are opened with cfg, whatever their stores, have in common: put it into Config.Shared of each. Their Adapters, Operator, Keeper and
// MaxCalls are those of cfg, so cfg must have a Keeper of its own for them.
func Share(cfg Config) *Shared {
	return cfg.withDefaults().Shared
}

func newShared(cfg Config) *Shared {
	return &Shared{slots: embedded.NewSlots(cfg.MaxCalls), adapters: resources.SharedAdapters(cfg.Adapters, cfg.Operator, cfg.Keeper)}
}

// Calls gives how many calls are under way in all services that share s, how many wait for a place among them (Config.MaxCalls), and how many for the rate that their
// provider takes.
func (s *Shared) Calls() (active, forSlot, forRate int) {
	active, forSlot = s.slots.Load()
	return active, forSlot, s.limiters.Waiting()
}
