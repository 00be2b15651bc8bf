package graph

import (
	"context"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// composite is a node made of other nodes: it adds them in its place.
type composite[S any] interface {
	Node[S]
	addTo(b *Builder[S], at diag.Span)
}

// flow is a list of nodes in sequence.
type flow[S any] []Node[S]

// Flow combines several consecutive nodes into one, for a branch or a body that accepts one node.
func Flow[S any](nodes ...Node[S]) Node[S] { return flow[S](nodes) }

func (f flow[S]) define() *def[S] { return &def[S]{problem: "a flow is several nodes"} }

func (f flow[S]) addTo(b *Builder[S], at diag.Span) {
	for _, n := range f {
		b.then(at, n)
	}
}

// body is a function that adds nodes to a builder.
type body[S any] func(b *Builder[S])

// Body returns a node made of what fn adds to the builder, which may be anything that the main flow
// may have: ifs, loops, waits, blocks with branches of their own. fn is called once, when the node
// is added.
func Body[S any](fn func(b *Builder[S])) Node[S] { return body[S](fn) }

func (f body[S]) define() *def[S] { return &def[S]{problem: "a body is several nodes"} }

func (f body[S]) addTo(b *Builder[S], at diag.Span) {
	if f == nil {
		b.problem(at, "no-node", "Body has no function")
		return
	}
	head, end := b.detached(func() { f(b) })
	if head == "" {
		return
	}
	b.attach(at, head)
	b.current = end
}

// detached lets fn add nodes that nothing leads to yet, and returns the first and the last of them;
// "" if there is none. The current node of the builder does not change.
func (b *Builder[S]) detached(fn func()) (head, end string) {
	current, open, start, inside := b.current, b.open, b.start, b.inside
	b.current, b.open, b.start, b.inside = "", nil, "", true
	fn()
	for _, o := range b.open {
		b.problem(o.at, "open-if", "Missing EndIf")
	}
	head, end = b.start, b.current
	b.current, b.open, b.start, b.inside = current, open, start, inside
	return head, end
}

// Loop returns a loop as a node: body is repeated until a condition holds after it, at most 100
// times, see [LoopConfig.AtMost].
func Loop[S any](until func(View[S]) bool, body ...Node[S]) LoopConfig[S] {
	return LoopConfig[S]{Until: until, Body: body}
}

// AtMost returns the loop with a different limit on its iterations.
func (c LoopConfig[S]) AtMost(passes int) LoopConfig[S] {
	c.MaxIterations = passes
	return c
}

func (c LoopConfig[S]) define() *def[S] { return &def[S]{problem: "a loop is several nodes"} }

// If returns a conditional as a node: then runs if cond holds.
func If[S any](cond func(View[S]) bool, then ...Node[S]) IfConfig[S] {
	return IfConfig[S]{Condition: cond, Then: then}
}

// OrIf returns the conditional with one more condition, which is evaluated if the previous ones do
// not hold.
func (c IfConfig[S]) OrIf(cond func(View[S]) bool, then ...Node[S]) IfConfig[S] {
	c.ElseIf = append(slices.Clip(c.ElseIf), ElseIf[S]{cond, then})
	return c
}

// Otherwise returns the conditional with nodes that run if no condition holds.
func (c IfConfig[S]) Otherwise(nodes ...Node[S]) IfConfig[S] {
	c.Else = nodes
	return c
}

func (c IfConfig[S]) define() *def[S] { return &def[S]{problem: "a conditional is several nodes"} }

// Parallel returns a block of branches that run concurrently and are all waited for. A branch is a
// node, a [Flow] or a [Body]; its name is that of its first node.
func Parallel[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches}
}

// Race is like [Parallel], but the first branch that settles counts, even if it failed.
func Race[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyRace}
}

// Any is like [Parallel], but the first branch that succeeds counts.
func Any[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyAny}
}

// Quorum is like [Parallel], but the first n branches that succeed count.
func Quorum[S any](id string, n int, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyQuorum, Quorum: n}
}

// Into returns the block with the given Merge.
func (c ParallelConfig[S]) Into(merge func(s *S, results []BranchResult) error) ParallelConfig[S] {
	c.Merge = merge
	return c
}

// addTo adds the block and its bodies.
func (c ParallelConfig[S]) addTo(b *Builder[S], at diag.Span) {
	if c.ID == "" {
		c.ID = b.generated("parallel")
	}
	named := len(c.Branches) > 0
	if named && len(c.Bodies) > 0 && len(c.Branches) != len(c.Bodies) {
		b.problem(at, "bad-node", "Parallel node %q has %d names of branches and %d bodies", c.ID, len(c.Branches),
			len(c.Bodies))
		return
	}
	if !named {
		c.Branches = make([]string, len(c.Bodies))
	}
	d, ok := b.add(at, parallelNode[S]{c})
	if !ok {
		return
	}
	b.attach(at, d.id)
	for i, n := range c.Bodies {
		head, _ := b.detached(func() { b.then(at, n) })
		name := d.parallel.Branches[i]
		if name == "" {
			name = head
		}
		if head == "" {
			b.problem(at, "empty-branch", "Branch %d of parallel node %q must contain at least one node", i+1, c.ID)
			continue
		}
		d.parallel.Branches[i] = name
		if b.byName == nil {
			b.byName = map[string]namedBranch{}
		}
		if name != head {
			b.byName[name] = namedBranch{head: head, at: at}
		}
	}
	b.branches(at, d)
}

// parallelNode is the block itself, without its bodies.
type parallelNode[S any] struct{ c ParallelConfig[S] }

func (n parallelNode[S]) define() *def[S] { return n.c.define() }

// Tool returns a node that calls a function with arguments derived from its view of the state. The
// result is stored in the outputs under the id; see [ToolConfig.Into]. args may be nil, in which
// case the function gets the zero value.
func Tool[S, A, R any](id string, args func(View[S]) A, fn func(ctx context.Context, args A) (R, error),
	opts ...NodeOptions) ToolConfig[S, A, R] {
	c := ToolConfig[S, A, R]{ID: id, ArgsFunc: args, Execute: fn}
	c.Options, c.optionCount = oneOption(opts)
	return c
}

// Into returns the tool with an Output that writes the result into the state; the result is still
// stored in the outputs.
func (c ToolConfig[S, A, R]) Into(output func(s *S, result R) error) ToolConfig[S, A, R] {
	c.Output, c.Keep = output, true
	return c
}

// Ask returns a node that asks a person and pauses the run until the answer arrives. The answer is
// stored in the outputs under the id; input, which may be nil, writes it into the state.
func Ask[S any](id string, prompt func(View[S]) string, input func(s *S, answer string) error,
	opts ...NodeOptions) WaitConfig[S] {
	c := WaitConfig[S]{ID: id, PromptFunc: prompt, Input: input}
	c.Options, c.optionCount = oneOption(opts)
	return c
}

// Inner returns a node that runs another graph as one step. input, which may be nil, produces its
// initial state, and output writes its final state into that of the outer graph.
func Inner[S, T any](id string, g *Compiled[T], input func(View[S]) T, output func(s *S, last T) error,
	opts ...NodeOptions) SubgraphConfig[S, T] {
	c := SubgraphConfig[S, T]{ID: id, Graph: g, Input: input, Output: output}
	c.Options, c.optionCount = oneOption(opts)
	return c
}

// oneOption returns the options of a constructor; more is the number of options if there is more
// than one.
func oneOption(opts []NodeOptions) (o NodeOptions, more int) {
	switch len(opts) {
	case 0:
		return o, 0
	case 1:
		return opts[0], 0
	}
	return o, len(opts)
}

// rejectExtraOptions records an error if a constructor got more than one NodeOptions.
func (d *def[S]) rejectExtraOptions(n int) {
	if n > 0 {
		d.problem = problemf("Node %q accepts at most one NodeOptions, not %d", d.id, n)
	}
}
