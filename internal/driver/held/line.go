package held

import (
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
)

// Line is a plan's line with the functions of its program, by the program's own numbers. It is
// immutable.
type Line struct {
	Entry int
	Nodes []LineNode
}

// LineNode is a node of a Line. Fn is the number of its function, and Checks are the numbers of its
// conditions, at the indexes of the embedded node's.
type LineNode struct {
	engine.LineNode
	Fn     int
	Checks []int
}

// newLine returns the line of a plan, or nil if there is none.
func newLine(plan *engine.Plan, program driver.Program) *Line {
	p, ok := program.(driver.Direct)
	from := plan.Line()
	if !ok || from == nil {
		return nil
	}
	l := &Line{Entry: from.Entry, Nodes: make([]LineNode, len(from.Nodes))}
	some := false
	for i := range from.Nodes {
		n := LineNode{LineNode: from.Nodes[i]}
		if n.Kind == engine.LineFunc {
			n.Fn = p.FuncNumber(n.Func)
		}
		known := n.Fn >= 0
		for _, c := range n.LineNode.Checks {
			number := p.ConditionNumber(c.Func)
			known = known && number >= 0
			n.Checks = append(n.Checks, number)
		}
		if !known {
			n.Kind = engine.LineNone
		}
		some = some || n.Kind == engine.LineFunc
		l.Nodes[i] = n
	}
	if !some {
		return nil
	}
	return l
}
