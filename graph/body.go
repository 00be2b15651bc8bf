package graph

import (
	"context"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// composite is a node that is made of others: it adds them where it would stand.
type composite[S any] interface {
	Node[S]
	put(b *Builder[S], at diag.Span)
}

// flow is a list of nodes.
type flow[S any] []Node[S]

// Flow makes one node of several that follow one another, for a branch or a body that takes one.
func Flow[S any](nodes ...Node[S]) Node[S] { return flow[S](nodes) }

func (f flow[S]) define() *def[S] { return &def[S]{problem: "a flow is several nodes"} }

func (f flow[S]) put(b *Builder[S], at diag.Span) {
	for _, n := range f {
		b.then(at, n)
	}
}

// body is what a function adds to a builder.
type body[S any] func(b *Builder[S])

// Body makes one node of what fn adds to the builder, which may be anything that the main flow may have: ifs, loops, waits, blocks with branches of their own. fn is
// called once, when the node is added.
func Body[S any](fn func(b *Builder[S])) Node[S] { return body[S](fn) }

func (f body[S]) define() *def[S] { return &def[S]{problem: "a body is several nodes"} }

func (f body[S]) put(b *Builder[S], at diag.Span) {
	if f == nil {
		b.problem(at, "no-node", "Body has no function")
		return
	}
	head, end := b.apart(func() { f(b) })
	if head == "" {
		return
	}
	b.attach(at, head)
	b.current = end
}

// apart lets fn add nodes that nothing leads to yet, and gives the first of them and the one at which it ended; "" where there is none. Where the flow goes on does
// not change.
func (b *Builder[S]) apart(fn func()) (head, end string) {
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

// Loop makes a loop as a node: body is repeated until a condition holds behind it, 100 times at most, see [LoopConfig.AtMost].
func Loop[S any](until func(View[S]) bool, body ...Node[S]) LoopConfig[S] {
	return LoopConfig[S]{Until: until, Body: body}
}

// AtMost gives the loop with another bound of its passes.
func (c LoopConfig[S]) AtMost(passes int) LoopConfig[S] {
	c.MaxIterations = passes
	return c
}

func (c LoopConfig[S]) define() *def[S] { return &def[S]{problem: "a loop is several nodes"} }

// If makes a conditional as a node: then runs where cond holds.
func If[S any](cond func(View[S]) bool, then ...Node[S]) IfConfig[S] {
	return IfConfig[S]{Condition: cond, Then: then}
}

// OrIf gives the conditional with one more condition, which is asked where those before do not hold.
func (c IfConfig[S]) OrIf(cond func(View[S]) bool, then ...Node[S]) IfConfig[S] {
	c.ElseIf = append(slices.Clip(c.ElseIf), ElseIf[S]{cond, then})
	return c
}

// Otherwise gives the conditional with what runs where no condition holds.
func (c IfConfig[S]) Otherwise(nodes ...Node[S]) IfConfig[S] {
	c.Else = nodes
	return c
}

func (c IfConfig[S]) define() *def[S] { return &def[S]{problem: "a conditional is several nodes"} }

// Parallel makes a block of branches that run together and are all waited for. A branch is a node, or a [Flow] or a [Body]; it is called as its first node is.
func Parallel[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches}
}

// Race is [Parallel] where the first branch that settles counts, even if it failed.
func Race[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyRace}
}

// Any is [Parallel] where the first branch that succeeds counts.
func Any[S any](id string, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyAny}
}

// Quorum is [Parallel] where the first n branches that succeed count.
func Quorum[S any](id string, n int, branches ...Node[S]) ParallelConfig[S] {
	return ParallelConfig[S]{ID: id, Bodies: branches, Strategy: StrategyQuorum, Quorum: n}
}

// Into gives the block with a Merge.
func (c ParallelConfig[S]) Into(merge func(s *S, results []BranchResult) error) ParallelConfig[S] {
	c.Merge = merge
	return c
}

// put adds the block and its bodies.
func (c ParallelConfig[S]) put(b *Builder[S], at diag.Span) {
	if c.ID == "" {
		c.ID = b.generated("parallel")
	}
	named := len(c.Branches) > 0
	if named && len(c.Bodies) > 0 && len(c.Branches) != len(c.Bodies) {
		b.problem(at, "bad-node", "Parallel node %q has %d names of branches and %d bodies", c.ID, len(c.Branches), len(c.Bodies))
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
		head, _ := b.apart(func() { b.then(at, n) })
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

// parallelNode is the block itself.
type parallelNode[S any] struct{ c ParallelConfig[S] }

func (n parallelNode[S]) define() *def[S] { return n.c.define() }

// Tool makes a node that calls a function with arguments made of what it sees. The result is in the outputs under the id; see [ToolConfig.Into]. Args may be nil: the
// function gets the zero value.
func Tool[S, A, R any](id string, args func(View[S]) A, fn func(ctx context.Context, args A) (R, error), opts ...NodeOptions) ToolConfig[S, A, R] {
	c := ToolConfig[S, A, R]{ID: id, ArgsFunc: args, Execute: fn}
	c.Options, c.tooMany = oneOption(opts)
	return c
}

// Into gives the tool with an Output, which writes its result into the state, and keeps the result in the outputs as well.
func (c ToolConfig[S, A, R]) Into(output func(s *S, result R) error) ToolConfig[S, A, R] {
	c.Output, c.Keep = output, true
	return c
}

// Ask makes a node that asks a person and pauses the run until the answer comes. The answer is in the outputs under the id; input, which may be nil, writes it into
// the state.
func Ask[S any](id string, prompt func(View[S]) string, input func(s *S, answer string) error, opts ...NodeOptions) WaitConfig[S] {
	c := WaitConfig[S]{ID: id, PromptFunc: prompt, Input: input}
	c.Options, c.tooMany = oneOption(opts)
	return c
}

// Inner makes a node that runs another graph as one step. input, which may be nil, makes its first state, output writes its last one into this one's.
func Inner[S, T any](id string, g *Compiled[T], input func(View[S]) T, output func(s *S, last T) error, opts ...NodeOptions) SubgraphConfig[S, T] {
	c := SubgraphConfig[S, T]{ID: id, Graph: g, Input: input, Output: output}
	c.Options, c.tooMany = oneOption(opts)
	return c
}

// oneOption gives the options of a constructor; more is how many there were where there was more than one.
func oneOption(opts []NodeOptions) (o NodeOptions, more int) {
	switch len(opts) {
	case 0:
		return o, 0
	case 1:
		return opts[0], 0
	}
	return o, len(opts)
}

// surplus tells of options that are one too many.
func (d *def[S]) surplus(n int) {
	if n > 0 {
		d.problem = problemf("Node %q accepts at most one NodeOptions, not %d", d.id, n)
	}
}
