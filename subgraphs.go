package hocket

import (
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
)

// subgraphs are the registered graphs as others name them (S2-66). The zero value is ready. Safe for concurrent use.
type subgraphs struct {
	// registering is held while a graph is added, mu for a moment.
	registering sync.Mutex
	binds       []binding // one a name and version

	mu    sync.Mutex
	named map[string]graph.Subgraph
}

// binding binds a registered graph.
type binding struct {
	name graphName
	bind func() error
}

// find gives the graph that was registered last under a name.
func (s *subgraphs) find(name string) (graph.Subgraph, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.named[name]
	return g, ok
}

func (s *subgraphs) set(name string, g graph.Subgraph) (was graph.Subgraph) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.named[name]
	switch {
	case g == nil:
		delete(s.named, name)
	case s.named == nil:
		s.named = map[string]graph.Subgraph{name: g}
	default:
		s.named[name] = g
	}
	return was
}

// register adds a graph and binds all that are registered anew: those that name it are run with it from now on, and their runs can be taken up. On an
// error all is as before.
func (s *subgraphs) register(name graphName, g graph.Subgraph, bind func() error) error {
	s.registering.Lock()
	defer s.registering.Unlock()
	was := s.set(name.name, g)
	binds := slices.DeleteFunc(slices.Clone(s.binds), func(b binding) bool { return b.name == name })
	binds = append(binds, binding{name, bind})
	for _, b := range binds {
		if err := b.bind(); err != nil {
			s.set(name.name, was)
			return err
		}
	}
	s.binds = binds
	return nil
}
