package tool

import (
	"slices"

	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// Keys gives the keys that toolsets of each supported type may have, sorted, by type: what ParseSpecs takes without an error.
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
