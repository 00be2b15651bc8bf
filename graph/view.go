package graph

import (
	"encoding/json"
	"maps"

	"github.com/hocket-run/hocket/internal/program"
)

// View is what conditions, arguments, prompts, tasks and first states of inner graphs are made of: the state, and the outputs of the nodes that ended before,
// among them people's answers. It is for reading, while the function that got it runs.
type View[S any] struct {
	// State is a copy.
	State S

	graph  sight
	seen   func() map[string]program.Value
	fields program.State
}

// sight shows outputs as the document has them: a compiler.
type sight interface {
	outputs(map[string]program.Value, program.State) map[string]json.RawMessage
	outputsOf(program.Outputs, program.State) map[string]json.RawMessage
}

// Outputs gives the outputs of all nodes that can be seen, by node id. It is the caller's own.
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

// Output gives the output of a node as JSON; false where it gave none, or where it cannot be seen: branches do not see each other (P42). For a wait it is the
// answer.
func (v View[S]) Output(node string) (json.RawMessage, bool) {
	out, ok := v.Outputs()[node]
	return out, ok
}

// Text gives the output of a node as text: a string as it is, any other value as JSON, "" for none.
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

// View gives what conditions would see now, with the state as the function changed it by now.
func (c *Context[S]) View() View[S] {
	v := View[S]{State: c.State, graph: c.graph, fields: c.fields}
	if c.seen != nil {
		v.seen = func() map[string]program.Value { return maps.Collect(c.seen.All()) }
	}
	return v
}

// view makes what a function of the engine sees.
func (c *compiler[S]) view(v program.View) (View[S], error) {
	s, err := c.codec.decode(v.State)
	if err != nil {
		return View[S]{}, err
	}
	return View[S]{State: s, graph: c, seen: v.Outputs, fields: v.State}, nil
}
