package config

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
)

// Schema returns the JSON Schema (draft 2020-12) of hocket.yaml, for editors. It accepts what Read
// accepts, except for checks that no schema can express: names that must be defined elsewhere in
// the file.
func Schema() json.RawMessage {
	s := schemaOf(table())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = Name
	s["$defs"] = map[string]any{"toolset": toolsetSchema(nil, "type"), "server": toolsetSchema([]string{tool.TypeMCP},
		"")}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(s) != nil {
		return nil // plain maps always marshal
	}
	return b.Bytes()
}

type object = map[string]any

func schemaOf(k key) object {
	var s object
	switch k.kind {
	case section:
		s = sectionSchema(k.keys)
	case byName:
		item := sectionSchema(k.keys)
		if len(item["required"].([]string)) == 0 {
			item["type"] = orNull("object")
		}
		s = object{"type": orNull("object"), "propertyNames": object{"pattern": nameForm}, "additionalProperties": item}
	case servers:
		s = object{"type": orNull("object"), "additionalProperties": object{"$ref": "#/$defs/server"}}
	case toolset:
		s = object{"type": orNull("array"), "items": object{"$ref": "#/$defs/toolset"}}
	case texts:
		s = object{"type": orNull("array"), "items": object{"type": "string", "minLength": 1}}
		if k.values != nil {
			s["items"], s["uniqueItems"] = object{"enum": k.values}, true
		}
	case free:
		s = object{"type": orNull("object")}
	case count:
		s = object{"type": orNull("integer"), "minimum": k.min}
	case number:
		s = object{"type": orNull("number"), "minimum": k.min}
	case flag:
		s = object{"type": orNull("boolean")}
	case word:
		values := []any{}
		for _, v := range k.values {
			values = append(values, v)
		}
		s = object{"enum": append(values, nil)}
	default:
		s = object{"type": orNull("string"), "minLength": 1}
		if form := map[kind]string{secretID: secret.RefForm, address: addressForm,
			duration: durationForm}[k.kind]; form != "" {
			s["pattern"] = form
		}
	}
	if k.max > 0 {
		s["maximum"] = k.max
	}
	if k.required {
		s["type"] = "string"
	}
	if k.doc != "" {
		s["description"] = k.doc
	}
	return s
}

func orNull(typ string) []string { return []string{typ, "null"} }

func sectionSchema(keys []key) object {
	properties, required := object{}, []string{}
	for _, k := range keys {
		properties[k.name] = schemaOf(k)
		if k.required {
			required = append(required, k.name)
		}
	}
	typ := any(orNull("object"))
	if len(required) > 0 {
		typ = "object"
	}
	return object{"type": typ, "properties": properties, "required": required, "additionalProperties": false}
}

// toolsetSchema returns the schema of a toolset with one of the types. If typ is "", the type may
// be omitted.
func toolsetSchema(types []string, typ string) object {
	texts := object{"type": orNull("array"), "items": object{"type": []string{"string", "number", "boolean"}}}
	scalar := object{"type": []string{"string", "number", "boolean", "null"}}
	textMap := object{"type": orNull("object"), "additionalProperties": scalar}
	time := object{"anyOf": []any{object{"type": "number", "exclusiveMinimum": 0},
		object{"type": "string", "minLength": 1}}}
	out := object{
		"type": "object", "required": []string{},
		"properties": object{
			"type": object{"type": "string"}, "name": scalar, "tools": texts, "instruction": scalar,
			"shared": object{"type": orNull("boolean")},
		},
	}
	if typ != "" {
		out["required"] = []string{typ}
	}
	if len(types) == 1 {
		out["properties"].(object)["type"] = object{"const": types[0]}
	}
	var rules []any
	for _, t := range []string{tool.TypeMCP} { // the packages of the other types check their own keys
		properties := object{"timeout": time, "policy": object{"enum": []string{"retry", "ask", "skip", "fail"}}}
		then := object{"properties": properties, "propertyNames": object{"enum": tool.Keys()[t]}}
		if t == tool.TypeMCP {
			maps.Copy(properties, object{
				"command": object{"type": []string{"string", "number", "boolean"}, "minLength": 1}, "args": texts,
				"env": textMap, "working_dir": scalar, "cwd": scalar,
				"ref": object{"type": "string"}, "idle_timeout": time, "connect_timeout": time,
				"remote": object{
					"type": "object", "required": []string{"url"}, "additionalProperties": false,
					"properties": object{"url": object{"type": "string"}, "transport_type": scalar, "headers": textMap},
				},
			})
			sources := []any{object{"required": []string{"command"}}, object{"required": []string{"remote"}}}
			if typ != "" {
				sources = append(sources, object{"required": []string{"ref"}})
			} else {
				properties["ref"] = false
			}
			then["oneOf"] = sources
		}
		is := object{"properties": object{"type": object{"const": t}}}
		if typ != "" {
			is["required"] = []string{typ}
		}
		rules = append(rules, object{"if": is, "then": then})
	}
	out["allOf"] = rules
	return out
}
