// Package lost compares a workflow with what its document says about it, part by part.
//
// It does not know any format and does not guess what a difference means: a writer of documents
// describes that better if it can, and uses this package for the rest, so that nothing is lost
// silently (P29).
//
// The flow of [Compare]: fields of the workflow, its limits and rules; nodes and agents by id;
// edges by their ends and port; branches, each like a workflow; last, if no difference was found,
// the two as a whole. Fields are compared as their JSON: an empty list and none are the same.
//
// Invariant: two workflows between which Compare finds no difference have the same digest, apart
// from the name of the format.
package lost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hocket-run/hocket/workflow"
)

// Loss is one difference between two workflows.
type Loss struct {
	// At is the location: `node "x"`, `agent "x"`, `edge "x" -> "y"`, `branch "b": node "x"`,
	// `workflow`.
	At   string
	What string
}

// Kind returns the message that a format has no nodes of a node's kind.
func Kind(n *workflow.Node) string {
	if n.Join != nil && n.Join.Fork == "" {
		return "that the node behind it waits for all paths that lead to it"
	}
	return fmt.Sprintf("a node of kind %s", n.Kind)
}

// Node returns the location of a node.
func Node(id string) string { return "node " + strconv.Quote(id) }

// Agent returns the location of an agent.
func Agent(id string) string { return "agent " + strconv.Quote(id) }

// Edge returns the location of an edge.
func Edge(e workflow.Edge) string { return fmt.Sprintf("edge %q -> %q", e.From, e.To) }

func inBranch(id, at string) string { return fmt.Sprintf("branch %q: %s", id, at) }

// Compare lists everything in which w differs from back, in the order of w. It modifies neither.
func Compare(w, back *workflow.Workflow) []Loss {
	var out []Loss
	add := func(at, format string, args ...any) { out = append(out, Loss{at, fmt.Sprintf(format, args...)}) }
	rest, restBack := *w, *back
	for _, x := range []*workflow.Workflow{&rest, &restBack} {
		x.Format, x.Nodes, x.Edges, x.Agents, x.Branches, x.Called, x.Limits, x.Rules = "", nil, nil, nil, nil, nil,
			workflow.Limits{}, workflow.Rules{}
	}
	for key, d := range Fields(rest, restBack) {
		add("workflow", "%s", d.Text(key))
	}
	for key, d := range Fields(w.Limits, back.Limits) {
		add("workflow", "%s", "the limit "+d.Text(key))
	}
	for key, d := range Fields(w.Rules, back.Rules) {
		add("workflow", "%s", "the rule "+d.Text(key))
	}
	parts(w.Nodes, back.Nodes, func(n *workflow.Node) string { return n.ID }, Node, "node", &out)
	edges(w, back, &out)
	parts(w.Agents, back.Agents, func(a *workflow.Agent) string { return a.ID }, Agent, "agent", &out)
	out = append(out, branches(w, back)...)
	if len(out) == 0 && !same(w, back) {
		add("workflow", "the order of its parts")
	}
	return out
}

func same(w, back *workflow.Workflow) bool {
	a, b := *w, *back
	a.Format, b.Format, a.Called, b.Called = "", "", nil, nil // the nodes name the called files
	before, err1 := a.Canonical()
	after, err2 := b.Canonical()
	return err1 == nil && err2 == nil && bytes.Equal(before, after)
}

// parts compares two lists of parts by their ids.
func parts[T any](said, heard []T, id func(*T) string, at func(string) string, what string, out *[]Loss) {
	byID := map[string]*T{}
	for i := range heard {
		if k := id(&heard[i]); byID[k] == nil {
			byID[k] = &heard[i]
		}
	}
	for i := range said {
		k := id(&said[i])
		other := byID[k]
		if other == nil {
			*out = append(*out, Loss{at(k), "the " + what + " of this id"})
			continue
		}
		for key, d := range Fields(said[i], *other) {
			*out = append(*out, Loss{at(k), d.Text(key)})
		}
	}
	known := map[string]bool{}
	for i := range said {
		known[id(&said[i])] = true
	}
	for i := range heard {
		if k := id(&heard[i]); !known[k] {
			*out = append(*out, Loss{at(k), "that there is no " + what + " of this id"})
		}
	}
}

// edges compares edges by their ends and port, edges with the same ends and port in their order.
func edges(w, back *workflow.Workflow, out *[]Loss) {
	type way struct{ from, port, to string }
	left := map[way][]workflow.Edge{}
	for _, e := range back.Edges {
		k := way{e.From, e.PortName(), e.To}
		left[k] = append(left[k], e)
	}
	for _, e := range w.Edges {
		k := way{e.From, e.PortName(), e.To}
		if len(left[k]) == 0 {
			*out = append(*out, Loss{Edge(e), fmt.Sprintf("an edge by the port %q", e.PortName())})
			continue
		}
		other := left[k][0]
		left[k] = left[k][1:]
		for key, d := range Fields(e, other) {
			*out = append(*out, Loss{Edge(e), d.Text(key)})
		}
	}
	for _, e := range back.Edges {
		k := way{e.From, e.PortName(), e.To}
		for range left[k] {
			*out = append(*out, Loss{Edge(e), fmt.Sprintf("that no edge is there by the port %q", e.PortName())})
		}
		delete(left, k)
	}
}

func branches(w, back *workflow.Workflow) []Loss {
	var out []Loss
	byID := map[string]*workflow.Workflow{}
	for _, b := range back.Branches {
		if b != nil {
			byID[b.ID] = b
		}
	}
	for _, b := range w.Branches {
		if b == nil {
			continue
		}
		other := byID[b.ID]
		if other == nil {
			out = append(out, Loss{"workflow", fmt.Sprintf("the branch %q", b.ID)})
			continue
		}
		delete(byID, b.ID)
		for _, l := range Compare(b, other) {
			out = append(out, Loss{inBranch(b.ID, l.At), l.What})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, Loss{"workflow", fmt.Sprintf("that there is no branch %q", id)})
	}
	return out
}

// Difference is a field as the workflow has it and as the document has it, both as JSON; "" if it
// is absent.
type Difference struct{ Said, Heard string }

// maxText is the maximum length of a displayed value, in bytes.
const maxText = 200

// Text describes what is not expressed: `maxTurns 20`, or that a field is absent and what applies
// instead.
func (d Difference) Text(key string) string {
	if d.Said == "" {
		return fmt.Sprintf("absent %s: here it is %s", key, shown(d.Heard))
	}
	return key + " " + shown(d.Said)
}

func shown(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for len(s) > 0 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + "…"
}

// Fields returns the fields in which two values of one struct type differ, by their JSON names, in
// order. It descends into a nested struct if both have it: `agent.prompt.mode`.
func Fields(said, heard any) iter.Seq2[string, Difference] {
	return func(yield func(string, Difference) bool) { walk("", fields(said), fields(heard), yield) }
}

func walk(path string, a, b map[string]json.RawMessage, yield func(string, Difference) bool) bool {
	keys := map[string]bool{}
	for _, m := range []map[string]json.RawMessage{a, b} {
		for key := range m {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d := Difference{string(a[key]), string(b[key])}
		if d.Said == d.Heard {
			continue
		}
		x, y := object(a[key]), object(b[key])
		if x != nil && y != nil && len(path) < maxText {
			if !walk(path+key+".", x, y, yield) {
				return false
			}
			continue
		}
		if !yield(path+key, d) {
			return false
		}
	}
	return true
}

// object returns the members of a JSON object, or nil if raw is not an object.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

func fields(v any) map[string]json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return map[string]json.RawMessage{"value": nil} // invalid JSON, which Validate reports
	}
	return object(b.Bytes())
}
