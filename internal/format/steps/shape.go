package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/schema"
)

// answerSchema returns the schema of the reply of a step of that agent: the agent's schema, or nil
// if the agent may hand off to one with a different schema, so that nothing is known before it runs
// (S4-17).
func (r *reader) answerSchema(name string) *schema.Schema {
	own := r.outputSchema(name)
	if own == nil {
		return nil
	}
	todo, seen := []string{name}, map[string]bool{name: true}
	for len(todo) > 0 {
		a := r.agentOf(todo[0])
		todo = todo[1:]
		if a == nil {
			continue
		}
		if a.Output == nil || !bytes.Equal(a.Output.Schema, r.agentOf(name).Output.Schema) {
			return nil
		}
		for _, id := range a.Handoffs {
			if !seen[id] {
				seen[id] = true
				todo = append(todo, id)
			}
		}
	}
	return own
}

// outputSchema compiles the schema of an agent's structured output. It returns nil if the agent has
// no schema or one that was reported.
func (r *reader) outputSchema(name string) *schema.Schema {
	info := r.agents[name]
	a := r.agentOf(name)
	if info == nil || a == nil || a.Output == nil {
		return nil
	}
	if !info.compiled {
		info.compiled = true
		s, err := schema.Compile(a.Output.Schema)
		if err != nil {
			text := strings.TrimPrefix(err.Error(), schema.ErrInvalid.Error()+": ")
			if !errors.Is(err, schema.ErrInvalid) {
				text = err.Error()
			}
			span, path := info.span, info.path
			if info.schema != nil {
				span, path = info.schema.Span, info.schema.Path()
			}
			r.diags.Errorf(span, path, codeBadSchema, "agent %q: structured_output has an invalid schema: %s", name,
				text)
			return nil
		}
		info.output = s
	}
	return info.output
}

// properties returns the first element of path that the schema does not declare, and the names that
// the schema declares there, for a hint. It considers plain properties only.
func properties(raw json.RawMessage, path []string) (missing string, have []string) {
	at := raw
	for _, seg := range path {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(at, &s) != nil || len(s.Properties) == 0 {
			return "", nil
		}
		sub, ok := s.Properties[seg]
		if !ok {
			return seg, slices.Sorted(maps.Keys(s.Properties))
		}
		at = sub
	}
	return "", nil
}
