package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/program"
)

// outputs returns the outputs in the document's form: by node id, including those of branches,
// along with the counters of loops.
func (c *compiler[S]) outputs(raw map[string]program.Value, state program.State) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	// outputs that the run started with
	if first := state.Get(outputsField); first != nil && json.Unmarshal(first, &out) != nil || out == nil {
		out = map[string]json.RawMessage{}
	}
	if len(c.composed) == 0 { // no output includes those of other nodes
		for id, v := range raw {
			c.output(out, id, v)
		}
	} else {
		// What a previous iteration of a loop left in a block comes before the later outputs of a
		// branch of the block: outer nodes first.
		for _, id := range slices.SortedFunc(maps.Keys(raw), func(a, b string) int {
			return cmp.Or(c.depth(a)-c.depth(b), strings.Compare(a, b))
		}) {
			c.output(out, id, raw[id])
		}
	}
	for name := range state.Names() {
		if id, ok := strings.CutPrefix(name, outputsPrefix); ok {
			out[id] = state.Get(name)
		}
	}
	return out
}

// depth returns the number of parallel blocks around a node.
func (c *compiler[S]) depth(id string) int {
	n := 0
	for p := c.parent[id]; p != ""; p = c.parent[p] {
		n++
	}
	return n
}

func (c *compiler[S]) outputsOf(seen program.Outputs, state program.State) map[string]json.RawMessage {
	return c.outputs(maps.Collect(seen.All()), state)
}

// input returns the output of the previous node in the document's form.
func (c *compiler[S]) input(raw program.Value, seen program.Outputs) json.RawMessage {
	for _, id := range c.composed {
		if v, ok := seen.Get(id); ok && len(v) > 0 && bytes.Equal(v, raw) {
			return c.shown(id, v)
		}
	}
	return raw
}

// shown returns the output of one node in the document's form.
func (c *compiler[S]) shown(id string, v json.RawMessage) json.RawMessage {
	out := map[string]json.RawMessage{}
	c.output(out, id, v)
	return out[id]
}

// viewedOf returns the outputs visible in a view.
func viewedOf(v program.View) visibleOutputs {
	if v.Outputs == nil {
		return nil
	}
	return v.Outputs()
}

// visibleOutputs holds the outputs visible in a view.
type visibleOutputs map[string]program.Value

func (v visibleOutputs) Get(node string) (program.Value, bool) {
	out, ok := v[node]
	return out, ok
}

func (v visibleOutputs) All() iter.Seq2[string, program.Value] { return maps.All(v) }

// block is the output of a fork in the engine's form.
type block struct {
	Steps map[string]struct {
		Output json.RawMessage `json:"output"`
		Steps  json.RawMessage `json:"steps"`
	} `json:"steps"`
}

func (c *compiler[S]) output(out map[string]json.RawMessage, id string, v json.RawMessage) {
	d := c.index[id]
	if d == nil || len(v) == 0 || bytes.Equal(v, []byte("null")) || d.loop != nil || d.passesInputThrough() {
		return
	}
	switch {
	case d.each != nil:
		v = ownItems(v)
	case d.sub != nil:
		v = ownFields(v)
	}
	if d.parallel == nil {
		out[id] = v
		return
	}
	var b block
	if json.Unmarshal(v, &b) != nil {
		out[id] = v
		return
	}
	for child, s := range b.Steps {
		inner := s.Output
		if s.Steps != nil {
			if nested, err := encodeValue(map[string]json.RawMessage{"steps": s.Steps}); err == nil {
				inner = nested
			}
		}
		c.output(out, child, inner)
	}
	shown := parallelOutput{Parallel: true, Branches: d.parallel.Branches, Strategy: d.parallel.strategy(),
		Results: map[string]json.RawMessage{}}
	for _, br := range d.parallel.Branches {
		if last := c.lastOf(id, br, b); last != "" && out[last] != nil {
			shown.Results[br] = out[last]
		}
	}
	if raw, err := encodeValue(shown); err == nil {
		out[id] = raw
	}
}

// branchPath describes the nodes of a branch of a parallel block: the nodes reachable from its
// first edge with their distance, counting from 1, and the nodes among them without successors.
type branchPath struct {
	depth map[string]int
	ends  []string
}

// branchPaths returns the paths of all branches, by block and branch.
func (c *compiler[S]) branchPaths() map[[2]string]branchPath {
	next := map[string][]edge[S]{}
	for _, e := range c.edges {
		next[e.From] = append(next[e.From], e)
	}
	paths := map[[2]string]branchPath{}
	for _, d := range c.nodes {
		if d.parallel == nil {
			continue
		}
		for _, branch := range d.parallel.Branches {
			p, todo := branchPath{depth: map[string]int{}}, []string(nil)
			for _, e := range next[d.id] {
				if e.port == branch {
					todo, p.depth[e.To] = append(todo, e.To), 1
				}
			}
			for ; len(todo) > 0; todo = todo[1:] {
				id, followed := todo[0], false
				for _, e := range next[id] {
					if c.branches(e) {
						continue
					}
					followed = followed || e.port != labelContinue
					if p.depth[e.To] == 0 {
						todo, p.depth[e.To] = append(todo, e.To), p.depth[id]+1
					}
				}
				if !followed {
					p.ends = append(p.ends, id)
				}
			}
			paths[[2]string{d.id, branch}] = p
		}
	}
	return paths
}

// lastOf returns the node whose output is the output of a branch. It is a node that is reachable by
// edges from the first node, has no successors and has run; if that node only passes on its input,
// as decisions do, it is the last node before it that does not. It returns "" if there is none,
// because the branch was cancelled or a goto led elsewhere.
func (c *compiler[S]) lastOf(fork, branch string, b block) string {
	p := c.paths[[2]string{fork, branch}]
	last := ""
	var seen map[string]bool
	for todo := p.ends; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if _, ran := b.Steps[id]; ran && p.depth[id] > p.depth[last] {
			last = id
		}
		if seen[id] || !c.index[id].passesInputThrough() {
			continue
		}
		if seen == nil {
			seen, todo = map[string]bool{}, slices.Clone(todo)
		}
		seen[id] = true
		for _, e := range c.edges {
			if e.To == id && p.depth[e.From] > 0 {
				todo = append(todo, e.From)
			}
		}
	}
	return last
}

// ErrNoOutput is returned when a node has no output, or is not visible to the caller.
var ErrNoOutput = errors.New("no output")

// OutputAs decodes a node's output as a T, from the outputs in [Context.Outputs], or in snapshots
// and runs of package hocket:
//
//	n, err := graph.OutputAs[int](c.Outputs(), "count")
//
// It returns [ErrNoOutput], or the error of encoding/json if the output does not fit T. The value
// is then the zero value of T.
func OutputAs[T any](outputs map[string]json.RawMessage, node string) (T, error) {
	var v, zero T
	raw, ok := outputs[node]
	if !ok {
		return zero, fmt.Errorf("node %q: %w", node, ErrNoOutput)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return zero, fmt.Errorf("read output of node %q: %w", node, err)
	}
	return v, nil
}
