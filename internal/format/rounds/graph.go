package rounds

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// graph is the main graph or a branch during reading.
type graph struct {
	r           *reader
	f           *source.Fields
	branch      string // "" for the main graph
	instruction string
	context     string // a value of keyContext

	instructionAt      *source.Node // nil if there is none
	instructionChecked bool         // already checked
	doc                *nodes.Document
	texts              []*nodes.Texts // with expressions

	order     []*node          // that of the document, after the node with which a run begins
	nodes     map[string]*node // by id
	edgeIDs   map[string]diag.Span
	ids       []string        // sorted on first use
	edges     []*edge         // edges that the run can follow, at most one for each node
	hasEdge   bool            // an edge leaves a node, wherever it leads
	entered   map[string]bool // nodes that edges of other nodes lead to, followed or not
	maxRounds int
	unclear   bool // some node was not understood

	unknownRounds bool // maxRounds is present but was not understood
}

// read reads nodes, edges and rounds. A main graph may be empty if there are branches
// (hasBranches).
func (g *graph) read(hasBranches bool) {
	g.edgeIDs, g.entered = map[string]diag.Span{}, map[string]bool{}
	g.nodes, g.doc = map[string]*node{}, nodes.ReadDocument(g.f, &g.r.diags)
	items, ok := g.f.RequireList("nodes")
	for _, item := range items {
		g.node(item)
	}
	g.unclear = g.unclear || !ok
	if ok && len(items) == 0 && !hasBranches {
		n := g.f.Get("nodes")
		g.r.diags.Warnf(n.Span, n.Path(), codeNoNodes, "%s has no nodes: a run of it completes at once, without output",
			g.title())
	}
	g.readRounds()
	for _, item := range g.f.List("edges") {
		g.edge(item)
	}
	g.chainNodes()
	if at := beginning(g.order, func(n *node) bool { return g.entered[n.id] }); at > 0 {
		n := g.order[at]
		g.order = slices.Insert(slices.Delete(g.order, at, at+1), 0, n)
	}
	g.rejectEndlessPath()
}

// beginning returns the index of the node with which a run begins: the first or, if edges lead to
// it and to all others but one, that one (S1-2). entered reports whether an edge of another node
// leads to a node.
func beginning[N any](order []N, entered func(N) bool) int {
	if len(order) == 0 || !entered(order[0]) {
		return 0
	}
	at := 0
	for i, n := range order {
		switch {
		case entered(n):
		case at > 0:
			return 0
		default:
			at = i
		}
	}
	return at
}

// noNodes handles a document with only branches.
func (g *graph) noNodes(f *source.Fields) {
	g.nodes, g.doc = map[string]*node{}, nodes.ReadDocument(f, &g.r.diags)
	f.Get("nodes")
	f.Get("edges")
	g.readRounds()
}

func (g *graph) title() string {
	if g.branch == "" {
		return "the workflow"
	}
	return fmt.Sprintf("branch %q", g.branch)
}

// readRounds reads maxRounds; null and values of 0 or less are treated as absent (S1-11).
func (g *graph) readRounds() {
	n, ok := g.f.Int(keyMaxRounds)
	g.unknownRounds = !ok && !g.f.Get(keyMaxRounds).IsNull()
	if ok && n > 0 {
		g.maxRounds = int(min(n, math.MaxInt32))
	}
}

// chainNodes chains the nodes of a graph without edges in array order (S1-16).
func (g *graph) chainNodes() {
	n := g.f.Get("nodes")
	if g.hasEdge || g.unclear || len(g.order) < 2 {
		return
	}
	span := diag.Span{File: n.Span.File, Start: n.Span.Start}
	d := g.r.diags.Warnf(span, n.Path(), codeNoEdges,
		"%s has %d nodes and no edges: they run once, in the order of the array", g.title(), len(g.order))
	d.Hint = "write edges to make the order explicit"
	for i, n := range g.order[1:] {
		from := g.order[i]
		e := &edge{at: n.at, edge: workflow.Edge{From: from.id, To: n.id}}
		if nodes.Type(&from.def) == nodes.Approval {
			e.edge.Port = workflow.PortApprove
		}
		from.out = append(from.out, e)
		g.edges = append(g.edges, e)
	}
}

// rejectEndlessPath rejects a path that leads back to itself and that no number of rounds ends
// (S1-12).
func (g *graph) rejectEndlessPath() {
	if g.maxRounds > 0 || g.unknownRounds || len(g.order) == 0 || g.unclear {
		return
	}
	var path []string
	const onPath, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		state[n] = onPath
		path = append(path, n.id)
		for _, e := range n.out {
			to := g.nodes[e.edge.To]
			if state[to] == onPath {
				g.endless(e, append(slices.Clone(path[slices.Index(path, to.id):]), to.id))
				return true
			}
			if state[to] == 0 && visit(to) {
				return true
			}
		}
		state[n] = done
		path = path[:len(path)-1]
		return false
	}
	visit(g.order[0])
}

// endless reports a cycle whose last edge is e.
func (g *graph) endless(e *edge, cycle []string) {
	d := g.r.diags.Errorf(e.at.Span, e.at.Path(), codeMissingMaxRounds,
		"the cycle %s never ends: maxRounds must be a positive number", arrows(cycle))
	d.Hint = `"maxRounds": 10 ends it after 10 full cycles`
	if v := g.f.Get(keyMaxRounds); !v.IsNull() {
		d.Related = []diag.Related{{Span: v.Span, Message: "0 and less count as not set"}}
	}
}

// arrows formats a path; of a long path only the start and the end.
func arrows(ids []string) string {
	const most = 12
	if len(ids) > most {
		ids = append(append(slices.Clone(ids[:most-2]), "…"), ids[len(ids)-1])
	}
	return strings.Join(ids, " -> ")
}

// workflow builds the graph from what was read.
func (g *graph) workflow(at *source.Node) *workflow.Workflow {
	w := emptyWorkflow(at)
	w.Limits = limits(g.maxRounds, len(g.order))
	if len(g.order) > 0 {
		w.Entry = g.order[0].id
	}
	listed := map[string]bool{}
	for _, n := range g.order {
		w.Nodes = append(w.Nodes, n.def)
		w.Source.Nodes[n.id] = n.at.Span
		if n.agent != nil && !listed[n.agent.ID] {
			listed[n.agent.ID] = true
			w.Agents = append(w.Agents, n.agent.Agent)
			if n.agent.span != (diag.Span{}) {
				w.Source.Agents[n.agent.ID] = n.agent.span
			}
		}
	}
	w.Agents = g.r.withReferencedAgents(w.Agents)
	for i := range w.Agents {
		if a := g.r.agents[w.Agents[i].ID]; a.span != (diag.Span{}) {
			w.Source.Agents[a.ID] = a.span
		}
	}
	for _, e := range g.edges {
		w.Edges = append(w.Edges, e.edge)
		w.Source.Edges = append(w.Source.Edges, e.at.Span)
	}
	g.doc.Into(w)
	g.r.shared.Into(w)
	if g.branch != "" && !nodes.HasTools(w) {
		w.Toolsets = nil
	}
	nodes.Settle(w, true, func(id string) *source.Node { return g.nodes[id].settings }, &g.r.diags)
	g.doc.Check(w, g.texts, g.unclear, &g.r.diags)
	return w
}

// limits returns the limits of a graph. Rounds are a limit that the document sets itself, so the
// step limit is raised above the default if they need more steps: a round runs a node at most once
// (S1-13).
func limits(maxRounds, nodes int) workflow.Limits {
	l := workflow.Limits{MaxRounds: maxRounds}
	if steps := int64(maxRounds) * int64(nodes); steps > workflow.DefaultMaxSteps {
		n := int(min(steps, math.MaxInt32))
		l.MaxSteps = &n
	}
	return l
}
