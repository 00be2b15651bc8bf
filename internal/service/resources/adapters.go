package resources

import (
	"net/url"
	"sync"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/secret"
)

// maxAdapters is the maximum number of adapters kept: documents may name any number of addresses.
// Dropping one only costs new connections.
const maxAdapters = 64

// SharedAdapters shares adapters among all runs. Each adapter has its own connections, and keeps
// them open for a while after its last call: one adapter per run would use up the files that a
// process may open.
func SharedAdapters(adapters map[model.Protocol]model.Factory, operator *config.Config,
	keeper *secret.Keeper) map[model.Protocol]model.Factory {
	var mu sync.Mutex
	kept := map[model.Endpoint]model.Client{}
	out := map[model.Protocol]model.Factory{}
	for protocol, factory := range adapters {
		out[protocol] = func(e model.Endpoint) (model.Client, error) {
			e.Named = e.Named || outbound.Allows(operator.Outbound.Allow, e.BaseURL)
			mu.Lock()
			defer mu.Unlock()
			if c, ok := kept[e]; ok {
				return c, nil
			}
			if err := keeper.Add(e.Provider+" key", e.Key); err != nil {
				return nil, err
			}
			// it is sent as a header, which the server may echo
			if u, err := url.Parse(e.BaseURL); err == nil && u.User != nil {
				password, ok := u.User.Password()
				if !ok {
					password = u.User.Username()
				}
				if err := keeper.Add(e.Provider+" address", password); err != nil {
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
