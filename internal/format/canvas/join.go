package canvas

import (
	"math/bits"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// A node with `"data": {"join": "all"}` waits for everything that can still arrive through its
// connections, also where a node before it runs once for each path. In the graph it is preceded by
// a hidden free join.

const (
	keyJoin    = "join"
	joinAll    = "all"
	joinSuffix = "/join"

	codeRunsPerPath = "runs-per-path"
	codeNoEffect    = "no-effect"

	// maxVisits limits the work to find nodes at which paths meet, in connections visited: about a
	// second. Documents of 1,000 nodes with two connections each need less.
	maxVisits = 4_000_000
)

// join reads the key `join` of a node.
func (r *reader) join(n *node, data *source.Fields) {
	if n.kind == typeStart {
		return
	}
	text, ok := data.OptStr(keyJoin)
	switch {
	case !ok:
		n.unclearJoin = data.Node().Get(keyJoin) != nil && !data.Node().Get(keyJoin).IsNull()
	case text != joinAll:
		at := data.Get(keyJoin)
		r.diags.Errorf(at.Span, at.Path(), codeBadValue, "join must be %q, got %q", joinAll,
			text).Hint = "remove it if the node has to run once for each path"
		n.unclearJoin = true
	default:
		n.joins = true
	}
}

// joins determines which nodes wait, once all connections are known: those that a run can reach on
// several paths. Other nodes with several connections run once for each path, which is reported if
// two paths can arrive in one run (S0-40).
func (r *reader) joins() {
	in := map[string]int{}
	out := map[string][]workflow.Edge{}
	for _, l := range r.links {
		in[l.edge.To]++
		out[l.edge.From] = append(out[l.edge.From], l.edge)
	}
	notes, visits := 0, 0
	meet := map[string]bool{}
	meets := func(n *node) (known, yes bool) {
		yes, known = meet[n.id]
		if !known && in[n.id] > 1 && visits < maxVisits {
			yes, known, visits = pathsMeet(n.id, out), true, visits+len(r.links)
			meet[n.id] = yes
		}
		return known || in[n.id] < 2, yes
	}
	var several map[string]bool
	for _, n := range r.order {
		if n.joins && in[n.id] < 2 && several == nil {
			several = r.repeated(out, meets)
		}
		switch {
		case n.joins && in[n.id] < 2 && !several[n.id]:
			at := n.at.Get("data").Entry(keyJoin)
			r.diags.Warnf(at.KeySpan, at.Value.Path(), codeNoEffect,
				"join has no effect: fewer than two paths lead to %q", n.id)
			n.joins = false
		case n.joins:
			n.joinID = n.id + joinSuffix
			for r.nodes[n.joinID] != nil {
				n.joinID += "_"
			}
		case in[n.id] > 1 && n.parent == "" && !n.unclearJoin && notes < maxHints:
			if _, yes := meets(n); !yes {
				continue
			}
			notes++
			r.diags.Add(diag.Diagnostic{
				Code: codeRunsPerPath, Severity: diag.Info, Span: n.at.Span, Path: n.at.Path(),
				Message: "\"" + n.id + "\" runs once for each path that arrives, each time with the output of " +
					"that path",
				Hint: `"data": {"join": "all"} makes it wait for all of them and run once`,
			})
		}
	}
}

// repeated returns the nodes that may be reached several times in one run: those after a node that
// runs once for each of several paths, up to the next join. A node for which this is
// unknown counts as one.
func (r *reader) repeated(out map[string][]workflow.Edge, meets func(*node) (known, yes bool)) map[string]bool {
	found := map[string]bool{}
	var todo []string
	for _, n := range r.order {
		if known, yes := meets(n); !n.joins && (yes || !known) {
			todo = append(todo, n.id)
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range out[id] {
			if to := r.nodes[e.To]; to != nil && !found[e.To] {
				if found[e.To] = true; !to.joins {
					todo = append(todo, e.To)
				}
			}
		}
	}
	return found
}

// pathsMeet reports whether two paths that leave one node together arrive at the node to through
// different connections. Paths that leave `to` itself are not followed: a loop back is not a second
// path.
func pathsMeet(to string, out map[string][]workflow.Edge) bool {
	before := map[string][]string{}
	// by node: bits of the connections to `to` reachable from it; bit 63 is shared by all further
	// ones
	arrive := map[string]uint64{}
	var todo []string
	next := 0
	for from, edges := range out {
		for _, e := range edges {
			if e.To != to {
				before[e.To] = append(before[e.To], from)
				continue
			}
			if from != to {
				arrive[from] |= 1 << min(next, 63)
				todo = append(todo, from)
				next++
			}
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before[id] {
			if all := arrive[from] | arrive[id]; from != to && all != arrive[from] {
				arrive[from] = all
				todo = append(todo, from)
			}
		}
	}
	for from, edges := range out {
		if from == to || bits.OnesCount64(arrive[from]) < 2 {
			continue
		}
		ports := map[string]uint64{} // what the edges of one port reach, if it has one edge so far
		for _, e := range edges {
			reached := arrive[e.To]
			if e.To == to {
				reached = 1 << 62 // through this connection itself
			}
			first, several := ports[e.PortName()]
			if several && first != 0 && reached != 0 &&
				(first|reached != first&reached || bits.OnesCount64(first) > 1) {
				return true
			}
			ports[e.PortName()] |= reached
		}
	}
	return false
}

// addJoins inserts the joins before their nodes, and redirects the edges to them.
func (r *reader) addJoins(w *workflow.Workflow) {
	at := map[string]string{}
	var list []workflow.Node
	for _, n := range w.Nodes {
		if d := r.nodes[n.ID]; d.joinID != "" {
			at[n.ID] = d.joinID
			list = append(list, workflow.Node{ID: d.joinID, Kind: workflow.KindJoin, Hidden: true,
				Join: &workflow.Join{}})
			w.Source.Nodes[d.joinID] = d.at.Span
		}
		list = append(list, n)
	}
	if len(at) == 0 {
		return
	}
	w.Nodes = list
	for i := range w.Edges {
		if join := at[w.Edges[i].To]; join != "" {
			w.Edges[i].To = join
		}
	}
	for _, n := range r.order {
		if n.joinID != "" {
			w.Edges = append(w.Edges, workflow.Edge{From: n.joinID, To: n.id})
			w.Source.Edges = append(w.Source.Edges, n.at.Span)
		}
	}
}

// joined finds the free joins that canvas nodes express as `join`: those that lead to one node, to
// which nothing else leads.
func (o *writer) joined() {
	in := map[string]int{}
	for _, e := range o.w.Edges {
		in[e.To]++
	}
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		if n.Join == nil || n.Join.Fork != "" || !n.Hidden || in[n.ID] < 2 && o.w.Format != Format ||
			len(o.out[n.ID]) != 1 ||
			n.ID == o.w.Entry {
			continue
		}
		e := o.out[n.ID][0]
		to := o.byID[e.To]
		if to == nil || in[e.To] != 1 || e.When != nil || e.Loop || e.PortName() != workflow.PortOut ||
			e.To == o.w.Entry {
			continue
		}
		if to.Agent != nil || to.Decide != nil || nodes.Type(to) != "" {
			o.joins[n.ID] = e.To
		}
	}
}

// waits reports whether a free join precedes the node.
func (o *writer) waits(id string) bool {
	for _, to := range o.joins {
		if to == id {
			return true
		}
	}
	return false
}
