package graph

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

func (c *compiler[S]) problem(at diag.Span, code, format string, args ...any) *diag.Diagnostic {
	return c.problems.Errorf(at, "", code, "%s", fmt.Sprintf(format, args...))
}

func (c *compiler[S]) checkConfig() {
	for _, text := range lossy(c.stateType()) {
		c.problem(c.at, "lossy-state", "%s", text)
	}
	if isSet, n := numberSetting(c.config.MaxConcurrency); isSet && n < 1 {
		c.problem(c.at, "bad-limit", "Config.MaxConcurrency is %d; it must be at least 1", n)
	}
	if _, n := numberSetting(c.config.MaxSteps); n < 0 {
		c.problem(c.at, "bad-limit", "Config.MaxSteps is %d; it must not be negative", n)
	}
	if c.config.Timeout < 0 {
		c.problem(c.at, "bad-limit", "Config.Timeout is %s; it must not be negative", c.config.Timeout)
	}
	for _, text := range limitErrors(c.config.Limits) {
		c.problem(c.at, "bad-limit", "Config.Limits: %s", text)
	}
	if p := c.config.ContextWindowThreshold; !percentage(p) {
		c.problem(c.at, "bad-limit", "Config.ContextWindowThreshold is %v; it must be between 0 and 100", p)
	}
	c.checkSchema(c.at, "OutputSchema of the graph", c.config.OutputSchema)
	fields := stateFields(c.stateType())
	names := slices.Sorted(maps.Keys(fields))
	for _, name := range names {
		if reserved(name) {
			c.problem(c.at, "reserved-field", "State field %q: this name is reserved", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Reducers)) {
		r := c.config.Reducers[name]
		switch t, ok := fields[name]; {
		case !ok:
			c.problem(c.at, "unknown-field", "Reducer for %q: the state has no such field",
				name).Hint = diag.DidYouMean(name, names)
		case r.fits == nil:
			c.problem(c.at, "bad-reducer", "Reducer for %q is empty", name)
		default:
			if text := r.fits(t); text != "" {
				c.problem(c.at, "bad-reducer", "Reducer for %q %s; the field is of type %s", name, text, t)
			}
		}
	}
}

// limitErrors returns the errors in limits, using the names of their Go fields.
func limitErrors(l Limits) (out []string) {
	var found diag.List
	if !errors.As(workflow.CheckLimits(l.lowered()), &found) {
		return nil
	}
	for _, d := range found {
		text := strings.TrimPrefix(d.Message, "limits.")
		out = append(out, strings.ToUpper(text[:1])+text[1:])
	}
	return out
}

// percentage reports whether p is between 0 and 100; NaN is not.
func percentage(p float64) bool { return p >= 0 && p <= 100 }

func (c *compiler[S]) checkSchema(at diag.Span, what string, s *Schema) {
	if text := s.unusable(); text != "" {
		c.problem(at, "bad-schema", "The %s %s", what, text)
	}
}

func (c *compiler[S]) checkNode(d *def[S]) {
	if strings.ContainsRune(d.id, '/') {
		c.problem(d.at, "bad-id", "Node ID %q must not contain a slash", d.id)
	}
	c.checkSchema(d.at, fmt.Sprintf("InputSchema of node %q", d.id), d.opts.InputSchema)
	c.checkSchema(d.at, fmt.Sprintf("OutputSchema of node %q", d.id), d.opts.OutputSchema)
	if d.await != nil {
		c.checkSchema(d.at, fmt.Sprintf("Schema of await node %q", d.id), d.await.schema)
	}
	if b := d.opts.Budget; b != (Budget{}) {
		for _, text := range limitErrors(Limits{Budget: b}) {
			c.problem(d.at, "bad-budget", "Node %q: invalid budget: %s", d.id, text)
		}
		switch d.shape {
		case shapePass, shapeIf, shapeRoutes, shapeWait, shapeAwait, shapeSleep, shapeLoopStart, shapeLoopCheck:
			c.problem(d.at, "bad-budget", "Node %q has a budget, but calls no model and no tool", d.id)
		}
	}
	switch t := d.opts.Timeout; {
	case t < 0 || workflow.Duration(t) > workflow.MaxDuration:
		c.problem(d.at, "bad-limit", "Node %q: Timeout is %s; it must be between 0 and ten years", d.id, t)
	case t > 0 && d.passesInputThrough():
		c.problem(d.at, "bad-limit", "Node %q has a Timeout, but does no work that could take long", d.id)
	}
	for _, t := range d.times() {
		if t.is < 0 || workflow.Duration(t.is) > workflow.MaxDuration {
			c.problem(d.at, "bad-limit", "Node %q: %s is %s; it must be between 0 and ten years", d.id, t.name, t.is)
		}
	}
	if fn := d.opts.OnError.fn; fn != nil {
		if _, ok := fn.(func(error, *Context[S]) ErrorAction[S]); !ok {
			c.problem(d.at, "bad-node", "Node %q: OnError has a function of the type %T; the state of the graph is %s",
				d.id, fn, c.stateType())
		}
	}
	if r := d.opts.Retry; r.isSet() {
		if isSet, n := numberSetting(r.MaxAttempts); isSet && n < 1 {
			c.problem(d.at, "bad-retry",
				"Node %q: MaxAttempts is %d; it counts the first attempt and must be at least 1", d.id, n)
		}
		if _, d0 := numberSetting(r.Backoff); d0 < 0 {
			c.problem(d.at, "bad-retry", "Node %q: the backoff is negative", d.id)
		}
		if r.Multiplier < 0 || math.IsNaN(r.Multiplier) || r.Multiplier > 1e6 {
			c.problem(d.at, "bad-retry", "Node %q: the multiplier of the backoff must be between 0 and 1,000,000", d.id)
		}
	}
}

// timed is a duration set on a node, with the name of its field.
type timed struct {
	name string
	is   time.Duration
}

// times returns the durations of a node that waits.
func (d *def[S]) times() []timed {
	switch {
	case d.wait != nil:
		return []timed{{"Deadline", d.wait.deadline}, {"RemindAfter", d.wait.remind}}
	case d.await != nil:
		return []timed{{"Deadline", d.await.deadline}}
	case d.sleep != nil:
		return []timed{{"For", d.sleeps}}
	}
	return nil
}

// checkTargets checks that the targets of branches and decisions are nodes.
func (c *compiler[S]) checkTargets() {
	ids := make([]string, len(c.nodes))
	for i, d := range c.nodes {
		ids[i] = d.id
	}
	for _, e := range c.edges {
		if c.index[e.To] != nil {
			continue
		}
		p := c.problem(e.at, "unknown-node", "Node %q not found in graph; it is a target of %q", e.To, e.From)
		if c.index[e.From].shape == shapeParallel {
			p.Message = fmt.Sprintf("Parallel node %q: branch %q is not a node of the graph", e.From, e.To)
		}
		p.Hint = diag.DidYouMean(e.To, ids)
	}
	for _, d := range c.nodes {
		if d.parallel == nil {
			continue
		}
		for i, br := range d.parallel.Branches {
			// a failed block would treat the branch as its error edge
			if br == workflow.PortError || br == workflow.PortLimit {
				c.problem(d.at, "reserved-branch", "Parallel node %q: a branch cannot be called %q", d.id, br)
			}
			if slices.Contains(d.parallel.Branches[:i], br) {
				c.problem(d.at, "duplicate-branch", "Parallel node %q has the duplicate branch %q", d.id, br)
			}
		}
	}
}

// place determines for each node the parallel block and branch that contain it.
func (c *compiler[S]) place() {
	heads := map[string]bool{}
	led := map[string]bool{}
	for _, e := range c.edges {
		led[e.To] = true
		if c.branches(e) {
			heads[e.To] = true
		}
	}
	c.placeAt(c.start, place{})
	for _, d := range c.nodes {
		if !led[d.id] && !heads[d.id] {
			c.placeAt(d.id, place{})
		}
	}
	for _, d := range c.nodes { // cycles that nothing leads into
		c.placeAt(d.id, c.places[d.id])
	}
}

// branches reports whether an edge starts a branch of a parallel block.
func (c *compiler[S]) branches(e edge[S]) bool {
	d := c.index[e.From]
	return d != nil && d.shape == shapeParallel && e.port != ""
}

// place is the location of a node: a branch of a parallel block, or the main flow, for which both
// fields are "".
type place struct{ parent, branch string }

func (p place) String() string {
	if p.parent == "" {
		return "in the main flow"
	}
	return fmt.Sprintf("in branch %q of %q", p.branch, p.parent)
}

// placeAt places a node and all its successors into a branch.
func (c *compiler[S]) placeAt(id string, at place) {
	type visit struct {
		id string
		at place
	}
	for todo := []visit{{id, at}}; len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		d := c.index[v.id]
		if d == nil {
			continue
		}
		if was, placed := c.places[v.id]; placed {
			if was != v.at {
				c.problem(d.at, "two-places", "Node %q is both %s and %s; a node belongs to one of them only", v.id,
					was, v.at)
			}
			continue
		}
		c.places[v.id], c.parent[v.id] = v.at, v.at.parent
		if d.parallel != nil && c.depth(v.id) == workflow.MaxBlockDepth {
			c.problem(d.at, "blocks-too-deep", "parallel blocks are nested more than %d deep", workflow.MaxBlockDepth)
		}
		for _, e := range slices.Backward(c.edges) {
			switch {
			case e.From != v.id:
			case c.branches(e):
				todo = append(todo, visit{e.To, place{v.id, e.port}})
			default:
				todo = append(todo, visit{e.To, v.at})
			}
		}
	}
}

// crosses returns an error if a node cannot go to another one because they are in different
// branches of the same block. It returns nil if it can, or if the engine reports the reason.
func (c *compiler[S]) crosses(from, to string) error {
	a, b := c.places[from], c.places[to]
	if c.index[to] == nil || a.parent != b.parent || a.branch == b.branch {
		return nil
	}
	return &routeError{from, to}
}
