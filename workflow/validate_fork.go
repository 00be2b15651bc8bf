package workflow

// checkForks checks that forks and joins name each other and that every branch can begin.
func (c *checker) checkForks() {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		switch {
		case n.Kind == KindFork && n.Fork != nil:
			c.checkFork(n)
		case n.Kind == KindJoin && n.Join != nil && n.Join.Fork != "":
			f := c.nodes[n.Join.Fork]
			if f == nil || f.Fork == nil {
				c.nodeErrorf(n, "join-fork", "closes %q, which is not a fork", n.Join.Fork).Hint = c.similar(
					n.Join.Fork, c.nodeIDs)
			} else if f.Fork.Join != n.ID {
				c.nodeErrorf(n, "join-fork", "closes fork %q, which names %q as its join", f.ID, f.Fork.Join)
			}
		}
	}
}

func (c *checker) checkFork(n *Node) {
	f := n.Fork
	if j := c.nodes[f.Join]; j == nil || j.Join == nil {
		c.nodeErrorf(n, "fork-join", "names the join %q, which is not a join", f.Join).Hint = c.similar(f.Join,
			c.nodeIDs)
	} else if j.Join.Fork != n.ID {
		c.nodeErrorf(n, "fork-join", "names the join %q, which closes %q", f.Join, j.Join.Fork)
	}
	if len(f.Branches) == 0 {
		c.nodeErrorf(n, "fork-without-branches", "has no branches")
	}
	seen := map[string]bool{}
	for _, b := range f.Branches {
		switch {
		case b.ID == "":
			c.nodeErrorf(n, "empty-id", "a branch has no id")
		case seen[b.ID]:
			c.nodeErrorf(n, "duplicate-branch", "branch id %q is used twice", b.ID)
		case !c.ports[port{n.ID, b.ID}]:
			c.nodeErrorf(n, "branch-without-edge", "no edge begins branch %q", b.ID)
		}
		seen[b.ID] = true
	}
	c.oneOf(n, "fork.until", f.Until, "", UntilAll, UntilAny, UntilRace, UntilQuorum)
	c.oneOf(n, "fork.onFailure", f.OnFailure, "", FailFast, FailCollect, FailContinue)
	c.oneOf(n, "fork.shape", f.Shape, "", ShapeSteps, ShapeMap)
	c.negative(n, f.MaxConcurrency < 0, "fork.maxConcurrency")
	switch {
	case f.Until == UntilQuorum && (f.Quorum < 1 || f.Quorum > len(f.Branches)):
		c.nodeErrorf(n, "bad-quorum", "the quorum is %d of %d branches", f.Quorum, len(f.Branches))
	case f.Until != UntilQuorum && f.Quorum != 0:
		c.nodeErrorf(n, "bad-quorum", "has a quorum, but waits for %q", f.Until)
	}
}

// checkParents checks that nodes are in branches of existing forks or bodies of existing maps, that
// joins are in the same scope as their forks, and that edges stay within their branch: a branch is
// entered only through its fork's ports and left only through the fork's join. The engine's scopes
// depend on this.
func (c *checker) checkParents() {
	unrooted := c.cyclicParents()
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		if (n.Kind == KindFork || n.Kind == KindMap) && c.blocksAround(n) == MaxBlockDepth {
			c.nodeErrorf(n, "blocks-too-deep", "parallel blocks and maps are nested more than %d deep", MaxBlockDepth)
		}
		if n.Parent != "" {
			switch p := c.nodes[n.Parent]; {
			case p == nil:
				c.nodeErrorf(n, "bad-parent", "is in %q, which does not exist", n.Parent).Hint = c.similar(n.Parent,
					c.nodeIDs)
				continue
			case p.Kind != KindFork && p.Kind != KindMap:
				c.nodeErrorf(n, "bad-parent", "is in %q, which is neither a fork nor a map", n.Parent)
				continue
			case unrooted[n.ID]:
				c.nodeErrorf(n, "bad-parent", "is its own parent")
				continue
			}
		}
		if n.Kind == KindFork && n.Fork != nil {
			if j := c.nodes[n.Fork.Join]; j != nil && j.Join != nil && j.Join.Fork == n.ID && j.Parent != n.Parent {
				c.nodeErrorf(j, "bad-parent", "is in %q, its fork in %q", j.Parent, n.Parent)
			}
		}
	}
	for i, e := range c.w.Edges {
		from, to := c.nodes[e.From], c.nodes[e.To]
		if from == nil || to == nil {
			continue
		}
		span := c.w.Source.Edge(i)
		joined := "" // the fork whose join is To
		if to.Kind == KindJoin && to.Join != nil {
			joined = to.Join.Fork
		}
		switch {
		case c.begins[port{from.ID, e.PortName()}]:
			if to.Parent != from.ID && joined != from.ID {
				c.errorf(span, "branch-target", "branch %q of fork %q begins at %q, which is not in it", e.PortName(),
					from.ID, to.ID)
			}
		case joined != "":
			if from.Parent != joined {
				c.errorf(span, "edge-crosses-branch", "%q leads to the join of fork %q, but is in none of its branches",
					from.ID, joined)
			}
		case from.Parent != to.Parent:
			border := "a branch: a branch is entered by its fork and left by its join"
			if c.inMap(from) || c.inMap(to) {
				border = "a branch or of a map: an item begins at the entry of its map and ends where its path does"
			}
			c.errorf(span, "edge-crosses-branch", "the edge from %q to %q crosses the border of %s", from.ID, to.ID,
				border)
		}
	}
}

// blocksAround returns the number of forks and maps that contain n, counting up to one more than
// the limit.
func (c *checker) blocksAround(n *Node) int {
	depth := 0
	for n = c.nodes[n.Parent]; n != nil && depth <= MaxBlockDepth; n = c.nodes[n.Parent] {
		depth++
	}
	return depth
}

// cyclicParents returns the IDs of nodes whose chain of parents never ends.
func (c *checker) cyclicParents() map[string]bool {
	const (
		open = iota + 1
		ends
		loops
	)
	state := map[string]int{}
	bad := map[string]bool{}
	for i := range c.w.Nodes {
		var path []string
		id, result := c.w.Nodes[i].ID, ends
		for state[id] == 0 {
			state[id] = open
			path = append(path, id)
			n := c.nodes[id]
			if n.Parent == "" || c.nodes[n.Parent] == nil {
				break
			}
			id = n.Parent
			if state[id] == open || state[id] == loops {
				result = loops
			}
		}
		for _, id := range path {
			state[id] = result
			if result == loops {
				bad[id] = true
			}
		}
	}
	return bad
}
