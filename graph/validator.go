package graph

import "fmt"

// StateValidator checks states against schemas, as runs do with each attempt of a node (S2-61). The zero value has no schema of the graph. Safe for
// concurrent use.
type StateValidator struct {
	// Schema is the graph's, [Config.OutputSchema]; nil: every state fits.
	Schema *Schema
}

// FromGraphConfig makes the validator of graphs that are compiled with the Config.
func FromGraphConfig(c Config) StateValidator { return StateValidator{Schema: c.OutputSchema} }

// Validate checks a state, a struct or anything else that JSON can hold, against the graph's schema. The error is a *SchemaValidationError; another one
// where the state or the schema cannot be read.
func (v StateValidator) Validate(state any) error { return v.Schema.check("Graph state", state) }

// ValidateNodeInput checks what a node is given against its InputSchema; nil: everything fits. Errors are those of Validate.
func (v StateValidator) ValidateNodeInput(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.check(fmt.Sprintf("Node %q input", node), state)
}

// ValidateNodeOutput checks the state as a node changed it against its OutputSchema; nil: everything fits. Errors are those of Validate.
func (v StateValidator) ValidateNodeOutput(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.check(fmt.Sprintf("Node %q output", node), state)
}
