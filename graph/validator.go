package graph

import "fmt"

// validator checks states against schemas with each attempt of a node.
type validator struct{ schema *Schema }

func (v validator) state(state any) error { return v.schema.Check("Graph state", state) }

func (v validator) input(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.Check(fmt.Sprintf("Node %q input", node), state)
}

func (v validator) output(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.Check(fmt.Sprintf("Node %q output", node), state)
}
