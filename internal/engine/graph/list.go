package graph

// Steps is a growing list of steps that never move: pending commands read steps that have ended
// while more are added. The zero list is ready for use.
type Steps[L any] struct {
	blocks   Blocks[L]
	n        int
	capacity int // capacity of blocks
	first    int // size of the first block; 0 means firstBlock
}

// Len returns the number of steps.
func (l *Steps[L]) Len() int { return l.n }

// All returns the steps so far. Steps that have ended may be read by any goroutine.
func (l *Steps[L]) All() Blocks[L] { return l.blocks }

// Expect sets the size of the first block so that it has room for n steps, within limits.
func (l *Steps[L]) Expect(n int) { l.first = min(max(n, firstBlock), firstMax) }

// At returns step i, counted from 0. Its address never changes.
func (l *Steps[L]) At(i int) *Step[L] { return l.blocks.At(i) }

// Blocks are the blocks of a list of steps.
type Blocks[L any] [][]Step[L]

// At returns step i, counted from 0.
func (b Blocks[L]) At(i int) *Step[L] {
	first := b[0]
	if i < len(first) {
		return &first[i]
	}
	i -= len(first)
	return &b[1+i/lastBlock][i%lastBlock]
}

func (l *Steps[L]) add(s Step[L]) {
	if l.n == l.capacity {
		size := lastBlock
		if l.n == 0 {
			size = max(l.first, firstBlock)
		}
		l.blocks = append(l.blocks, make([]Step[L], size))
		l.capacity += size
	}
	l.n++
	*l.At(l.n - 1) = s
}

// Counts holds counts by node.
type Counts []int

// Of returns the count of a node.
func (c Counts) Of(node int) int {
	if node < len(c) {
		return c[node]
	}
	return 0
}

// set sets the count of a node; nodes is the number of nodes.
func (c *Counts) set(node, n, nodes int) {
	if *c == nil {
		*c = make(Counts, nodes)
	}
	(*c)[node] = n
}

// The first block has room for the expected number of steps, within limits, and all others for 32,
// so that little space is wasted in both short and long runs.
const (
	firstBlock = 4
	firstMax   = 16
	lastBlock  = 32
)
