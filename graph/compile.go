package graph

import (
	"reflect"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// Defaults of the document, with thresholds in percent.
const (
	defaultConcurrency = 1
	defaultThreshold   = 45
	clearThreshold     = 60 // for a node that clears the context
)

// Config is the configuration with which a graph is compiled. The zero value is ready to use.
type Config struct {
	// Version distinguishes versions of the graph that have the same nodes and edges but different
	// functions: it is part of the digest.
	Version     string
	Description string
	// MaxConcurrency is the maximum number of nodes that run concurrently; 0 means 1, which runs
	// the queue one node at a time, and the branches of a parallel block concurrently. A value less
	// than 1 is an error. Nodes of the queue that run concurrently and change the same field need a
	// reducer for it, like branches; changes are merged in the order in which the nodes end.
	MaxConcurrency int
	// MaxSteps limits the number of node executions, including generated nodes; 0 means 1,000, and
	// [Zero] allows none.
	MaxSteps int
	// Timeout limits the running time of the run, excluding pauses; 0 means no limit.
	Timeout time.Duration
	// Limits holds the budget of a run of the graph; inside another graph it limits the node that
	// runs it. hocket.RunOptions.Limits takes precedence.
	Limits Limits
	// Reducers merge fields that concurrent branches change, by the field's JSON name.
	Reducers map[string]Reducer
	// Metadata is for the program's own nodes; it is not read elsewhere and is not part of the
	// digest.
	Metadata map[string]any
	// OutputSchema is checked against the state after each node that changed it; nil means no
	// check.
	OutputSchema *Schema
	// DefaultModel is the model of nodes that have none of their own; "" and "inherit" leave the
	// choice to the provider.
	DefaultModel string
	// ContextWindowThreshold is the percentage, between 0 and 100, from which a context window
	// counts as full; 0 means 45.
	ContextWindowThreshold float64
	// Runtime holds what nodes need from the program; nil fields are provided by the engine that
	// runs the graph.
	Runtime Runtime
}

// threshold returns the effective threshold.
func (c Config) threshold() float64 {
	return thresholdOr(c.ContextWindowThreshold, defaultThreshold)
}

// Compiled is a graph that can run. It is immutable and safe for concurrent use.
type Compiled[S any] struct {
	name     string
	nodes    []*def[S]
	edges    []edge[S]
	start    string
	ends     []string
	workflow *workflow.Workflow
	digest   string
	table    *program.Table
	compiler *compiler[S] // immutable
}

// Compile checks the graph and freezes it; at most one [Config] may be passed. The error is a
// [diag.List] of all errors, each with the file and line of the call that caused it.
func (b *Builder[S]) Compile(config ...Config) (*Compiled[S], error) {
	return b.compile(caller(), config...)
}

func (b *Builder[S]) compile(at diag.Span, config ...Config) (*Compiled[S], error) {
	var cfg Config
	if len(config) > 0 {
		cfg = config[0]
	}
	c := &compiler[S]{
		codec: newCodec[S](), name: b.name, config: cfg, nodes: slices.Clone(b.nodes), edges: slices.Clone(b.edges),
		start: b.start, handler: b.handler,
		problems: slices.Clone(b.problems), at: at, validator: validator{cfg.OutputSchema}, index: map[string]*def[S]{},
		parent: map[string]string{}, places: map[string]place{},
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

// compiled builds the workflow and its functions.
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
		name: c.name, nodes: c.nodes, edges: c.edges, start: c.start, ends: c.ends, workflow: w, digest: digest,
		table: c.table(), compiler: c,
	}, nil
}

// Name returns the graph's name.
func (c *Compiled[S]) Name() string { return c.name }

// Start returns the id of the first node.
func (c *Compiled[S]) Start() string { return c.start }

// Ends returns the ids of the nodes marked with End, or, if there are none, of the nodes without
// successors. The caller owns the slice.
func (c *Compiled[S]) Ends() []string { return slices.Clone(c.ends) }

// Config returns the configuration that the graph was compiled with. Nothing that it points to may
// be modified.
func (c *Compiled[S]) Config() Config { return c.compiler.config }

// ErrorHandler returns the id of the node of [Builder.Catch]; "" if there is none.
func (c *Compiled[S]) ErrorHandler() string { return c.compiler.handler }

// Digest identifies this version of the graph; a run can only continue with the same digest.
func (c *Compiled[S]) Digest() string { return c.digest }

// Workflow returns the definition that the engine runs. It must not be modified.
func (c *Compiled[S]) Workflow() *workflow.Workflow { return c.workflow }

// Nodes returns all nodes in the order in which they were added. The caller owns the slice.
func (c *Compiled[S]) Nodes() []NodeInfo { return infos(c.nodes) }

// Edges returns all edges in the order in which they were added. The caller owns the slice.
func (c *Compiled[S]) Edges() []Edge { return plain(c.edges) }

// Condition returns the condition under which an edge of [Compiled.Edges] is taken; nil if the edge
// is unconditional or is not one of the graph's. A loop also depends on the number of its
// iterations, which a view made outside of a run does not have.
func (c *Compiled[S]) Condition(e Edge) func(View[S]) bool {
	var conditions []func(View[S]) bool
	for _, x := range c.edges {
		if x.Edge == e && e.Conditional {
			conditions = append(conditions, c.compiler.index[e.From].condition(x.port))
		}
	}
	if len(conditions) == 0 {
		return nil
	}
	return func(v View[S]) bool {
		return slices.ContainsFunc(conditions, func(holds func(View[S]) bool) bool { return holds(v) })
	}
}

// condition returns the condition of the edges that leave the node at a port.
func (d *def[S]) condition(port string) func(View[S]) bool {
	switch port {
	case labelTrue:
		return d.cond
	case labelFalse:
		return func(v View[S]) bool { return !d.cond(v) }
	case labelContinue:
		return d.loop.again
	case labelExit:
		return func(v View[S]) bool { return !d.loop.again(v) }
	}
	return func(v View[S]) bool {
		for i, r := range d.routes {
			if r.When(v) {
				return routePort(i) == port
			}
		}
		return port == fallbackPort
	}
}

// Definition is the complete definition of a node.
type Definition[S any] struct {
	NodeInfo
	Options NodeOptions
	// Func is the function of the node; nil for nodes that the engine itself executes, such as
	// questions, decisions and blocks.
	Func Func[S]
}

// Definition returns the definition of a node; the second result is false if there is none with
// that id. Nothing that it points to may be modified.
func (c *Compiled[S]) Definition(id string) (Definition[S], bool) {
	d := c.compiler.index[id]
	if d == nil {
		return Definition[S]{}, false
	}
	return Definition[S]{NodeInfo: d.info(), Options: d.opts, Func: d.run}, true
}

// compiler holds a graph during compilation.
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
	// validator checks the inputs and outputs of attempts.
	validator validator
	// parent maps a node to the parallel block whose branch contains it, "" if none; nodes that
	// have not been placed have no entry.
	parent map[string]string
	places map[string]place
	// links holds the graphs of subgraph nodes as far as they are known; linked means that the
	// names have been resolved.
	links  map[string]Subgraph
	linked bool
	origin *identity
	// composed lists the nodes whose outputs the engine stores in its own form.
	composed []string
	// paths holds the paths of the branches of parallel blocks.
	paths map[[2]string]branchPath
}

// terminal returns the nodes without successors.
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
