package form

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/schema"
)

// maxDepth is the maximum depth to which Fill descends into objects.
const maxDepth = 8

// Fill returns an answer with missing members set to the defaults of an object schema, and strings
// converted to the values they stand for. An answer that is not an object is returned unchanged.
func Fill(raw, v json.RawMessage) json.RawMessage { return fill(raw, v, 0, true) }

// fill converts the members of an object; if defaults, it adds missing members.
func fill(raw, v json.RawMessage, depth int, defaults bool) json.RawMessage {
	given, ok := objectOf(v)
	var o object
	if !ok || depth > maxDepth || json.Unmarshal(raw, &o) != nil || len(o.Properties.list) == 0 {
		return v
	}
	out := given
	for _, p := range o.Properties.list {
		var about property
		_ = json.Unmarshal(p.value, &about) // `true` has no default
		old := out.get(p.name)
		if old == nil {
			if defaults && about.Default != nil {
				out.set(p.name, about.Default)
			}
			continue
		}
		now := fill(p.value, old, depth+1, defaults)
		// a schema that refers to the whole by $ref is checked with the whole
		if s, err := schema.Compile(p.value); err == nil {
			now, _ = convert(s, now)
		}
		out.set(p.name, now)
	}
	return out.json()
}
