package adapter

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// maxFlat is the maximum number of subschemas that are merged into the top of a tool's schema.
const maxFlat = 1000

// formats are the formats that providers know. Others become part of a description.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}

var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// ToolSchema returns the parameters of a tool in a form that every provider accepts, and that
// accepts at least the same arguments. At the top there is an object with properties: a $ref is
// followed, and the alternatives of anyOf, oneOf and allOf are merged. Below, a list has items, an
// object has properties, and keywords that are not valid in draft 2020-12 are removed or written in
// its form. What the schema loses is still checked before a call.
func ToolSchema(raw json.RawMessage) map[string]any {
	f := flattener{root: Object(raw)}
	out := f.flat(f.root)
	for _, name := range []string{"$schema", "$id", "id"} {
		delete(out, name)
	}
	clean(out)
	return out
}

// flattener merges the alternatives of a schema.
type flattener struct {
	root  map[string]any
	steps int
}

// flat returns the schema of an object that accepts all objects that schema accepts.
func (f *flattener) flat(schema any) map[string]any {
	from, _ := schema.(map[string]any)
	f.steps++
	out := map[string]any{}
	maps.Copy(out, from)
	own, _ := from["properties"].(map[string]any)
	properties := map[string]any{}
	maps.Copy(properties, own)
	required := texts(from["required"])
	both := slices.Clip(list(from["allOf"]))
	if ref, ok := from["$ref"].(string); ok {
		both = append(both, f.target(ref))
	}
	for _, part := range both {
		if f.steps > maxFlat {
			break // a reference to itself, or a hostile schema
		}
		p := f.flat(part)
		for name, value := range p {
			if _, ok := out[name]; !ok {
				out[name] = value
			}
		}
		for name, value := range p["properties"].(map[string]any) {
			if _, ok := properties[name]; !ok {
				properties[name] = value
			}
		}
		required = append(required, texts(p["required"])...)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var common []string
		found := map[string][]any{}
		for i, part := range list(from[keyword]) {
			if f.steps > maxFlat {
				common = nil
				break
			}
			p := f.flat(part)
			for name, value := range p["properties"].(map[string]any) {
				if _, ok := properties[name]; !ok {
					found[name] = append(found[name], value)
				}
			}
			names := texts(p["required"])
			if i == 0 {
				common = names
			}
			has := map[string]bool{}
			for _, name := range names {
				has[name] = true
			}
			common = slices.DeleteFunc(common, func(name string) bool { return !has[name] })
		}
		for name, values := range found {
			properties[name] = values[0]
			if values = unique(values); len(values) > 1 {
				properties[name] = map[string]any{"anyOf": values}
			}
		}
		required = append(required, common...)
	}
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "const", "not", "if", "then", "else",
		"required"} {
		delete(out, name)
	}
	out["type"], out["properties"] = "object", properties
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// target returns the part of the schema to which a reference points, or nil if there is none.
func (f *flattener) target(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = f.root
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}

// clean changes a schema and those in it as ToolSchema describes.
func clean(m map[string]any) {
	for name, value := range m {
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			of, ok := value.(map[string]any)
			if !ok {
				delete(m, name)
				continue
			}
			for key, sub := range of {
				of[key] = cleaned(sub)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			subs := list(value)
			if len(subs) == 0 {
				delete(m, name)
			}
			for i, sub := range subs {
				subs[i] = cleaned(sub)
			}
		case "items":
			if subs, ok := value.([]any); ok { // of a draft before 2020-12
				value = map[string]any{"anyOf": subs}
				if len(subs) == 0 {
					value = true
				}
				delete(m, "additionalItems")
			}
			m[name] = cleaned(value)
		case "additionalProperties", "unevaluatedProperties":
			if _, ok := value.(bool); !ok {
				m[name] = cleaned(value)
			}
		case "not", "contains", "propertyNames", "if", "then", "else":
			m[name] = cleaned(value)
		case "type":
			setOrDelete(m, name, typesOf(value))
		case "enum":
			setOrDelete(m, name, unique(list(value)))
		case "required":
			setOrDelete(m, name, unique(anys(texts(value))))
		case "description", "title", "format", "pattern":
			if _, ok := value.(string); !ok {
				delete(m, name)
			}
		case "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
			"maxProperties":
			if _, ok := value.(float64); !ok {
				delete(m, name)
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			if isExclusive, ok := value.(bool); ok { // draft 4
				bound := "m" + strings.TrimPrefix(name, "exclusiveM")
				delete(m, name)
				if limit, ok := m[bound].(float64); ok && isExclusive {
					m[name] = limit
					delete(m, bound)
				}
			} else if _, ok := value.(float64); !ok {
				delete(m, name)
			}
		}
	}
	if format, ok := m["format"].(string); ok && !slices.Contains(formats, format) {
		delete(m, "format")
		text, _ := m["description"].(string)
		m["description"] = strings.TrimSpace(text + " (format: " + format + ")")
	}
	if isType(m, "array") && m["items"] == nil {
		m["items"] = map[string]any{}
	}
	if isType(m, "object") && m["properties"] == nil {
		m["properties"] = map[string]any{}
	}
}

// cleaned returns a subschema as an object.
func cleaned(sub any) any {
	switch sub := sub.(type) {
	case map[string]any:
		clean(sub)
		return sub
	case bool:
		if !sub {
			return map[string]any{"not": map[string]any{}}
		}
	}
	return map[string]any{}
}

// typesOf returns the value of type without names that JSON Schema does not have.
func typesOf(value any) any {
	if name, ok := value.(string); ok {
		if slices.Contains(jsonTypes, name) {
			return name
		}
		return nil
	}
	known := slices.DeleteFunc(texts(value), func(name string) bool { return !slices.Contains(jsonTypes, name) })
	if names := unique(anys(known)); len(names) != 1 {
		return names
	}
	return known[0]
}

func isType(m map[string]any, name string) bool {
	return m["type"] == name || slices.Contains(texts(m["type"]), name)
}

// setOrDelete sets a keyword, or deletes it if there is no value or an empty list.
func setOrDelete(m map[string]any, name string, value any) {
	if values, ok := value.([]any); value == nil || ok && len(values) == 0 {
		delete(m, name)
		return
	}
	m[name] = value
}

func list(value any) []any {
	values, _ := value.([]any)
	return values
}

// texts returns the strings of a list.
func texts(value any) []string {
	var out []string
	for _, x := range list(value) {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	if out == nil {
		out, _ = value.([]string)
	}
	return slices.Clone(out)
}

func anys(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// unique returns a list without repetitions.
func unique(values []any) []any {
	var out []any
	seen := map[string]bool{}
	for _, x := range values {
		if key, err := json.Marshal(x); err == nil && !seen[string(key)] { // it was decoded from JSON
			seen[string(key)] = true
			out = append(out, x)
		}
	}
	return out
}
