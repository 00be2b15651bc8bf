package format

import (
	"slices"

	"github.com/hocket-run/hocket/internal/format/source"
)

// A document is told by what only its language has. Where a document lacks even that, the shape of its nodes decides; a document that is broken
// should still be read by the reader whose errors help its author.

func isRounds(root *source.Node) bool {
	for _, key := range []string{"edges", "branches", "maxRounds", "executionMode"} {
		if root.Get(key) != nil {
			return true
		}
	}
	return anyNode(root, func(n *source.Node) bool { return n.Get("config") != nil || n.Get("parameters") != nil })
}

func anyNode(root *source.Node, f func(*source.Node) bool) bool {
	nodes := root.Get("nodes")
	return nodes != nil && slices.ContainsFunc(nodes.Items, f)
}
