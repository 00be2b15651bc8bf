package form

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/schema"
)

// maxDepth bounds how deep Fill looks into objects.
const maxDepth = 8

// Fill gives an answer with the defaults of the schema of an object in the place of what is missing, and texts as what they mean. An answer that is no object is given back as it is.
func Fill(raw, v json.RawMessage) json.RawMessage { return fill(raw, v, 0, true) }

// fill reads the members of an object; with defaults it adds those that are missing.
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
		if s, err := schema.Compile(p.value); err == nil { // one with $ref to the whole is left to the check of the whole
			now, _ = fit(s, now)
		}
		out.set(p.name, now)
	}
	return out.json()
}
