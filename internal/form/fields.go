package form

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// Field is one member of a form, for display.
type Field struct {
	Name string
	// Title and Description are for people; "" means none. Type is the schema's type, `file` for
	// files; "" means several types, or any.
	Title, Description, Type, Format string
	Default                          json.RawMessage // nil if there is none
	Enum                             []json.RawMessage
	// Required reports whether the member must be provided; a member with a default need not be.
	Required bool
	// File is set if the value is a file.
	File *workflow.FileInput
	// Schema is the schema of the value.
	Schema json.RawMessage
}

// TypeFile is the type name of files in documents.
const TypeFile = "file"

// object is the part of an object's JSON Schema that this package reads.
type object struct {
	Type       json.RawMessage `json:"type"`
	Properties members         `json:"properties"`
	Required   []string        `json:"required"`
}

type property struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members are the members of an object in order; of duplicate names the last one is kept.
type members struct {
	list []member
	at   map[string]int
}

// UnmarshalJSON implements json.Unmarshaler. Any value other than an object has no members.
func (m *members) UnmarshalJSON(data []byte) error {
	*m = members{}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		m.set(name.(string), v) //nolint:forcetypeassert // keys of objects are strings
	}
	return nil
}

func (m *members) get(name string) json.RawMessage {
	if i, ok := m.at[name]; ok {
		return m.list[i].value
	}
	return nil
}

func (m *members) set(name string, v json.RawMessage) {
	if i, ok := m.at[name]; ok {
		m.list[i].value = v
		return
	}
	if m.at == nil {
		m.at = map[string]int{}
	}
	m.at[name] = len(m.list)
	m.list = append(m.list, member{name, v})
}

// json returns the object.
func (m *members) json() json.RawMessage {
	out := []byte{'{'}
	for i, x := range m.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, encode(x.name)...), ':'), x.value...)
	}
	return append(out, '}')
}

// encode returns a value as JSON, without escaping HTML characters.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and JSON into a Buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// objectOf parses members; it returns false if v is not an object.
func objectOf(v json.RawMessage) (m members, ok bool) {
	v = bytes.TrimSpace(v)
	if len(v) == 0 || v[0] != '{' || !json.Valid(v) {
		return m, false
	}
	return m, json.Unmarshal(v, &m) == nil
}

// Fields returns the fields of the schema of an object in order; nil for any other schema.
func Fields(schema json.RawMessage) []Field {
	var o object
	if json.Unmarshal(schema, &o) != nil {
		return nil
	}
	required := make(map[string]bool, len(o.Required))
	for _, name := range o.Required {
		required[name] = true
	}
	var out []Field
	for _, p := range o.Properties.list {
		out = append(out, fieldOf(p.name, p.value, required[p.name]))
	}
	return out
}

// AnswerFields returns the fields of the schema of an answer. It returns nil if the schema is not
// an object schema or if a required member has no field, since fields alone cannot answer it.
func AnswerFields(schema json.RawMessage) []Field {
	var o object
	if json.Unmarshal(schema, &o) != nil || slices.ContainsFunc(o.Required, func(name string) bool {
		return o.Properties.get(name) == nil
	}) {
		return nil
	}
	return Fields(schema)
}

// Object returns the object of the values of fields, by name, in the order of fields. Fields
// without a value are left out.
func Object(fields []Field, values map[string]json.RawMessage) json.RawMessage {
	var out members
	for i := range fields {
		if v := values[fields[i].Name]; v != nil {
			out.set(fields[i].Name, v)
		}
	}
	return out.json()
}

func fieldOf(name string, schema json.RawMessage, required bool) Field {
	var p property
	_ = json.Unmarshal(schema, &p) // anything else is not displayed
	f := Field{Name: name, Title: p.Title, Description: p.Description, Format: p.Format, Default: p.Default,
		Enum: p.Enum, Required: required && p.Default == nil, Schema: schema}
	_ = json.Unmarshal(p.Type, &f.Type) // "" for a list of types
	if file := fileOf(schema); file != nil {
		f.Type, f.File = TypeFile, file
	}
	return f
}

// Inputs returns the fields of the inputs of a workflow, in order.
func Inputs(list []workflow.Input) []Field { return Fields(Schema(list)) }

// Label returns the title of the field, or its name.
func (f *Field) Label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

// titleSuffix returns the title, in parentheses, to follow the name of an input.
func (f *Field) titleSuffix() string {
	if f.Title == "" {
		return ""
	}
	return " (" + f.Title + ")"
}

// Kind describes the type of a value: `a text`, `one of "a", "b"`.
func (f *Field) Kind() string {
	if len(f.Enum) > 0 {
		text := "one of "
		for i, v := range f.Enum {
			if i == 8 {
				return text + ", …"
			}
			if i > 0 {
				text += ", "
			}
			text += string(v)
		}
		return text
	}
	word := map[string]string{
		"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
		"array": "a list", "object": "an object", TypeFile: "a file",
	}[f.Type]
	if word == "" {
		return "a value"
	}
	if f.Type == "string" && f.Format != "" {
		return "a " + f.Format
	}
	return word
}
