package tool

import (
	"slices"

	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// Keys returns, by supported toolset type, the sorted keys that toolsets of the type may have: the
// keys that ParseSpecs accepts.
func Keys() map[string][]string {
	out := map[string][]string{}
	for _, k := range kinds.Supported() {
		keys := slices.Concat(commonKeys, k.Keys)
		if k.Name == TypeMCP {
			keys = slices.Concat(keys, mcpKeys)
		} else {
			keys = append(keys, "config", "version")
		}
		slices.Sort(keys)
		out[k.Name] = slices.Compact(keys)
	}
	return out
}
