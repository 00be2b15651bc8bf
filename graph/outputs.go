package graph

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hocket-run/hocket/internal/program"
)

// outputs gives the outputs as the document has them (S2-20, S2-50, S2-57): by node id, those of branches too, beside the counters of loops.
func (c *compiler[S]) outputs(raw map[string]program.Value, state program.Fields) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for id, v := range raw {
		c.output(out, id, v)
	}
	for name, v := range state {
		if id, ok := strings.CutPrefix(name, outputsPrefix); ok {
			out[id] = v
		}
	}
	return out
}

// block is the output of a fork in the engine's form.
type block struct {
	Steps map[string]struct {
		Output json.RawMessage `json:"output"`
		Steps  json.RawMessage `json:"steps"`
	} `json:"steps"`
}

func (c *compiler[S]) output(out map[string]json.RawMessage, id string, v json.RawMessage) {
	d := c.index[id]
	if d == nil || len(v) == 0 || bytes.Equal(v, []byte("null")) || d.loop != nil {
		return
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
	shown := parallelOutput{Parallel: true, Branches: d.parallel.Branches, Strategy: d.parallel.strategy(), Results: map[string]json.RawMessage{}}
	for _, br := range d.parallel.Branches {
		if last := c.lastOf(br, b); last != "" && out[last] != nil {
			shown.Results[br] = out[last]
		}
	}
	if raw, err := encodeValue(shown); err == nil {
		out[id] = raw
	}
}

// lastOf gives the node of a branch whose output is the branch's: the last of its chain, where that has run.
func (c *compiler[S]) lastOf(branch string, b block) string {
	seen := map[string]bool{}
	for id := branch; !seen[id]; {
		seen[id] = true
		next := ""
		for _, e := range c.edges {
			if _, ran := b.Steps[e.To]; e.From == id && !c.branches(e) && ran {
				next = e.To
			} else if e.From == id && !c.branches(e) && next == "" && c.index[id].shape == shapeFunc {
				return "" // it was cut off
			}
		}
		if next == "" {
			return id
		}
		id = next
	}
	return branch
}
