package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hocket-run/hocket/internal/schema"
)

// Schema is a JSON Schema. Compile reports a schema that cannot be parsed.
type Schema struct {
	compiled *schema.Schema
	err      error
}

// SchemaJSON parses a schema, draft 2020-12 unless the schema says otherwise. It cannot refer to
// other documents.
func SchemaJSON(text string) *Schema {
	s, err := schema.Compile(json.RawMessage(text))
	return &Schema{s, err}
}

// SchemaOf derives the schema of a Go type. Fields are required unless they have omitempty or
// omitzero, and no additional fields are allowed. A json.RawMessage accepts any value.
func SchemaOf[T any]() *Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return &Schema{err: err}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return &Schema{err: err}
	}
	return SchemaJSON(string(raw))
}

// String returns the schema as JSON, or "" if it cannot be parsed.
func (s *Schema) String() string {
	if s.compiled == nil {
		return ""
	}
	return string(s.compiled.Raw())
}

// unusable describes what is wrong with the schema itself; it returns "" if nothing is. A nil
// schema is valid.
func (s *Schema) unusable() string {
	switch {
	case s == nil:
		return ""
	case s.err != nil:
		return fmt.Sprintf("cannot be read: %v", s.err)
	case s.compiled == nil:
		return "is empty; make it with SchemaOf or SchemaJSON"
	}
	return ""
}

// Check checks a value against the schema; what is the prefix of the message, such as `Node "n"
// input`. Every value matches a nil schema. The error is a *[SchemaValidationError], or another
// error if the schema or the value cannot be parsed.
func (s *Schema) Check(what string, state any) error {
	switch {
	case s == nil:
		return nil
	case s.err != nil:
		return fmt.Errorf("read schema: %w", s.err)
	case s.compiled == nil:
		return errors.New("the schema is empty; make it with SchemaOf or SchemaJSON")
	}
	raw, err := encodeValue(state)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	return s.checkValue(what, raw)
}

// checkValue is like Check for any value.
func (s *Schema) checkValue(what string, raw json.RawMessage) error {
	if s == nil {
		return nil
	}
	violations := s.compiled.Validate(raw)
	if len(violations) == 0 {
		return nil
	}
	texts, problems := make([]string, len(violations)), make([]SchemaProblem, len(violations))
	for i, v := range violations {
		texts[i], problems[i] = v.Message, SchemaProblem(v)
		if path := strings.ReplaceAll(strings.TrimPrefix(v.Path, "/"), "/", "."); path != "" {
			texts[i] = path + ": " + v.Message
		}
	}
	return &SchemaValidationError{Message: fmt.Sprintf("%s validation failed: %s", what, strings.Join(texts, "; ")),
		Problems: problems}
}
