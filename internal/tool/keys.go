package tool

import "slices"

// Keys gives the keys that toolsets of each supported type may have, sorted, by type: what ParseSpecs takes without an error.
func Keys() map[string][]string {
	out := map[string][]string{}
	for typ, info := range knownTypes {
		if !info.supported {
			continue
		}
		keys := slices.Concat(commonKeys, info.options)
		if typ == TypeMCP {
			keys = slices.Concat(keys, mcpKeys)
		} else {
			keys = append(keys, "config", "version")
		}
		slices.Sort(keys)
		out[typ] = slices.Compact(keys)
	}
	return out
}
