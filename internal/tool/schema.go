package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hocket-run/hocket/internal/schema"
)

// maxViolations is the maximum number of violations listed in one message.
const maxViolations = 8

// argumentSchema checks arguments. The zero argumentSchema only requires an object.
type argumentSchema struct{ compiled *schema.Schema }

// compileSchema compiles a tool's parameters, which a hostile server may have written (SEC17). An
// error means that they are unusable; the zero schema that is returned with it still requires an
// object.
func compileSchema(params json.RawMessage) (argumentSchema, error) {
	if len(bytes.TrimSpace(params)) == 0 || string(bytes.TrimSpace(params)) == "null" {
		return argumentSchema{}, nil
	}
	compiled, err := schema.CompileForeign(params)
	if err != nil {
		return argumentSchema{}, fmt.Errorf("compile schema: %w", err)
	}
	return argumentSchema{compiled}, nil
}

// check returns the arguments as an object ({} if there are none) as [schema.Schema.Fit] reads
// them, or a problem described for the model.
func (s argumentSchema) check(args json.RawMessage) (_ json.RawMessage, problem string) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, "arguments are not valid JSON: " + err.Error()
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, "arguments are not valid JSON: unexpected data after the first value"
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, "arguments must be a JSON object, got " + jsonKind(v)
	}
	if s.compiled == nil {
		return args, ""
	}
	args, violations := s.compiled.Fit(args)
	if len(violations) == 0 {
		return args, ""
	}
	more := ""
	if n := len(violations) - maxViolations; n > 0 {
		violations, more = violations[:maxViolations], fmt.Sprintf("; and %d more", n)
	}
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = v.String()
	}
	return nil, "arguments do not fit the schema: " + strings.Join(lines, "; ") + more
}

func jsonKind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	}
	return "null"
}
