package api

import "slices"

// inliner converts schemas of the document to self-contained JSON Schema, with references replaced
// by their targets, because not every model provider follows them. A cyclic schema, or one that
// would be too large, becomes a schema that accepts everything; the server still validates.
type inliner struct {
	doc       *document
	left      int
	expanding []string // references being replaced
}

// schemaKeys are copied. Other keys do not describe values, or are not JSON Schema.
var schemaKeys = []string{
	"type", "title", "description", "enum", "const", "default", "format", "pattern", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required",
}

func (in *inliner) schema(v any) any {
	if in.left--; in.left < 0 || len(in.expanding) > maxDepth {
		return map[string]any{}
	}
	switch s := v.(type) {
	case bool:
		return s
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok {
			return in.reference(ref)
		}
		return in.object(s)
	}
	return map[string]any{}
}

func (in *inliner) reference(ref string) any {
	if slices.Contains(in.expanding, ref) {
		return map[string]any{}
	}
	v, err := in.doc.find(ref)
	if err != nil {
		return map[string]any{}
	}
	in.expanding = append(in.expanding, ref)
	defer func() { in.expanding = in.expanding[:len(in.expanding)-1] }()
	return in.schema(v)
}

func (in *inliner) object(s map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range schemaKeys {
		if v, ok := s[key]; ok {
			if key == "description" || key == "title" {
				if d, ok := v.(string); ok {
					out[key] = truncate(d, maxDescription)
				}
				continue
			}
			out[key] = v
		}
	}
	in.properties(s, out)
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if v, ok := s[key]; ok {
			out[key] = in.schema(v)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		list, ok := s[key].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		parts := make([]any, len(list))
		for i, v := range list {
			parts[i] = in.schema(v)
		}
		out[key] = parts
	}
	if in.doc.v30 {
		convertV30(s, out)
	}
	return out
}

// properties omits properties that only the server writes.
func (in *inliner) properties(s, out map[string]any) {
	props, ok := s["properties"].(map[string]any)
	if !ok {
		return
	}
	kept := map[string]any{}
	for name, p := range props {
		if m, err := in.doc.deref(p); err == nil && flag(m, "readOnly") {
			continue
		}
		kept[name] = in.schema(p)
	}
	out["properties"] = kept
	if required, ok := s["required"].([]any); ok {
		out["required"] = slices.DeleteFunc(slices.Clone(required), func(v any) bool {
			name, _ := v.(string)
			_, declared := props[name]
			return declared && kept[name] == nil
		})
	}
}

// convertV30 converts keywords of 3.0 to JSON Schema.
func convertV30(s, out map[string]any) {
	for bound, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		on, ok := s[exclusive].(bool)
		if !ok {
			continue
		}
		delete(out, exclusive)
		if v, has := s[bound]; on && has {
			out[exclusive] = v
			delete(out, bound)
		}
	}
	if !flag(s, "nullable") {
		return
	}
	if t, ok := s["type"].(string); ok {
		out["type"] = []any{t, "null"}
	}
	if list, ok := s["enum"].([]any); ok && !slices.Contains(list, nil) {
		out["enum"] = append(slices.Clone(list), nil)
	}
}
