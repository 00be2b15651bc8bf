package service

import (
	"net/url"
	"sync"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/ratelimit"
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
	return &Shared{slots: embedded.NewSlots(cfg.MaxCalls), adapters: sharedAdapters(cfg)}
}

// maxAdapters bounds how many adapters are kept: documents may name any number of addresses. Dropping one here costs new connections, no more.
const maxAdapters = 64

// sharedAdapters keeps adapters over all runs. Each has connections of its own, and stays with them for a while after its last call: one for each run would
// use up the files that a process may open.
func sharedAdapters(cfg Config) map[model.Protocol]model.Factory {
	var mu sync.Mutex
	kept := map[model.Endpoint]model.Client{}
	out := map[model.Protocol]model.Factory{}
	for protocol, factory := range cfg.Adapters {
		out[protocol] = func(e model.Endpoint) (model.Client, error) {
			e.Named = e.Named || outbound.Allows(cfg.Operator.Outbound.Allow, e.BaseURL)
			mu.Lock()
			defer mu.Unlock()
			if c, ok := kept[e]; ok {
				return c, nil
			}
			if err := cfg.Keeper.Add(e.Provider+" key", e.Key); err != nil {
				return nil, err
			}
			if u, err := url.Parse(e.BaseURL); err == nil && u.User != nil { // it goes along as a header, which the server may repeat
				password, ok := u.User.Password()
				if !ok {
					password = u.User.Username()
				}
				if err := cfg.Keeper.Add(e.Provider+" address", password); err != nil {
					return nil, err
				}
			}
			c, err := factory(e)
			if err != nil {
				return nil, err
			}
			for old := range kept {
				if len(kept) < maxAdapters {
					break
				}
				delete(kept, old)
			}
			kept[e] = c
			return c, nil
		}
	}
	return out
}

// Calls gives how many calls are under way in all services that share s, how many wait for a place among them (Config.MaxCalls), and how many for the rate that their
// provider takes.
func (s *Shared) Calls() (active, forSlot, forRate int) {
	active, forSlot = s.slots.Load()
	return active, forSlot, s.limiters.Waiting()
}
