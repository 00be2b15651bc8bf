package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// Builder builds a graph through a chain of calls. Each call continues after the node added last.
// Misuse does not panic: errors are collected, with the file and line of the call, and
// [Builder.Compile] returns all of them together. A builder is not safe for concurrent use, and may
// be used further after Compile.
type Builder[S any] struct {
	name     string
	nodes    []*def[S]
	index    map[string]*def[S]
	edges    []edge[S]
	start    string
	current  string // "" before the first node and at the start of a branch
	ends     []string
	open     []*conditional[S]
	counter  int
	handler  string
	byName   map[string]namedBranch // branches added by Branch, by name
	inside   bool                   // within a call of Branch
	problems diag.List
	began    diag.Span
}

// Edge is an edge from one node to another.
type Edge struct {
	From, To string
	// Label is shown in diagrams: `if-true`, `if-false`, `loop-continue`, `loop-exit`,
	// `parallel-<branch>`, or the label of a route.
	Label string
	// Conditional edges are taken only if the source node selects them.
	Conditional bool
}

// edge is an Edge with the port at which it leaves its node.
type edge[S any] struct {
	Edge
	port string // "" is the continuation
	at   diag.Span
}

// Labels and ports of generated edges.
const (
	labelTrue     = "if-true"
	labelFalse    = "if-false"
	labelContinue = "loop-continue"
	labelExit     = "loop-exit"
	labelParallel = "parallel-"
)

// New starts a graph whose state is S. The name identifies the graph to programs and people.
func New[S any](name string) *Builder[S] {
	return &Builder[S]{name: name, index: map[string]*def[S]{}, began: caller()}
}

func (b *Builder[S]) problem(at diag.Span, code, format string, args ...any) *diag.Diagnostic {
	return b.problems.Errorf(at, "", code, "%s", fmt.Sprintf(format, args...))
}

// generated returns the id of a node that the builder adds; all prefixes share one counter.
func (b *Builder[S]) generated(prefix string) string {
	b.counter++
	return fmt.Sprintf("%s_%d", prefix, b.counter)
}

// add adds a node. It returns false if the node is invalid, which has been reported.
func (b *Builder[S]) add(at diag.Span, n Node[S]) (*def[S], bool) {
	if n == nil {
		b.problem(at, "no-node", "Node is nil")
		return nil, false
	}
	d := n.define()
	d.at = at
	if d.problem != "" {
		b.problem(at, "bad-node", "%s", d.problem)
	}
	switch {
	case d.id == "":
		b.problem(at, "empty-id", "Node of type %q has no ID", d.typ)
		return nil, false
	case b.index[d.id] != nil:
		b.problem(at, "duplicate-node", "Node with ID %q already exists", d.id)
		return nil, false
	}
	b.nodes = append(b.nodes, d)
	b.index[d.id] = d
	return d, true
}

func (b *Builder[S]) connect(at diag.Span, from, port, to, label string) {
	b.edges = append(b.edges, edge[S]{Edge: Edge{From: from, To: to, Label: label, Conditional: port != "" &&
		b.index[from].shape != shapeParallel}, port: port, at: at})
}

// attach continues at a node: after the current one, at the start of a branch, or as the start
// node.
func (b *Builder[S]) attach(at diag.Span, id string) {
	switch cur := b.index[b.current]; {
	case cur != nil && cur.shape == shapeRoutes: // its routes define what follows
	case cur != nil && cur.shape == shapeLoopCheck:
		b.connect(at, cur.id, labelExit, id, labelExit)
	case cur != nil:
		b.connect(at, cur.id, "", id, "")
	case len(b.open) > 0:
		b.open[len(b.open)-1].begin(id)
	case b.start == "":
		b.start = id
	}
	b.current = id
}

// then adds a node and continues at it.
func (b *Builder[S]) then(at diag.Span, n Node[S]) {
	if c, ok := n.(composite[S]); ok {
		c.addTo(b, at)
		return
	}
	d, ok := b.add(at, n)
	if !ok {
		return
	}
	b.attach(at, d.id)
	b.branches(at, d)
}

// branches adds the edges that belong to a parallel block or a decision.
func (b *Builder[S]) branches(at diag.Span, d *def[S]) {
	if d.parallel != nil {
		for _, br := range d.parallel.Branches {
			b.connect(at, d.id, br, b.head(br), labelParallel+br)
		}
	}
	if d.shape != shapeRoutes {
		return
	}
	for i, r := range d.routes {
		b.connect(at, d.id, routePort(i), r.Target, r.Label)
	}
	b.connect(at, d.id, fallbackPort, d.fallback, "")
}

const fallbackPort = "fallback"

func routePort(i int) string { return fmt.Sprintf("route-%d", i+1) }

// Start sets the first node.
func (b *Builder[S]) Start(n Node[S]) *Builder[S] {
	at := caller()
	if b.start != "" {
		b.problem(at, "second-start", "Start node already set. Use Then to add more nodes.")
		return b
	}
	b.then(at, n)
	return b
}

// Then adds a node after the current one. If there is no start node, it becomes the start.
func (b *Builder[S]) Then(n Node[S]) *Builder[S] {
	b.then(caller(), n)
	return b
}

// Do is like Then for the node that the function [Do] returns.
func (b *Builder[S]) Do(id string, fn func(ctx context.Context, s *S) error, opts ...NodeOptions) *Builder[S] {
	b.then(caller(), Do(id, fn, opts...))
	return b
}

// Tool is like Then for a [ToolConfig] or a [CustomToolConfig]; it accepts a Node, since a method
// cannot have type parameters for arguments and result.
func (b *Builder[S]) Tool(n Node[S]) *Builder[S] {
	b.then(caller(), n)
	return b
}

// Subagent is like Then for a [SubagentConfig]; if it is the first call, it sets the start.
func (b *Builder[S]) Subagent(c SubagentConfig[S]) *Builder[S] {
	b.then(caller(), c)
	return b
}

// Wait asks a person and pauses the run; use Then with a [WaitConfig] for more than a fixed prompt.
func (b *Builder[S]) Wait(prompt string) *Builder[S] {
	b.then(caller(), WaitConfig[S]{ID: b.generated("wait"), Prompt: prompt})
	return b
}

// Node adds nodes outside the flow, each following the one before: branches of parallel blocks,
// targets of decisions and gotos, recovery nodes. The current node does not change.
func (b *Builder[S]) Node(first Node[S], rest ...Node[S]) *Builder[S] {
	at := caller()
	current, open, start := b.current, b.open, b.start
	b.current, b.open, b.start = "", nil, "beside"
	for _, n := range append([]Node[S]{first}, rest...) {
		b.then(at, n)
	}
	b.current, b.open, b.start = current, open, start
	return b
}

// Parallel runs branches concurrently: those passed as arguments, or those added with Node or
// Branch, before or after. What follows runs once, after the block.
func (b *Builder[S]) Parallel(c ParallelConfig[S], branches ...Node[S]) *Builder[S] {
	c.Bodies = append(slices.Clip(c.Bodies), branches...)
	b.then(caller(), c)
	return b
}

// Catch sets the node that runs once when nothing else has handled a failure. The run then fails
// with the original error, unless the handler continues with a goto. The handler's context
// describes the failure in Feedback.
func (b *Builder[S]) Catch(handler Node[S]) *Builder[S] {
	at := caller()
	if c, several := handler.(composite[S]); several {
		b.problem(at, "bad-handler", "Error handler: %s; it must be a node that calls a function", c.define().problem)
		return b
	}
	d, ok := b.add(at, handler)
	switch {
	case !ok:
	case b.handler != "":
		b.problem(at, "second-handler", "Error handler already set: %q", b.handler)
	case d.shape != shapeFunc:
		b.problem(at, "bad-handler", "Error handler %q must be a node that calls a function", d.id)
	default:
		b.handler = d.id
	}
	return b
}

// End marks the current node as an end of the graph. It does not close anything: the graph may
// continue after it.
func (b *Builder[S]) End() *Builder[S] {
	if b.current != "" && !slices.Contains(b.ends, b.current) {
		b.ends = append(b.ends, b.current)
	}
	return b
}

// NodeInfo describes a node.
type NodeInfo struct {
	ID   string
	Type NodeType
	// Name is "" if the id serves as the name.
	Name, Description string
	Recovery          bool
}

func (d *def[S]) info() NodeInfo {
	return NodeInfo{ID: d.id, Type: d.typ, Name: d.opts.Name, Description: d.opts.Description,
		Recovery: d.opts.Recovery}
}

// Nodes returns the nodes added so far, in order. The caller owns the slice.
func (b *Builder[S]) Nodes() []NodeInfo { return infos(b.nodes) }

// Edges returns the edges added so far, in order. The caller owns the slice.
func (b *Builder[S]) Edges() []Edge { return plain(b.edges) }

func infos[S any](nodes []*def[S]) []NodeInfo {
	out := make([]NodeInfo, len(nodes))
	for i, d := range nodes {
		out[i] = d.info()
	}
	return out
}

func plain[S any](edges []edge[S]) []Edge {
	out := make([]Edge, len(edges))
	for i, e := range edges {
		out[i] = e.Edge
	}
	return out
}
