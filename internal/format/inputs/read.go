package inputs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of this package's diagnostics.
const (
	codeWrongType  = "wrong-type"
	codeUnknownKey = "unknown-key"
	codeBadInput   = "bad-input"
	codeBadSchema  = "bad-schema"
)

// Report receives diagnostics; formats implement it.
type Report interface {
	Errorf(span diag.Span, path, code, format string, args ...any) *diag.Diagnostic
}

// kinds are the values of `type`, Keys the keys of an input.
var (
	kinds = []string{"string", "number", "integer", "boolean", "array", "object", form.TypeFile}
	Keys  = []string{
		"type", "title", "description", "default", "enum", "format", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"items", "minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties", "optional",
		"mediaTypes", "maxBytes",
	}
	// otherTypes maps type names from other languages to the types.
	otherTypes = map[string]string{
		"str": "string", "text": "string", "int": "integer", "float": "number", "double": "number", "decimal": "number",
		"bool": "boolean",
		"list": "array", "dict": "object", "map": "object", "json": "object",
	}
	fileKeys = []string{"type", "title", "description", "optional", "mediaTypes", "maxBytes"}
)

// Read reads `inputs`. Anything that it reports is left out.
func Read(n *source.Node, report Report) []workflow.Input {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.Map {
		report.Errorf(n.Span, n.Path(), codeWrongType, "inputs must be a map of names to what they are, got %s",
			n.Kind).Hint = "for example `inputs: {city: {type: string, title: City}}`"
		return nil
	}
	if properties := wholeSchema(n); properties != nil {
		report.Errorf(n.Get("type").Span, n.Path(), codeBadInput,
			"inputs is a map of names, not the JSON Schema of an object").Hint = "leave out `type` and `properties`: " +
			"`inputs: {city: {type: string}}`; an input with `default`, or with `optional: true`, may be left out"
		n = properties
	}
	if len(n.Entries) > workflow.MaxInputs {
		report.Errorf(n.Span, n.Path(), codeBadInput, "there are %d inputs; the limit is %d", len(n.Entries),
			workflow.MaxInputs)
		return nil
	}
	var out []workflow.Input
	for _, e := range n.Entries {
		if !workflow.IsInputName(e.Key) {
			report.Errorf(e.KeySpan, e.Value.Path(), codeBadInput, "%q cannot be the name of an input",
				e.Key).Hint = "use letters, digits and _, at most 64, and no digit first"
			continue
		}
		r := reader{report: report, name: e.Key, node: e.Value, key: e.KeySpan}
		if in := r.input(); in != nil {
			out = append(out, *in)
		}
	}
	return out
}

// Names returns the names of the inputs, including those with errors.
func Names(n *source.Node) []string {
	if properties := wholeSchema(n); properties != nil {
		n = properties
	}
	var names []string
	for _, e := range n.Entries {
		names = append(names, e.Key)
	}
	return names
}

// wholeSchema returns the properties of inputs that are written as the JSON Schema of an object, or
// nil if they are not. Inputs may also be named `type` and `properties`; then `properties` has only
// keys of an input.
func wholeSchema(n *source.Node) *source.Node {
	t, p := n.Get("type"), n.Get("properties")
	if t == nil || t.Text != "object" || p == nil || p.Kind != source.Map {
		return nil
	}
	if slices.ContainsFunc(p.Entries, func(e source.Entry) bool { return !slices.Contains(Keys, e.Key) }) {
		return p
	}
	return nil
}

// Schema reads the schema of the output.
func Schema(n *source.Node, report Report) json.RawMessage {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.Map {
		report.Errorf(n.Span, n.Path(), codeWrongType, "output_schema must be a map, got %s", n.Kind)
		return nil
	}
	raw := n.JSON()
	if _, err := schema.Compile(raw); err != nil {
		report.Errorf(n.Span, n.Path(), codeBadSchema, "output_schema: %s", plain(err))
		return nil
	}
	return raw
}

func plain(err error) string { return strings.TrimPrefix(err.Error(), schema.ErrInvalid.Error()+": ") }

// reader reads one input.
type reader struct {
	report Report
	name   string
	node   *source.Node
	key    diag.Span
	bad    bool
}

func (r *reader) errorf(n *source.Node, code, format string, args ...any) *diag.Diagnostic {
	r.bad = true
	span, path := r.key, r.node.Path()
	if n != nil {
		span, path = n.Span, n.Path()
	}
	return r.report.Errorf(span, path, code, "input %q: %s", r.name, fmt.Sprintf(format, args...))
}

// input reads a map, a bare type name, or nothing, which means a string.
func (r *reader) input() *workflow.Input {
	in := &workflow.Input{Name: r.name}
	switch {
	case r.node.IsNull():
		in.Schema = json.RawMessage(`{"type":"string"}`)
		return in
	case r.node.IsScalar():
		typ := r.typeOf(r.node)
		if r.bad {
			return nil
		}
		if typ == form.TypeFile {
			in.Schema, in.File = json.RawMessage(`{}`), &workflow.FileInput{}
			return in
		}
		in.Schema = json.RawMessage(fmt.Sprintf(`{"type":%q}`, typ))
		return in
	case r.node.Kind != source.Map:
		r.errorf(nil, codeWrongType, "it must be a map or a type, got %s", r.node.Kind)
		return nil
	}
	typ := ""
	if t := r.node.Get("type"); t != nil {
		typ = r.typeOf(t)
	}
	if typ == form.TypeFile {
		in.File = &workflow.FileInput{}
	}
	var s []source.Entry
	if typ == "" && r.node.Get("enum") == nil && !r.bad {
		s = append(s, source.Entry{Key: "type", Value: &source.Node{Kind: source.String, Text: "string"}})
	}
	for _, e := range r.node.Entries {
		if r.entry(in, e) {
			s = append(s, e)
		}
	}
	if r.bad {
		return nil
	}
	in.Schema = (&source.Node{Kind: source.Map, Entries: s}).JSON()
	r.check(in)
	if r.bad {
		return nil
	}
	return in
}

func (r *reader) typeOf(n *source.Node) string {
	if n.Kind != source.String || !slices.Contains(kinds, n.Text) {
		hint := diag.DidYouMean(n.Text, kinds)
		if t := otherTypes[strings.ToLower(n.Text)]; t != "" {
			hint = "write " + t
		}
		r.errorf(n, codeBadInput, "unknown type %q; the types are %s", n.Text, strings.Join(kinds, ", ")).Hint = hint
		return ""
	}
	return n.Text
}

// entry reads a key; it returns true if the key is part of the JSON Schema.
func (r *reader) entry(in *workflow.Input, e source.Entry) bool {
	known := Keys
	if in.File != nil {
		known = fileKeys
	}
	if !slices.Contains(known, e.Key) {
		d := r.report.Errorf(e.KeySpan, e.Value.Path(), codeUnknownKey, "input %q has no key %q", r.name, e.Key)
		if d.Hint = diag.DidYouMean(e.Key, known); d.Hint == "" {
			d.Hint = "the keys are " + strings.Join(known, ", ")
		}
		return false
	}
	switch e.Key {
	case "type":
		return in.File == nil
	case "optional":
		b, ok := e.Value.Bool()
		if !ok {
			r.errorf(e.Value, codeWrongType, "optional must be true or false")
		}
		in.Optional = b
		return false
	case "mediaTypes", "maxBytes":
		if in.File == nil {
			r.errorf(e.Value, codeBadInput, "%s is for files alone", e.Key).Hint = "write `type: file`"
			return false
		}
		r.file(in.File, e)
		return false
	case "title", "description", "format", "pattern":
		if !e.Value.IsScalar() || e.Value.IsNull() {
			r.errorf(e.Value, codeWrongType, "%s must be a text", e.Key)
		}
		if f := e.Value.Text; e.Key == "format" && !slices.Contains(form.Formats(), f) {
			r.errorf(e.Value, codeBadInput, "unknown format %q; the formats are %s", f,
				strings.Join(form.Formats(), ", ")).Hint = diag.DidYouMean(f, form.Formats())
		}
	case "enum":
		if e.Value.Kind != source.List || len(e.Value.Items) == 0 {
			r.errorf(e.Value, codeWrongType, "enum must be a list of at least one value")
		}
	case "items", "properties", "additionalProperties":
		r.rejectReferences(e.Value)
	}
	return true
}

// references are the JSON Schema keys with which schemas refer to each other.
var references = []string{"$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor",
	"$recursiveAnchor"}

// rejectReferences checks that a part of the schema refers to no other part: the schema of an input
// becomes a part of the schema of all inputs, where a reference would mean something else.
func (r *reader) rejectReferences(n *source.Node) {
	for _, e := range n.Entries {
		if e.Value.IsScalar() && slices.Contains(references, e.Key) {
			r.errorf(e.Value, codeBadSchema, "%s is not possible in the schema of an input",
				e.Key).Hint = "write out what it refers to"
			continue
		}
		r.rejectReferences(e.Value)
	}
	for _, item := range n.Items {
		r.rejectReferences(item)
	}
}

func (r *reader) file(f *workflow.FileInput, e source.Entry) {
	if e.Key == "maxBytes" {
		n, ok := e.Value.Int()
		if !ok || n < 1 || n > workflow.MaxFileBytes {
			r.errorf(e.Value, codeBadInput, "maxBytes must be between 1 and %d", workflow.MaxFileBytes)
		}
		f.MaxBytes = n
		return
	}
	items := []*source.Node{e.Value}
	if e.Value.Kind == source.List {
		items = e.Value.Items
	}
	for _, n := range items {
		if kind, sub, ok := strings.Cut(n.Text, "/"); n.Kind != source.String || !ok || kind == "" || sub == "" {
			r.errorf(n, codeBadInput, "%q is no media type", n.Text).Hint = "for example application/pdf or text/*"
			continue
		}
		f.MediaTypes = append(f.MediaTypes, n.Text)
	}
}

// check checks that the schema is valid and that the default matches it.
func (r *reader) check(in *workflow.Input) {
	if _, err := schema.Compile(in.Schema); err != nil {
		r.errorf(nil, codeBadSchema, "invalid schema: %s", plain(err))
		return
	}
	def := r.node.Get("default")
	if def == nil {
		return
	}
	if in.Optional {
		r.errorf(def, codeBadInput, "an input with a default is never missing").Hint = "leave optional out"
	}
	given := def.JSON()
	out, problems := form.Check(in, given)
	switch {
	case len(problems) > 0:
		r.errorf(def, codeBadInput, "the default %s", problems[0].Message)
	case string(out) != string(given):
		what := "one of the values"
		if t := r.node.Get("type"); t != nil {
			what = "of the type " + t.Text
		}
		r.errorf(def, codeBadInput, "the default %s is not %s", given, what).Hint = "write " + string(out)
	}
}

// Words returns the words of expressions, for editors: [part.KeyWords] of the schema of a format
// that has expressions.
func Words() part.Object {
	w := expr.WordsOf(workflow.DefaultItem, workflow.DefaultItem+"_index")
	return part.Object{"fields": w.Fields, "variables": w.Variables, "tokens": w.Tokens,
		"functions": celexpr.Functions()}
}
