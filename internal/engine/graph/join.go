package graph

import "github.com/hocket-run/hocket/internal/engine/plan"

// JoinReady reports whether nothing more can arrive at a free join. Tokens at other free joins
// count unless alone is set.
func (g *Graph[L]) JoinReady(join, scopeID int, alone bool) bool {
	f := g.flows[g.Scope(scopeID).Flow]
	for _, list := range [2][]Token{g.Ready, g.Queued} {
		for _, t := range list {
			if t.Scope != scopeID || t.Node == join {
				continue
			}
			if plan.IsFreeJoin(&f.Nodes[t.Node]) {
				if !alone && f.Reach[t.Node].Has(join) {
					return false
				}
				continue
			}
			if f.Reach[t.Node].Has(join) {
				return false
			}
		}
	}
	for _, id := range g.Running {
		if st := g.Step(id); st.Scope == scopeID && f.Reach[st.Node].Has(join) {
			return false
		}
	}
	return true
}
