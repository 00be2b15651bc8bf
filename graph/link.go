package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// resolver returns a graph by its name.
type resolver func(name string) (Subgraph, bool)

// identity distinguishes graphs from different calls of Compile.
type identity struct{ _ byte }

// ancestor is a graph on the path to a graph inside it.
type ancestor struct {
	name   string
	origin *identity
}

// Link returns the graph with the names of its subgraph nodes, and those of inner graphs, bound, so
// that its digest covers everything that runs. A name is looked up in the Runtime.WorkflowResolver
// of the graph that uses it, then in those of the enclosing graphs, then with find, which may be
// nil. Unknown names are left unbound. The graph itself does not change, and is returned if nothing
// new was bound. Package hocket links the graphs that it runs.
//
// The error is a diag.List, positioned at the calls that added the nodes: for a graph that contains
// itself, for graphs nested more than [workflow.MaxFlowDepth] deep, or for a lookup that panics.
func (g *Compiled[S]) Link(find func(name string) (Subgraph, bool)) (*Compiled[S], error) {
	return g.bind(find, nil)
}

func (g *Compiled[S]) link(find resolver, above []ancestor) (Subgraph, error) {
	out, err := g.bind(find, above)
	if err != nil {
		return nil, err // avoids a nil pointer in an interface
	}
	return out, nil
}

func (g *Compiled[S]) flow() *workflow.Workflow { return g.workflow }

func (g *Compiled[S]) origin() *identity {
	if g == nil {
		return nil
	}
	return g.compiler.origin
}

func (g *Compiled[S]) bind(find resolver, above []ancestor) (*Compiled[S], error) {
	if !slices.ContainsFunc(g.nodes, func(d *def[S]) bool { return d.sub != nil }) {
		return g, nil
	}
	above = append(slices.Clip(above), ancestor{g.name, g.compiler.origin})
	c := *g.compiler
	find = c.config.Runtime.resolverBefore(find)
	c.linked, c.links = c.linked || find != nil, map[string]Subgraph{}
	same := true
	for _, d := range c.nodes {
		if d.sub == nil {
			continue
		}
		inner, err := d.sub.find(find, g.compiler.links[d.id])
		if err == nil && inner != nil {
			err = nests(inner, above)
		}
		if err != nil {
			var l diag.List
			l.Errorf(d.at, "", "bad-subgraph", "Subgraph node %q: %v", d.id, err)
			return nil, placed(l).Err()
		}
		if inner == nil {
			same = same && c.linked == g.compiler.linked // otherwise the node fails with another message
			continue
		}
		if inner, err = inner.link(find, above); err != nil {
			return nil, err
		}
		c.links[d.id] = inner
		same = same && inner == g.compiler.links[d.id]
	}
	if same {
		return g, nil
	}
	return c.compiled()
}

// resolverBefore returns a resolver that tries r's first; nil if there is none.
func (r Runtime) resolverBefore(find resolver) resolver {
	if r.WorkflowResolver == nil {
		return find
	}
	return func(name string) (Subgraph, bool) {
		if g, ok := r.WorkflowResolver(name); ok || find == nil {
			return g, ok
		}
		return find(name)
	}
}

// find returns the graph of a node: its own, or else the graph that currently has the name, or else
// the graph that had it before. It returns nil if the graph is unknown.
func (s *subgraph[S]) find(find resolver, before Subgraph) (g Subgraph, err error) {
	if s.graph != nil {
		return s.graph, nil
	}
	if find == nil {
		return before, nil
	}
	defer func() {
		if v := recover(); v != nil {
			g, err = nil, fmt.Errorf("looking up workflow %q panicked: %v", s.name, v)
		}
	}()
	if found, ok := find(s.name); ok && found != nil && found.origin() != nil {
		return found, nil
	}
	return before, nil
}

// nests returns an error if a graph cannot be nested inside those above.
func nests(g Subgraph, above []ancestor) error {
	var names []string
	for _, a := range above {
		names = append(names, a.name)
	}
	switch {
	case slices.ContainsFunc(above, func(a ancestor) bool { return a.origin == g.origin() }):
		return fmt.Errorf("graph %q contains itself: %s", g.Name(), strings.Join(append(names, g.Name()), " -> "))
	case len(above) > workflow.MaxFlowDepth:
		return fmt.Errorf("graph %q: subgraphs are nested more than %d deep", g.Name(), workflow.MaxFlowDepth)
	}
	return nil
}
