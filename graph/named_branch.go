package graph

import (
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// namedBranch is a branch that was added as a whole.
type namedBranch struct {
	head string // its first node
	at   diag.Span
}

// Branch adds a branch of a parallel block as a whole. fn may add anything to the builder that the
// main flow may have: ifs, loops, waits, blocks with branches of their own. The current node does
// not change. name is the branch's name in [ParallelConfig.Branches]; it may be the id of the
// branch's first node, but not of any other node. fn is called immediately.
//
// A node belongs to one branch: nothing leads from one branch into another, not even a goto.
func (b *Builder[S]) Branch(name string, fn func(b *Builder[S])) *Builder[S] {
	at := caller()
	_, twice := b.byName[name]
	switch {
	case name == "":
		b.problem(at, "empty-id", "Branch has no name")
		return b
	case twice:
		b.problem(at, "duplicate-branch", "Branch %q already exists", name)
		return b
	case fn == nil:
		b.problem(at, "empty-branch", "Branch %q must contain at least one node", name)
		return b
	}
	head, _ := b.detached(func() { fn(b) })
	if head == "" {
		b.problem(at, "empty-branch", "Branch %q must contain at least one node", name)
	}
	if b.byName == nil {
		b.byName = map[string]namedBranch{}
	}
	b.byName[name] = namedBranch{head: head, at: at}
	for i := range b.edges {
		if e := &b.edges[i]; e.port == name && head != "" && b.index[e.From].shape == shapeParallel {
			e.To = head
		}
	}
	return b
}

// head returns the first node of a branch, as far as it is known.
func (b *Builder[S]) head(branch string) string {
	if n := b.byName[branch]; n.head != "" {
		return n.head
	}
	return branch
}

// checkNamed checks that the branches that were added as a whole are used, and that their names are
// unique.
func (c *compiler[S]) checkNamed(branches map[string]namedBranch) {
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		n := branches[name]
		used := false
		for _, d := range c.nodes {
			used = used || d.parallel != nil && slices.Contains(d.parallel.Branches, name)
		}
		switch {
		case n.head == "": // already reported
		case !used:
			c.problem(n.at, "unused-branch", "Branch %q is not part of a parallel node", name)
		case c.index[name] != nil && name != n.head:
			c.problem(n.at, "duplicate-branch", "Branch %q has the ID of a node that is not its first node", name)
		}
	}
}
