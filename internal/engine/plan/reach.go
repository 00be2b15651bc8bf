package plan

// Set is a set of node indexes.
type Set []uint64

// Has reports whether i is in the set.
func (b Set) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b Set) add(i int) { b[i/64] |= 1 << (i % 64) }

// union adds c to b and reports whether b grew.
func (b Set) union(c Set) bool {
	grew := false
	for i, w := range c {
		if b[i]|w != b[i] {
			b[i] |= w
			grew = true
		}
	}
	return grew
}

// reachability returns, for each node, the nodes that can be reached from it by one or more edges.
// A fork reaches what its join reaches. Counted back-edges do not count: whatever follows one
// belongs to the next iteration, which no join of this iteration may wait for (P15).
func reachability(f *Flow) []Set {
	words := (len(f.Nodes) + 63) / 64
	reach := make([]Set, len(f.Nodes))
	for i := range reach {
		reach[i] = make(Set, words)
	}
	for _, e := range f.Workflow.Edges {
		if !e.Loop {
			reach[f.Index[e.From]].add(f.Index[e.To])
		}
	}
	for i := range f.Nodes {
		if j := f.Nodes[i].JoinIndex; j >= 0 {
			reach[i].add(j)
		}
	}
	for grew := true; grew; {
		grew = false
		for i := range reach {
			for j := range f.Nodes {
				if reach[i].Has(j) && reach[i].union(reach[j]) {
					grew = true
				}
			}
		}
	}
	return reach
}
