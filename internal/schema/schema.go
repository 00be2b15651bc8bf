package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of schemas and values.
const (
	MaxSchemaBytes = 256 << 10 // length of a schema
	MaxValueBytes  = 8 << 20   // length of a value
	MaxDepth       = 100       // nesting of maps and lists together
	MaxExpansion   = 10_000    // subschemas that apply to one value, $ref followed: nested allOf and anyOf multiply
	MaxChain       = 200       // longest chain of such subschemas
	MaxWork        = 1_000_000 // steps to check a value: each subschema that meets a part, and see cost
	MaxViolations  = 100       // violations of one value
)

// ErrInvalid is wrapped by every error of Compile.
var ErrInvalid = errors.New("invalid JSON Schema")

// Schema is a compiled JSON Schema.
type Schema struct {
	raw  json.RawMessage
	root *jsonschema.Schema
}

// location is the URL under which the library knows a schema; `.invalid` never resolves, and
// nothing is loaded anyway.
const location = "https://schema.invalid/schema"

// noLoader rejects every reference to another document. The library's own loader would open files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema cannot refer to another document")
}

// Compile compiles a schema. raw is copied. Errors wrap [ErrInvalid] and contain the location in
// the schema as a JSON pointer.
func Compile(raw json.RawMessage) (s *Schema, err error) { return read(raw, newPattern) }

// CompileForeign is Compile for schemas written by a server, which may use the regular expressions
// of another language: a pattern that Go cannot parse matches everything.
func CompileForeign(raw json.RawMessage) (*Schema, error) { return read(raw, foreign) }

// pattern is a regular expression with the number of its states, which bounds the work for a byte.
type pattern struct {
	*regexp.Regexp
	states int
}

func newPattern(p string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, err
	}
	states := 1
	if parsed, err := syntax.Parse(p, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(parsed.Simplify()); err == nil {
			states = len(prog.Inst)
		}
	}
	return pattern{re, states}, nil
}

// anyPattern stands for a pattern that cannot be parsed.
type anyPattern string

func (anyPattern) MatchString(string) bool { return true }
func (p anyPattern) String() string        { return string(p) }

func foreign(p string) (jsonschema.Regexp, error) {
	if re, err := newPattern(p); err == nil {
		return re, nil
	}
	return anyPattern(p), nil
}

// read compiles a schema, using engine for its patterns.
func read(raw json.RawMessage, engine jsonschema.RegexpEngine) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil { // the library's metaschema check should prevent this
			s, err = nil, fmt.Errorf("%w: %v", ErrInvalid, r)
		}
	}()
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("%w: it has %d bytes; the limit is %d", ErrInvalid, len(raw), MaxSchemaBytes)
	}
	doc, problem := decode(raw)
	if problem != "" {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(location, doc); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, formatError(err))
	}
	root, err := c.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, formatError(err))
	}
	switch weight, chain := expansion(root); {
	case chain > MaxChain:
		return nil, fmt.Errorf("%w: its $ref, allOf, anyOf and oneOf form a chain of more than %d; that is the limit",
			ErrInvalid, MaxChain)
	case weight > MaxExpansion:
		return nil,
			fmt.Errorf("%w: its allOf, anyOf, oneOf and $ref stand for more than %d subschemas at one place; that is "+
				"the limit", ErrInvalid, MaxExpansion)
	}
	return &Schema{raw: bytes.Clone(raw), root: root}, nil
}

// Raw returns the schema as it was written. The Schema owns the bytes.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// formatError formats an error of the library without the placeholder URL.
func formatError(err error) string {
	var mismatch *jsonschema.SchemaValidationError
	var tree *jsonschema.ValidationError
	if errors.As(err, &mismatch) && errors.As(mismatch.Err, &tree) {
		var lines []string
		for _, v := range flatten(tree) {
			lines = append(lines, v.String())
			if len(lines) == 3 {
				break
			}
		}
		return strings.Join(lines, "; ")
	}
	text := strings.ReplaceAll(err.Error(), location, "")
	return strings.ReplaceAll(text, "https://schema.invalid/", "")
}

// decode decodes one JSON value within the limits. problem is "" on success.
func decode(raw json.RawMessage) (v any, problem string) {
	if tooDeep(raw) {
		return nil, fmt.Sprintf("maps and lists are nested more than %d deep; that is the limit", MaxDepth)
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(raw, new(json.RawMessage)); errors.As(err, &syntax) {
		return nil, fmt.Sprintf("it is not JSON: %s at byte %d", err, syntax.Offset)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, "it is not JSON: " + err.Error()
	}
	if n, ok := hugeNumber(v); ok {
		return nil, fmt.Sprintf("the number %.20s… is out of range", n)
	}
	return v, ""
}

// tooDeep reports whether raw nests more than MaxDepth deep, ignoring brackets inside strings.
func tooDeep(raw []byte) bool {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			if level++; level > MaxDepth {
				return true
			}
		case b == '}' || b == ']':
			level--
		}
	}
	return false
}

// hugeNumber finds a number that does not fit in a float64 or that has hundreds of digits: the
// library computes with exact fractions, and 1e999999 has a million digits.
func hugeNumber(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		if len(v) > 400 {
			return v, true
		}
		if _, err := v.Float64(); err != nil {
			return v, true
		}
		if i := strings.IndexAny(string(v), "eE"); i >= 0 && len(v)-i > 5 { // e-999999 is a float64, zero
			return v, true
		}
	case []any:
		for _, x := range v {
			if n, ok := hugeNumber(x); ok {
				return n, true
			}
		}
	case map[string]any:
		for _, x := range v {
			if n, ok := hugeNumber(x); ok {
				return n, true
			}
		}
	}
	return "", false
}
