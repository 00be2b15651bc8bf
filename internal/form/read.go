package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of problems with the inputs of a run.
const (
	CodeMissing = "missing-input"
	CodeUnknown = "unknown-input"
	CodeBad     = "bad-input"
)

// Read returns the object of the inputs of a run, with defaults, in the order of list, or every
// problem with them, each with the JSON pointer of the member as its path.
//
// named is an object, or nil. A text that is a JSON object also provides inputs by name. Any other
// non-empty text is the value of the only input of type string that is required and missing, else
// of the only missing input of that type. A null member counts as missing.
func Read(list []workflow.Input, text string, named json.RawMessage) (json.RawMessage, diag.List) {
	r := reading{list: list, fields: Inputs(list)}
	r.takeNamed(text, named)
	var out members
	for i := range list {
		if v := r.value(i); v != nil {
			out.set(list[i].Name, v)
		}
	}
	if r.problems.HasErrors() {
		return nil, r.summary()
	}
	return out.json(), nil
}

// summary returns the first problems, and the number of further ones.
func (r *reading) summary() diag.List {
	if more := len(r.problems) - maxListed; more > 0 {
		r.problems = r.problems[:maxListed:maxListed]
		r.errorf(CodeBad, "", "there are %d more problems with the inputs", more)
	}
	return r.problems
}

type reading struct {
	list     []workflow.Input
	fields   []Field
	given    members
	problems diag.List
}

func (r *reading) errorf(code, path, format string, args ...any) *diag.Diagnostic {
	return r.problems.Errorf(diag.Span{}, path, code, format, args...)
}

func (r *reading) takeNamed(text string, named json.RawMessage) {
	r.take(named)
	if m, ok := objectOf(json.RawMessage(text)); ok {
		r.takeAll(m)
	} else if strings.TrimSpace(text) != "" {
		r.takeText(text)
	}
}

func (r *reading) take(named json.RawMessage) {
	if named = bytes.TrimSpace(named); len(named) == 0 {
		return
	}
	m, ok := objectOf(named)
	if !ok {
		r.errorf(CodeBad, "", "the named inputs are not a JSON object")
		return
	}
	r.takeAll(m)
}

func (r *reading) takeAll(m members) {
	for _, x := range m.list {
		path := pointer(x.name)
		switch {
		case r.given.get(x.name) != nil:
			r.errorf(CodeBad, path, "the input %q is given twice", x.name).Hint = "leave one of them out"
		case r.find(x.name) == nil:
			d := r.errorf(CodeUnknown, path, "the workflow has no input %q", x.name)
			if len(r.problems) > maxListed {
				continue // only counted
			}
			if d.Hint = diag.DidYouMean(x.name, r.names()); d.Hint == "" {
				d.Hint = r.known()
			}
		case string(x.value) != "null":
			r.given.set(x.name, x.value)
		}
	}
}

// takeText assigns a text to the input that it is for.
func (r *reading) takeText(text string) {
	var must, may []string
	for i := range r.fields {
		f := &r.fields[i]
		if f.Type != "string" || r.given.get(f.Name) != nil {
			continue
		}
		may = append(may, f.Name)
		if f.Required {
			must = append(must, f.Name)
		}
	}
	if len(must) > 0 {
		may = must
	}
	if len(may) != 1 {
		r.errorf(CodeBad, "", "the workflow has named inputs, and a text alone is not the value of one of them").Hint =
			"name it; " + r.known()
		return
	}
	r.given.set(may[0], encode(text))
}

func (r *reading) find(name string) *Field {
	for i := range r.fields {
		if r.fields[i].Name == name {
			return &r.fields[i]
		}
	}
	return nil
}

func (r *reading) names() []string {
	var out []string
	for i := range r.fields {
		out = append(out, r.fields[i].Name)
	}
	return out
}

// known lists the inputs.
func (r *reading) known() string {
	if len(r.fields) == 0 {
		return "it has no named inputs"
	}
	var words []string
	for i := range r.fields {
		if i == 12 {
			words = append(words, "…")
			break
		}
		words = append(words, r.fields[i].Name+" ("+r.fields[i].Kind()+")")
	}
	return "the inputs are " + strings.Join(words, ", ")
}

// value returns the value of an input, or nil if there is none or it is not valid.
func (r *reading) value(i int) json.RawMessage {
	in, f := &r.list[i], &r.fields[i]
	v, path := r.given.get(in.Name), pointer(in.Name)
	switch {
	case v != nil:
	case f.Default != nil && in.File == nil:
		return f.Default // checked together with the document
	case in.Optional:
		return nil
	default:
		about := f.Kind()
		if f.Description != "" {
			about = f.Description + "; " + about
		}
		r.errorf(CodeMissing, path, "the input %q%s is missing", in.Name, f.titleSuffix()).Hint = about
		return nil
	}
	if in.File != nil {
		out, why, hint := readFile(in, v)
		if why != "" {
			r.errorf(CodeBad, path, "the input %q%s %s", in.Name, f.titleSuffix(), why).Hint = hint
		}
		return out
	}
	out, problems := Check(in, v)
	for _, p := range problems {
		at := ""
		if p.Path != "" {
			at = " at " + p.Path
		}
		r.errorf(CodeBad, path+p.Path, "the input %q%s%s %s", in.Name, f.titleSuffix(), at,
			p.Message).Hint = f.Description
	}
	return out
}

// Check returns the value of an input that is not a file, adapted to its schema, or the violations.
func Check(in *workflow.Input, v json.RawMessage) (json.RawMessage, []schema.Violation) {
	s, err := schema.Compile(in.Schema)
	if err != nil {
		return nil, []schema.Violation{{Message: fmt.Sprintf("cannot be checked: %s", err)}}
	}
	v, problems := convert(s, v)
	problems = append(problems, badFormat(in.Schema, v)...)
	if len(problems) > 0 {
		return nil, problems
	}
	return v, nil
}

// pointer returns the JSON pointer of a member.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Missing returns the required inputs that are missing.
func Missing(list []workflow.Input, text string, named json.RawMessage) []Field {
	r := newReading(list, text, named)
	return r.missing(func(f *Field) bool { return f.Required })
}

// Open returns the inputs that are missing, including those with a default.
func Open(list []workflow.Input, text string, named json.RawMessage) []Field {
	r := newReading(list, text, named)
	return r.missing(func(*Field) bool { return true })
}

func newReading(list []workflow.Input, text string, named json.RawMessage) *reading {
	r := &reading{list: list, fields: Inputs(list)}
	r.takeNamed(text, named)
	return r
}

func (r *reading) missing(match func(*Field) bool) []Field {
	var out []Field
	for i := range r.fields {
		if f := &r.fields[i]; r.given.get(f.Name) == nil && match(f) {
			out = append(out, *f)
		}
	}
	return out
}

// Take converts the line that a person typed to a value: one of the values of an enum or its
// number, yes and no, or a value that matches the schema. why describes what is wrong with it.
func (f *Field) Take(line string) (v json.RawMessage, why string) {
	if i, err := strconv.Atoi(line); err == nil && i > 0 && i <= len(f.Enum) && !f.hasEnum(line) {
		return f.Enum[i-1], ""
	}
	if f.Type == "boolean" {
		switch strings.ToLower(line) {
		case "y", "yes":
			line = "true"
		case "n", "no":
			line = "false"
		}
	}
	v = encode(line)
	// a schema that refers to the whole by $ref is checked with the whole
	if _, err := schema.Compile(f.Schema); err != nil {
		if inner := asJSON(line); inner != nil && f.Type != "string" {
			v = inner
		}
		return v, ""
	}
	v, problems := Check(&workflow.Input{Name: f.Name, Schema: f.Schema}, v)
	if len(problems) > 0 {
		return nil, problems[0].Message
	}
	return v, ""
}

// IsJSON reports whether a simple form asks for the field as JSON: lists, objects, and values of
// several types or of any type.
func (f *Field) IsJSON() bool {
	return len(f.Enum) == 0 && (f.Type == "array" || f.Type == "object" || f.Type == "")
}

// TakeJSON parses the value that a person wrote as JSON. why describes what is wrong with it.
func (f *Field) TakeJSON(text string) (v json.RawMessage, why string) {
	if v = asJSON(text); v == nil {
		return nil, "must be JSON: a text is in quotes"
	}
	s, err := schema.Compile(f.Schema)
	if err != nil { // as in Take
		return v, ""
	}
	if problems := s.Validate(v); len(problems) > 0 {
		return nil, problems[0].Message
	}
	return v, ""
}

// hasEnum reports whether a text is one of the enum's values.
func (f *Field) hasEnum(text string) bool {
	for _, v := range f.Enum {
		if string(v) == text || string(v) == string(encode(text)) {
			return true
		}
	}
	return false
}
