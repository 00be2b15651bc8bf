package graph

import (
	"reflect"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// Defaults of the document (S2-60, S2-69), the thresholds in percent.
const (
	defaultConcurrency = 1
	defaultThreshold   = 45
	clearThreshold     = 60 // of a node that clears the context
)

// Config is what a graph is compiled with. The zero value is good.
type Config struct {
	// Version tells versions of the graph apart whose nodes and edges are equal and whose functions are not: it enters the digest (D29).
	Version     string
	Description string
	// MaxConcurrency bounds the nodes that run at once; 0 is 1: it runs the queue one at a time, and the branches of a parallel block together (S2-62). Less
	// than 1 is an error. Nodes of the queue that run together and change one field need a reducer for it, as branches do; it merges in the order in which
	// they end.
	MaxConcurrency int
	// MaxSteps bounds the executions of nodes, generated ones included; 0 is 1,000, [Zero] lets none run (S2-32).
	MaxSteps int
	// Timeout bounds the time in which the run runs, pauses excluded; 0: none.
	Timeout time.Duration
	// Limits are the budget of a run of the graph; inside another graph they bound the node that runs it. hocket.RunOptions.Limits come first.
	Limits Limits
	// Reducers merge fields that concurrent branches change, by the field's name in JSON.
	Reducers map[string]Reducer
	// Metadata is for the program's own nodes; it is not read elsewhere and is no part of the digest.
	Metadata map[string]any
	// OutputSchema is checked against the state after each node that changed it; nil: no check (S2-61).
	OutputSchema *Schema
	// DefaultModel is for nodes that have none of their own (S2-79); "" and "inherit" leave it to the provider.
	DefaultModel string
	// ContextWindowThreshold is from how many percent on a context window counts as full, between 0 and 100; 0 is 45 (S2-70).
	ContextWindowThreshold float64
	// Runtime is what nodes need of the program; what is nil comes from the engine that runs the graph (S2-71).
	Runtime Runtime
}

// threshold gives the threshold that holds.
func (c Config) threshold() float64 {
	return thresholdOr(c.ContextWindowThreshold, defaultThreshold)
}

// Compiled is a graph that can run. It never changes and is safe for concurrent use.
type Compiled[S any] struct {
	name     string
	nodes    []*def[S]
	edges    []edge[S]
	start    string
	ends     []string
	workflow *workflow.Workflow
	digest   string
	table    *program.Table
	compiler *compiler[S] // never changes any more
}

// Compile checks the graph and freezes it; one [Config] at most may be given. The error is a [diag.List] with every misuse, each with the file and line
// of the call that caused it.
func (b *Builder[S]) Compile(config ...Config) (*Compiled[S], error) {
	return b.compile(caller(), config...)
}

func (b *Builder[S]) compile(at diag.Span, config ...Config) (*Compiled[S], error) {
	var cfg Config
	if len(config) > 0 {
		cfg = config[0]
	}
	c := &compiler[S]{
		codec: newCodec[S](), name: b.name, config: cfg, nodes: slices.Clone(b.nodes), edges: slices.Clone(b.edges), start: b.start, handler: b.handler,
		problems: slices.Clone(b.problems), at: at, validator: validator{cfg.OutputSchema}, index: map[string]*def[S]{}, parent: map[string]string{}, places: map[string]place{},
		origin: new(identity),
	}
	for _, d := range c.nodes {
		c.index[d.id] = d
		if d.parallel != nil || d.sub != nil {
			c.composed = append(c.composed, d.id)
		}
	}
	if len(config) > 1 {
		c.problem(at, "bad-config", "Compile accepts at most one Config, not %d", len(config))
	}
	for _, o := range b.open {
		c.problem(o.at, "open-if", "Missing EndIf")
	}
	if b.start == "" {
		c.problem(at, "no-start", "Cannot compile graph without a start node")
	}
	c.checkConfig()
	for _, d := range c.nodes {
		c.checkNode(d)
	}
	c.checkTargets()
	c.checkNamed(b.byName)
	c.place()
	if c.problems.HasErrors() {
		return nil, placed(c.problems).Err()
	}
	if c.ends = slices.Clone(b.ends); len(c.ends) == 0 {
		c.ends = c.terminal()
	}
	c.links = map[string]Subgraph{}
	for _, d := range c.nodes {
		if d.sub != nil && d.sub.graph != nil {
			c.links[d.id] = d.sub.graph
		}
	}
	return c.compiled()
}

// compiled makes the workflow and its functions.
func (c *compiler[S]) compiled() (*Compiled[S], error) {
	w := c.lower()
	if l := workflow.Validate(w); l.HasErrors() {
		return nil, placed(l).Err()
	}
	digest, err := w.Digest()
	if err != nil {
		return nil, err
	}
	c.paths = c.branchPaths()
	return &Compiled[S]{
		name: c.name, nodes: c.nodes, edges: c.edges, start: c.start, ends: c.ends, workflow: w, digest: digest, table: c.table(), compiler: c,
	}, nil
}

// Name gives the graph's name.
func (c *Compiled[S]) Name() string { return c.name }

// Start gives the id of the first node.
func (c *Compiled[S]) Start() string { return c.start }

// Ends gives the ids of the nodes that were marked with End, or of those that nothing follows (S2-7). The slice is the caller's.
func (c *Compiled[S]) Ends() []string { return slices.Clone(c.ends) }

// Digest identifies this version of the graph; a run goes on under its own only (P9).
func (c *Compiled[S]) Digest() string { return c.digest }

// Workflow gives the definition that the engine runs. It must not be changed.
func (c *Compiled[S]) Workflow() *workflow.Workflow { return c.workflow }

// Nodes gives all nodes in the order in which they were added. The slice is the caller's.
func (c *Compiled[S]) Nodes() []NodeInfo { return infos(c.nodes) }

// Edges gives all edges in the order in which they were added. The slice is the caller's.
func (c *Compiled[S]) Edges() []Edge { return plain(c.edges) }

// compiler holds a graph while it is compiled.
type compiler[S any] struct {
	codec    *codec[S]
	name     string
	config   Config
	nodes    []*def[S]
	edges    []edge[S]
	index    map[string]*def[S]
	start    string
	ends     []string
	handler  string
	problems diag.List
	at       diag.Span
	// validator checks what attempts are given and give.
	validator validator
	// parent is the parallel block in whose branch a node stands, "" outside; a node that was not placed yet has no entry.
	parent map[string]string
	places map[string]place
	// links are the graphs of subgraph nodes as far as they are known; linked: the names were looked up.
	links  map[string]Subgraph
	linked bool
	origin *identity
	// composed are the nodes whose outputs the engine has in a form of its own.
	composed []string
	// paths are those of the branches of parallel blocks.
	paths map[[2]string]branchPath
}

// terminal gives the nodes that nothing follows.
func (c *compiler[S]) terminal() []string {
	var out []string
	for _, d := range c.nodes {
		if !slices.ContainsFunc(c.edges, func(e edge[S]) bool { return e.From == d.id }) {
			out = append(out, d.id)
		}
	}
	return out
}

func (c *compiler[S]) stateType() reflect.Type { return reflect.TypeFor[S]() }
