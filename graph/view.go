package graph

import (
	"encoding/json"
	"maps"

	"github.com/hocket-run/hocket/internal/program"
)

// View is the input of conditions, arguments, prompts, tasks and initial states of inner graphs:
// the state, and the outputs of the nodes that ended before, including people's answers. It is
// read-only, and valid only while the function that received it runs.
type View[S any] struct {
	// State is a copy.
	State S

	graph  outputReader
	seen   func() map[string]program.Value
	fields program.State
}

// outputReader returns outputs in the document's form; a compiler implements it.
type outputReader interface {
	outputs(map[string]program.Value, program.State) map[string]json.RawMessage
	outputsOf(program.Outputs, program.State) map[string]json.RawMessage
}

// Outputs returns the outputs of all visible nodes, by node id. The caller owns the map.
func (v View[S]) Outputs() map[string]json.RawMessage {
	if v.graph == nil || v.fields == nil {
		return nil
	}
	var raw map[string]program.Value
	if v.seen != nil {
		raw = v.seen()
	}
	return v.graph.outputs(raw, v.fields)
}

// Output returns the output of a node as JSON; the second result is false if the node had none, or
// if it is not visible: branches do not see each other. For a wait it is the answer.
func (v View[S]) Output(node string) (json.RawMessage, bool) {
	out, ok := v.Outputs()[node]
	return out, ok
}

// Text returns the output of a node as text: a string unchanged, any other value as JSON, and "" if
// there is none.
func (v View[S]) Text(node string) string {
	raw, _ := v.Output(node)
	return textOf(raw)
}

func textOf(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// View returns what conditions would see now, with the state as the function has changed it so far.
func (c *Context[S]) View() View[S] {
	v := View[S]{State: c.State, graph: c.graph, fields: c.fields}
	if c.seen != nil {
		v.seen = func() map[string]program.Value { return maps.Collect(c.seen.All()) }
	}
	return v
}

// view returns the view of a function called by the engine.
func (c *compiler[S]) view(v program.View) (View[S], error) {
	s, err := c.codec.decode(v.State)
	if err != nil {
		return View[S]{}, err
	}
	return View[S]{State: s, graph: c, seen: v.Outputs, fields: v.State}, nil
}
