package show

import (
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// reference returns the reference to id if id is not drawn here, and "" if it is.
func (s *sketch) reference(id string, depth int) string {
	switch {
	case bareEnd(s.nodes[id]):
		return appearanceOf(workflow.KindEnd).symbol + " end"
	case s.state[id] == stateOpen:
		return "↺ " + s.title(id)
	case s.state[id] == stateDone:
		return "→ " + s.title(id) + " (above)"
	case slices.Contains(s.stops, id):
		return "→ " + s.title(id) + " (below)"
	case depth > maxTreeDepth:
		s.tooDeep = append(s.tooDeep, id)
		return "→ " + s.title(id) + " (below)"
	}
	return ""
}

// bareEnd reports whether a node only represents the end of the run, so that paths end there and do
// not meet.
func bareEnd(n *workflow.Node) bool { return n.Hidden && n.Kind == workflow.KindEnd }

// title returns the title of a node, with its ID if the title is ambiguous.
func (s *sketch) title(id string) string {
	// A hidden node is represented by its successors.
	for range len(s.Nodes) {
		n := s.nodes[id]
		if !n.Hidden || len(s.ways[id]) != 1 {
			break
		}
		id = s.ways[id][0].to
	}
	n := s.nodes[id]
	title := nodeTitle(n)
	if s.ambiguousTitles[title] && title != clean(id) {
		title += " [" + clean(id) + "]"
	}
	return title
}
