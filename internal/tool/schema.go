package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxViolations bounds how many violations one message lists.
const maxViolations = 8

// schema checks arguments. The zero schema asks for an object and nothing more.
type schema struct{ compiled *jsonschema.Schema }

// noLoader refuses every reference to another document: a schema comes from a server, and the library's own loader would open files (SEC8).
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to another document: %s", url)
}

// compileSchema reads a tool's parameters. An error means that the schema is no use; the zero schema that comes with it still asks for an object.
func compileSchema(params json.RawMessage) (s schema, err error) {
	if len(bytes.TrimSpace(params)) == 0 || string(bytes.TrimSpace(params)) == "null" {
		return schema{}, nil
	}
	// A hostile schema must not end the process; the library panics on misuse.
	defer func() {
		if r := recover(); r != nil {
			s, err = schema{}, fmt.Errorf("compile schema: %v", r)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return schema{}, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	const name = "mem:///parameters.json"
	if err := c.AddResource(name, doc); err != nil {
		return schema{}, fmt.Errorf("read schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return schema{}, fmt.Errorf("compile schema: %w", err)
	}
	return schema{compiled}, nil
}

// anyPattern stands for a pattern that Go's regular expressions cannot say (look-ahead, say): it matches everything, and the tool itself judges.
type anyPattern string

func (anyPattern) MatchString(string) bool { return true }
func (p anyPattern) String() string        { return string(p) }

func compilePattern(p string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(p); err == nil {
		return re, nil
	}
	return anyPattern(p), nil
}

// check gives the arguments as an object ({} for none), or what is wrong with them, for the model to read.
func (s schema) check(args json.RawMessage) (_ json.RawMessage, problem string) {
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
		return nil, "arguments are not valid JSON: something follows the first value"
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, "arguments must be a JSON object, got " + jsonKind(v)
	}
	if s.compiled == nil {
		return args, ""
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return args, ""
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, "arguments do not fit the schema: " + err.Error()
	}
	var lines []string
	flatten(invalid, &lines)
	more := ""
	if n := len(lines) - maxViolations; n > 0 {
		lines, more = lines[:maxViolations], fmt.Sprintf("; and %d more", n)
	}
	return nil, "arguments do not fit the schema: " + strings.Join(lines, "; ") + more
}

// flatten lists the innermost violations, each with the path to the value.
func flatten(e *jsonschema.ValidationError, lines *[]string) {
	if len(e.Causes) > 0 {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			// The violations of every alternative would say more than helps; the first is the nearest to what was meant as often as not.
			flatten(e.Causes[0], lines)
			return
		}
		for _, c := range e.Causes {
			flatten(c, lines)
		}
		return
	}
	text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if at := instancePath(e.InstanceLocation); at != "" {
		text = at + ": " + text
	}
	*lines = append(*lines, text)
}

// instancePath writes a location as people do: items[0].name.
func instancePath(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		if _, err := strconv.Atoi(t); err == nil {
			b.WriteString("[" + t + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(t)
	}
	return b.String()
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
