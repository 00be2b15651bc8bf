package show

import (
	"math"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/show/layout"
	"github.com/hocket-run/hocket/workflow"
)

// Drawing is a workflow with a position for everything, for programs that draw it themselves. All
// positions are in 0…Width and 0…Height; y grows downwards.
type Drawing struct {
	Boxes         []Box
	Lines         []Line
	Width, Height float64
}

// Kinds of boxes that are not node kinds.
const (
	// KindSubagent is an agent that is not run by a node of its own here: other agents call it or
	// hand over to it, or nothing uses it.
	KindSubagent = "subagent"
	// KindFrame surrounds a fork with its branches and its join, a map with its body, or a flow.
	KindFrame = "frame"
)

// Box is a node, a sub-agent or a frame. Frames come before their contents.
type Box struct {
	// ID is unique in the drawing. For a node of the graph itself it is the node's ID, unless the
	// document uses that ID twice.
	ID string
	// Kind is the node's kind, KindSubagent or KindFrame. Word is its name in the document's
	// format.
	Kind, Word string
	// Node is the ID of the node, as events name it; for a frame it is the ID of the fork or the
	// map, and "" for a flow. Agent is the ID of the agent of an agent node or of a sub-agent.
	Node, Agent string
	// Flow is the flow that contains the node, as a path of names; "" means the graph itself.
	Flow string
	// Parent is the ID of the surrounding frame, or "" if there is none.
	Parent string
	// Title and Detail are clean text: the box's name, and what it does in a few words.
	Title, Detail string
	// Hidden nodes do not appear as entries of the run; they are drawn as points.
	Hidden bool
	// X and Y are the upper left corner.
	X, Y, Width, Height float64
	// Span is the position in the document; the zero Span means that there is none or it is
	// unknown.
	Span diag.Span
}

// LineKind is the kind of a line.
type LineKind string

const (
	// LineRun is an edge of the graph.
	LineRun LineKind = "run"
	// LineItem leads from a map to the start of its body.
	LineItem LineKind = "item"
	// LineSubagent leads from an agent to an agent that it may call.
	LineSubagent LineKind = "subagent"
	// LineHandoff leads from an agent to an agent to which it may hand over.
	LineHandoff LineKind = "handoff"
)

// Line leads from one box to another.
type Line struct {
	// ID is unique in the drawing. For an edge it is the document's ID, if the edge has one and no
	// other edge has the same.
	ID       string
	From, To string // ids of boxes
	Kind     LineKind
	// Index is the index of the edge in the edges of its graph, as used by events; -1 for a line
	// that is not an edge.
	Index int
	// Port is the port of an edge.
	Port  string
	Label string
	// Back reports whether the line leads to a box that a run has already passed. Fails reports
	// whether it is followed on an error, a limit or a deadline.
	Back, Fails bool
	// Points lead from the start to the end, as described in layout.Result. LabelX and LabelY are
	// the center of the label.
	Points         []layout.Point
	LabelX, LabelY float64
	// Span is the position of the edge in the document; the zero Span means that there is none or
	// it is unknown.
	Span diag.Span
}

// Draw computes a position for every box and line of a workflow. Branches of w are drawn as [SVG]
// draws them; pass [workflow.Workflow.Graph] to draw a single graph.
//
// The error is ErrTooLarge, or nil.
func Draw(w *workflow.Workflow) (*Drawing, error) {
	l, err := planOf(w)
	if err != nil {
		return nil, err
	}
	d := drawer{plan: l, format: w.Format, ids: map[string]int{},
		out: &Drawing{Boxes: []Box{}, Lines: []Line{}, Width: tenth(l.w), Height: tenth(l.h)}}
	d.lines(d.boxes())
	return d.out, nil
}

type drawer struct {
	*plan
	format string
	ids    map[string]int // last number used for each; 0 means the ID is free
	out    *Drawing
}

// unique returns the first of the wishes that is free, or the last one with a number appended.
func (d *drawer) unique(wishes ...string) string {
	last := ""
	for _, id := range wishes {
		if id != "" && d.ids[id] == 0 {
			d.ids[id] = 1
			return id
		}
		last = id
	}
	for n := max(d.ids[last], 1) + 1; ; n++ { // start at the last number: many edges may have the same wish
		if id := last + "~" + strconv.Itoa(n); d.ids[id] == 0 {
			d.ids[last], d.ids[id] = n, 1
			return id
		}
	}
}

// boxes draws frames, nodes and agents, and returns the IDs of the picture's boxes.
func (d *drawer) boxes() []string {
	boxIDs := make([]string, len(d.plan.boxes))
	for i, b := range d.plan.boxes { // nodes first, so that no other box takes a node's ID
		if b.node != nil {
			boxIDs[i] = d.unique(flowBoxID(b.flow, b.node.ID))
		}
	}
	groupIDs := make([]string, len(d.groups))
	for g, of := range d.groups {
		groupIDs[g] = d.unique("frame:" + flowBoxID(of.flow, of.of))
		box := Box{ID: groupIDs[g], Kind: KindFrame, Node: of.of, Flow: of.flow, Title: of.title}
		if of.outer >= 0 {
			box.Parent = groupIDs[of.outer]
		}
		box.at(d.groupAt[g])
		d.out.Boxes = append(d.out.Boxes, box)
	}
	for i, b := range d.plan.boxes {
		box := Box{Flow: b.flow, Title: b.title, Detail: b.detail}
		if b.group >= 0 {
			box.Parent = groupIDs[b.group]
		}
		if b.agent != nil {
			box.Agent = b.agent.ID
		}
		if n := b.node; n != nil {
			box.Kind, box.Word, box.Node, box.Hidden, box.Span = string(n.Kind), n.KindIn(d.format), n.ID, n.Hidden,
				b.in.Source.Nodes[n.ID]
		} else {
			boxIDs[i] = d.unique(flowBoxID(b.flow, b.agent.ID), "agent:"+flowBoxID(b.flow, b.agent.ID))
			box.Kind, box.Word, box.Span = KindSubagent, "agent", b.in.Source.Agents[b.agent.ID]
		}
		box.ID = boxIDs[i]
		box.at(d.boxAt[i])
		d.out.Boxes = append(d.out.Boxes, box)
	}
	return boxIDs
}

func (d *drawer) lines(boxIDs []string) {
	d.ids = map[string]int{}
	for i, a := range d.arrows {
		line := Line{From: boxIDs[a.from], To: boxIDs[a.to], Kind: a.kind, Index: a.edge, Label: a.label, Back: a.back,
			Fails: a.fails, Points: []layout.Point{}}
		wish := string(a.kind) + ":" + line.From + ">" + line.To
		if a.edge >= 0 {
			e := a.in.Edges[a.edge]
			line.Port = e.PortName()
			line.Span = a.in.Source.Edge(a.edge)
			line.ID = d.unique(e.ID, wish)
		} else {
			line.ID = d.unique(wish)
		}
		for _, p := range d.paths[i] {
			line.Points = append(line.Points, layout.Point{X: tenth(p.X), Y: tenth(p.Y)})
		}
		if a.label != "" {
			line.LabelX, line.LabelY = tenth(d.labelAt[i].x), tenth(d.labelAt[i].y)
		}
		d.out.Lines = append(d.out.Lines, line)
	}
}

// flowBoxID returns the ID of a box in a flow.
func flowBoxID(flow, id string) string {
	if flow == "" {
		return id
	}
	return flow + "/" + id
}

func (b *Box) at(p placed) {
	b.X, b.Y, b.Width, b.Height = tenth(p.x-p.w/2), tenth(p.top()), tenth(p.w), tenth(p.h)
}

// tenth rounds a coordinate to one decimal place.
func tenth(f float64) float64 { return math.Round(f*10) / 10 }
