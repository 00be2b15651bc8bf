package httpapi

import (
	"errors"

	"github.com/hocket-run/hocket/internal/show"
	"github.com/hocket-run/hocket/workflow"
)

// Graph is a drawn graph: every node and edge has its place, in points. Places are in 0…width and 0…height; y grows downwards.
type Graph struct {
	Nodes  []GraphNode `json:"nodes" doc:"Frames stand before what is in them"`
	Edges  []GraphEdge `json:"edges"`
	Width  float64     `json:"width"`
	Height float64     `json:"height"`
}

// GraphNode is a node, a sub-agent or a frame.
type GraphNode struct {
	ID     string  `json:"id" doc:"Unique in the drawing"`
	Kind   string  `json:"kind" doc:"Kind of the node as in events: start, end, agent, tool, exec, func, set, sleep, decide, wait, fork, map, join or subflow; or subagent: an agent without a node; or frame: around a fork and its branches, the body of a map, or a flow"`
	Word   string  `json:"word" doc:"What the document's format calls the kind; empty for frames"`
	Title  string  `json:"title" doc:"Its name, in one line"`
	Detail string  `json:"detail" doc:"What it does, in a few words"`
	Node   string  `json:"node" doc:"Id of the node as in events; of a frame that of the fork or the map, empty for a flow; empty for a sub-agent"`
	Agent  string  `json:"agent" doc:"Id of the agent of an agent node or of a sub-agent; empty for others"`
	Flow   string  `json:"flow" doc:"The flow that has it, as a path of names; empty: the graph itself"`
	Parent *string `json:"parent" doc:"Id of the frame around it; null: none"`
	Hidden bool    `json:"hidden" doc:"It is drawn as a point, and is no step that people see"`
	X      float64 `json:"x" doc:"Of the upper left corner"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Span   *Range  `json:"span" doc:"Where it is in the document; null: nowhere, or unknown"`
}

// GraphEdge leads from one node to another.
type GraphEdge struct {
	ID     string       `json:"id" doc:"Unique among the edges of the drawing; the document's where it has one"`
	From   string       `json:"from"`
	To     string       `json:"to"`
	Kind   string       `json:"kind" enum:"run,item,subagent,handoff" doc:"run: an edge of the graph; item: from a map to its body; subagent: an agent that may be asked; handoff: one that may take over"`
	Edge   *int         `json:"edge" doc:"Index among the edges of its graph, as in events; null: it is no edge of the graph"`
	Port   string       `json:"port" doc:"Port of the node that it leaves by; empty for those that are no edges"`
	Label  string       `json:"label" doc:"When it is taken; empty: always"`
	Back   bool         `json:"back" doc:"It leads to a node that a run has passed before"`
	Fails  bool         `json:"fails" doc:"It is taken on an error, a limit or a deadline"`
	Points []GraphPoint `json:"points" doc:"Its route. Between two points a curve begins and ends upright; the four points of an edge from a node to itself are those of one curve"`
	LabelX float64      `json:"labelX" doc:"Middle of the label; 0 without one"`
	LabelY float64      `json:"labelY"`
	Span   *Range       `json:"span" doc:"Where it is in the document; null: nowhere, or unknown"`
}

// GraphPoint is a point of a route.
type GraphPoint struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// graphOf draws a graph whose document is text under a name; a nil text has no places. The graph is nil where it is too large to be drawn.
func graphOf(w *workflow.Workflow, text *places, file string) (*Graph, error) {
	d, err := show.Draw(w)
	switch {
	case errors.Is(err, show.ErrTooLarge):
		return nil, nil //nolint:nilnil // a graph that is too large is one of the answers
	case err != nil:
		return nil, err
	}
	g := &Graph{Nodes: make([]GraphNode, len(d.Boxes)), Edges: make([]GraphEdge, len(d.Lines)), Width: d.Width, Height: d.Height}
	for i, b := range d.Boxes {
		g.Nodes[i] = GraphNode{
			ID: b.ID, Kind: b.Kind, Word: b.Word, Title: b.Title, Detail: b.Detail, Node: b.Node, Agent: b.Agent, Flow: b.Flow, Parent: some(b.Parent), Hidden: b.Hidden,
			X: b.X, Y: b.Y, Width: b.Width, Height: b.Height,
		}
		if text != nil {
			g.Nodes[i].Span = text.span(b.Span, file)
		}
	}
	for i, l := range d.Lines {
		e := GraphEdge{
			ID: l.ID, From: l.From, To: l.To, Kind: string(l.Kind), Port: l.Port, Label: l.Label, Back: l.Back, Fails: l.Fails, Points: make([]GraphPoint, len(l.Points)), LabelX: l.LabelX, LabelY: l.LabelY,
		}
		if l.Index >= 0 {
			e.Edge = &l.Index
		}
		for k, p := range l.Points {
			e.Points[k] = GraphPoint(p)
		}
		if text != nil {
			e.Span = text.span(l.Span, file)
		}
		g.Edges[i] = e
	}
	return g, nil
}
