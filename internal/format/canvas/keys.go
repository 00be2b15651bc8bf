package canvas

import (
	"slices"

	"github.com/hocket-run/hocket/internal/format/nodes"
)

// Keys returns the keys of a part of canvas documents that have a meaning, and those that editors
// write for themselves. Parts are "document", "node", "connection", and "data of " followed by a
// type of node.
func Keys(part string) (works, kept []string) {
	switch part {
	case "document":
		own := []string{"id", "name", "description", "labels", "concurrency", "schedule", "schedules", "timeZone",
			"nodes", "connections"}
		return slices.Concat(own, nodes.DocumentKeys(), nodes.SharedKeys()), slices.Clone(rootExtras)
	case "node":
		return []string{"id", "type", "data"}, slices.Clone(nodeExtras)
	case "connection":
		return []string{"id", "source", "target", "sourceHandle", "targetHandle", "label"},
			slices.Clone(connectionExtras)
	}
	for typ, keys := range dataKeys {
		if part == "data of "+typ {
			return slices.Clone(keys), slices.Clone(dataExtras)
		}
	}
	return nil, nil
}
