package steps

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// shape is what a JSON Schema declares of the value at a path.
type shape struct {
	// found: the schema has the path, or leaves open what is there.
	found bool
	// types are the JSON types that the value may have; nil where that is open.
	types []string
	// missing is the first segment that the schema lacks, beside have, the properties that it has there.
	missing string
	have    []string
}

// maxRefs bounds how many references and alternatives are followed, whatever a schema makes of itself.
const maxRefs = 200

// shapeAt looks a path up in a schema. It never claims more than the schema does: whatever it does not understand is open.
func shapeAt(schema json.RawMessage, path []string) shape {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return shape{found: true}
	}
	w := &schemaWalk{root: root}
	return w.at(root, path)
}

type schemaWalk struct {
	root  any
	steps int
}

func (w *schemaWalk) at(schema any, path []string) shape {
	if w.steps++; w.steps > maxRefs {
		return shape{found: true}
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return shape{found: true} // true, false, or nonsense
	}
	if ref, ok := s["$ref"].(string); ok {
		return w.at(w.follow(ref), path)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if all, ok := s[key].([]any); ok && len(all) > 0 {
			return w.any(all, path)
		}
	}
	if all, ok := s["allOf"].([]any); ok && len(all) > 0 {
		return w.all(append([]any{without(s, "allOf")}, all...), path)
	}
	if len(path) == 0 {
		return shape{found: true, types: typesOf(s)}
	}
	return w.below(s, path)
}

func (w *schemaWalk) below(s map[string]any, path []string) shape {
	types := typesOf(s)
	may := func(t string) bool { return types == nil || slices.Contains(types, t) }
	properties, _ := s["properties"].(map[string]any)
	if sub, ok := properties[path[0]]; ok {
		return w.at(sub, path[1:])
	}
	if _, err := strconv.Atoi(path[0]); err == nil && may("array") {
		if items, ok := s["items"].(map[string]any); ok && s["prefixItems"] == nil {
			return w.at(items, path[1:])
		}
		return shape{found: true}
	}
	open := shape{found: true}
	lacks := shape{missing: path[0], have: slices.Sorted(maps.Keys(properties))}
	switch additional := s["additionalProperties"].(type) {
	case map[string]any:
		return w.at(additional, path[1:])
	case bool:
		if additional {
			return open
		}
	}
	switch {
	case !may("object"):
		return lacks
	case s["patternProperties"] != nil, properties == nil && s["additionalProperties"] == nil:
		return open
	}
	return lacks
}

// any joins alternatives: what one of them has, the value may have.
func (w *schemaWalk) any(all []any, path []string) shape {
	var out, lacks shape
	known := true
	for _, sub := range all {
		r := w.at(sub, path)
		if !r.found {
			lacks.missing = r.missing
			lacks.have = append(lacks.have, r.have...)
			continue
		}
		out.found = true
		known = known && r.types != nil
		out.types = append(out.types, r.types...)
	}
	if !out.found {
		return lacks
	}
	if !known {
		out.types = nil
	}
	return out
}

// all joins schemas that hold together: one that declares the path is enough.
func (w *schemaWalk) all(all []any, path []string) shape {
	var out shape
	for _, sub := range all {
		r := w.at(sub, path)
		if r.found && r.types != nil {
			return r
		}
		out.found = out.found || r.found
		if out.missing == "" {
			out.missing = r.missing
		}
		out.have = append(out.have, r.have...)
	}
	return out
}

// follow gives what a reference inside the schema names, nil for any other.
func (w *schemaWalk) follow(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := w.root
	for _, seg := range strings.Split(pointer, "/")[1:] {
		seg = strings.NewReplacer("~1", "/", "~0", "~").Replace(seg)
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[seg]
	}
	return at
}

func without(s map[string]any, key string) map[string]any {
	out := maps.Clone(s)
	delete(out, key)
	return out
}

// typesOf gives the types that a schema without alternatives allows, nil for any.
func typesOf(s map[string]any) []string {
	var out []string
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, v := range t {
			if word, ok := v.(string); ok {
				out = append(out, word)
			}
		}
		return out
	}
	values, _ := s["enum"].([]any)
	if v, ok := s["const"]; ok {
		values = []any{v}
	}
	for _, v := range values {
		switch v.(type) {
		case bool:
			out = append(out, "boolean")
		case string:
			out = append(out, "string")
		case float64:
			out = append(out, "number")
		case nil:
			out = append(out, "null")
		case []any:
			out = append(out, "array")
		default:
			out = append(out, "object")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
