package secret

import (
	"cmp"
	"maps"
	"slices"
)

// automaton finds all patterns in a text in one pass: the time does not depend on their number or
// on common parts (Aho and Corasick, 1975). It is read-only once it is built.
type automaton struct {
	class [256]class
	root  [256]int32 // the edges of the root
	nodes []node
	// edgeBytes and to are the edges of all nodes: the byte, in order for each node, and the target
	// node.
	edgeBytes   []byte
	edgeTargets []int32
	// least is the minimum length of a text that holds a pattern, encoded or not: no encoding makes
	// a text shorter. held are the bytes that such a text may have within the pattern.
	least int
	held  [256]bool
}

// maxLeast is the maximum of automaton.least: so much of a text may wait until it is searched.
const maxLeast = 32

// spelling are the bytes, other than those of patterns, that occur in encoded text: digits, the
// bytes between them, and the bytes of escapes.
var spelling = func() (of [256]bool) {
	for _, e := range encodings {
		for c := range of {
			of[c] = of[c] || e.digits[c] >= 0 || e.gaps[c]
		}
	}
	for _, c := range []byte(`\%&#;{}`) {
		of[c] = true
	}
	return of
}()

// node represents the longest suffix of the text read so far that is a prefix of a pattern.
type node struct {
	first, edges int32 // indexes in automaton.by
	fail         int32 // its longest proper suffix that is a prefix of a pattern
	depth        int32 // its length
	partial      int32 // length of its longest suffix, or itself, that may become a longer pattern
	found        int32 // length of the longest pattern that ends here; 0 means none
	mark         string
}

// class tells what may begin with a byte.
type class uint8

const (
	begins class = 1 << iota // a pattern
	escapes
	base64Digit
	hexDigit
)

// classes are the classes of all bytes without begins.
var classes = func() (of [256]class) {
	of['\\'], of['%'], of['&'] = escapes, escapes, escapes
	for c := range of {
		if encodings[0].digits[c] >= 0 {
			of[c] |= base64Digit
		}
		if encodings[1].digits[c] >= 0 {
			of[c] |= hexDigit
		}
	}
	return of
}()

// newAutomaton builds an automaton of patterns with their markers.
func newAutomaton(patterns map[string]string) *automaton {
	a := &automaton{class: classes, held: spelling, least: maxLeast}
	t := newTrie(1 + len(patterns))
	for _, text := range slices.Sorted(maps.Keys(patterns)) {
		t.add(text, patterns[text])
		a.class[text[0]] |= begins
		a.least = min(a.least, len(text))
		for i := range len(text) {
			a.held[text[i]] = true
		}
	}
	a.nodes = make([]node, len(t.char))
	order := make([]int32, 1, len(t.char))
	for i := 0; i < len(order); i++ { // breadth first, so that fail targets are done before
		at := order[i]
		n := &a.nodes[at]
		n.first = int32(len(a.edgeBytes))
		n.found, n.mark = a.nodes[n.fail].found, a.nodes[n.fail].mark
		if mark, ok := t.marks[at]; ok {
			n.found, n.mark = n.depth, mark
		}
		for to := t.child[at]; to != 0; to = t.next[to] {
			a.edgeBytes, a.edgeTargets = append(a.edgeBytes, t.char[to]), append(a.edgeTargets, to)
			if at == 0 {
				a.root[t.char[to]] = to
			}
			order = append(order, to)
		}
		n.edges = int32(len(a.edgeBytes)) - n.first
		if n.partial = a.nodes[n.fail].partial; n.edges > 0 {
			n.partial = n.depth
		}
		for to := t.child[at]; to != 0; to = t.next[to] {
			a.nodes[to].depth = n.depth + 1
			if at != 0 {
				a.nodes[to].fail = a.step(n.fail, t.char[to])
			}
		}
	}
	return a
}

// trie holds the prefixes of patterns, which are added in order: the root is 0, and the children of
// a node are in order.
type trie struct {
	char              []byte
	child, next, last []int32 // the first child, the next sibling, the last child; 0 means none
	marks             map[int32]string
}

func newTrie(patterns int) *trie {
	return &trie{make([]byte, 1), make([]int32, 1), make([]int32, 1), make([]int32, 1),
		make(map[int32]string, patterns)}
}

func (t *trie) add(text, mark string) {
	at := int32(0)
	for i := range len(text) {
		if last := t.last[at]; last != 0 && t.char[last] == text[i] {
			at = last
			continue
		}
		made := int32(len(t.char))
		t.char, t.child, t.next, t.last = append(t.char, text[i]), append(t.child, 0), append(t.next, 0),
			append(t.last, 0)
		if t.last[at] == 0 {
			t.child[at] = made
		} else {
			t.next[t.last[at]] = made
		}
		t.last[at] = made
		at = made
	}
	t.marks[at] = mark
}

// step returns the node after a byte.
func (a *automaton) step(at int32, c byte) int32 {
	for at != 0 {
		n := &a.nodes[at]
		edges := a.edgeBytes[n.first : n.first+n.edges]
		if len(edges) <= 8 {
			for i, b := range edges {
				if b == c {
					return a.edgeTargets[int(n.first)+i]
				}
			}
		} else if i, ok := slices.BinarySearch(edges, c); ok {
			return a.edgeTargets[int(n.first)+i]
		}
		at = n.fail
	}
	return a.root[c]
}

// find is a pattern found in a text: the bytes from start up to, but not including, end.
type find struct {
	start, end int
	mark       string
}

// merge sorts finds and joins overlapping ones; the marker is that of the find that starts first,
// or of the longest of these.
func merge(all []find) []find {
	slices.SortFunc(all, func(a, b find) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.mark, b.mark))
	})
	out := all[:0]
	for _, f := range all {
		if n := len(out); n > 0 && f.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, f.end)
		} else {
			out = append(out, f)
		}
	}
	return out
}
