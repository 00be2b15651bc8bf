package graph

// Steps is a growing list of steps that never move: commands on their way look at those that have ended while more are added. The zero list is ready for use.
type Steps[L any] struct {
	blocks Blocks[L]
	n      int
	room   int // places in blocks
	first  int // steps of the first block; 0: firstBlock
}

// Len counts the steps.
func (l *Steps[L]) Len() int { return l.n }

// All gives the steps so far. Those that have ended may be read by any goroutine.
func (l *Steps[L]) All() Blocks[L] { return l.blocks }

// Expect makes room for n steps in the first block.
func (l *Steps[L]) Expect(n int) { l.first = min(max(n, firstBlock), firstMax) }

// At gives step i, counted from 0. It stays where it is.
func (l *Steps[L]) At(i int) *Step[L] { return l.blocks.At(i) }

// Blocks are the blocks of a list of steps.
type Blocks[L any] [][]Step[L]

// At gives step i, counted from 0.
func (b Blocks[L]) At(i int) *Step[L] {
	first := b[0]
	if i < len(first) {
		return &first[i]
	}
	i -= len(first)
	return &b[1+i/lastBlock][i%lastBlock]
}

func (l *Steps[L]) add(s Step[L]) {
	if l.n == l.room {
		size := lastBlock
		if l.n == 0 {
			size = max(l.first, firstBlock)
		}
		l.blocks = append(l.blocks, make([]Step[L], size))
		l.room += size
	}
	l.n++
	*l.At(l.n - 1) = s
}

// Counts are counts by node.
type Counts []int

// Of gives the count of a node.
func (c Counts) Of(node int) int {
	if node < len(c) {
		return c[node]
	}
	return 0
}

// set gives the counts with that of node set; nodes is how many there are.
func (c *Counts) set(node, n, nodes int) {
	if *c == nil {
		*c = make(Counts, nodes)
	}
	(*c)[node] = n
}

// The first block holds as many steps as are expected, within bounds, all others 32: few places stay empty, in short runs and in long ones.
const (
	firstBlock = 4
	firstMax   = 16
	lastBlock  = 32
)
