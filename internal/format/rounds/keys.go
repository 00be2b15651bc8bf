package rounds

import (
	"slices"

	"github.com/hocket-run/hocket/internal/format/nodes"
)

// Keys returns the keys of a part of rounds documents that have a meaning, and those that editors
// write for themselves. Parts are "graph" (the document and its branches), "node" and "edge".
func Keys(part string) (works, kept []string) {
	switch part {
	case "graph":
		return slices.Concat(graphKeys, nodes.DocumentKeys()), slices.Clone(rootExtras)
	case "node":
		return []string{"id", "type", "name", "config", "parameters"},
			append([]string{"label", "description"}, nodeExtras...)
	case "edge":
		return []string{"id", "label", "from", "to", "source", "target", keySourceHandle},
			append([]string{"data"}, edgeExtras...)
	}
	return nil, nil
}
