package workflow

import (
	"regexp"
	"slices"
)

// checkMaps checks that each map has a body that can begin, and that no node in one ends the run.
func (c *checker) checkMaps() {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		if n.Kind == KindEnd && c.inMap(n) {
			c.nodeErrorf(n, "end-in-map",
				"ends the run, so it cannot be inside of a map, where the other items would be lost")
		}
		if n.Kind != KindMap || n.Map == nil {
			continue
		}
		switch e := c.nodes[n.Map.Entry]; {
		case e == nil:
			c.nodeErrorf(n, "map-entry", "begins its items at %q, which does not exist", n.Map.Entry).Hint = c.similar(
				n.Map.Entry, c.nodeIDs)
		case e.Parent != n.ID:
			c.nodeErrorf(n, "map-entry", "begins its items at %q, which is not in it", e.ID)
		}
	}
}

// inMap reports whether a node is in the body of a map, at any depth.
func (c *checker) inMap(n *Node) bool {
	for depth := 0; depth <= MaxBlockDepth; depth++ {
		if n = c.nodes[n.Parent]; n == nil {
			return false
		}
		if n.Kind == KindMap {
			return true
		}
	}
	return false
}

func (c *checker) checkMap(n *Node) {
	m := n.Map
	c.validJSON(n, m.Over, "map.over", false)
	if len(m.Over) > 0 && m.OverFunc != "" {
		c.nodeErrorf(n, "bad-value", "it has over and overFunc")
	}
	c.negative(n, m.MaxConcurrency < 0, "map.maxConcurrency")
	c.oneOf(n, "map.onItemError", m.OnItemError, "", FailFast, FailSkip, FailCollect)
	if m.As != "" && !IsItemName(m.As) {
		c.nodeErrorf(n, "map-name", "names its item %q, which cannot be the name of a variable", m.As)
	}
}

var itemName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsItemName reports whether name is a valid name for the item of a map: letters, digits and `_`,
// and none of the names that have another meaning.
func IsItemName(name string) bool {
	return itemName.MatchString(name) && !slices.Contains([]string{"steps", "input", "previous", "note", "signal"},
		name)
}
