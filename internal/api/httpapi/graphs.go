package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/show"
	"github.com/hocket-run/hocket/workflow"
)

// registerGraphs registers the operations that return the graphs of stored definitions.
func (a *API) registerGraphs() {
	missing := []int{http.StatusNotFound}
	add(a, route{
		Method: http.MethodGet, Path: "/workflows/{id}/graph", ID: "getWorkflowGraph", Tag: tagWorkflows,
		Role: access.RoleRun, Errors: missing, Also: []int{http.StatusNotModified},
		Summary: "Draw the graph of a stored workflow",
		Description: "Without parameters, that of the published version; `draft` and `version` need the role edit. " +
			"Spans are places in the document of `GET /workflows/{id}` with the same parameters.",
	}, getWorkflowGraph)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/graph", ID: "getRunGraph", Tag: tagRuns, Role: access.RoleRun,
		Errors:  missing,
		Summary: "Draw the graph of a run",
		Description: "The graph as it was when the run began, without spans; also that of a Go graph. Ids of nodes " +
			"and indexes of edges are those of the run's events. The graph of a draft or a former " +
			"version needs the role edit.",
	}, getRunGraph)
}

// Drawn is a laid-out graph and its subject.
type Drawn struct {
	Format  string  `json:"format" doc:"Language of the document; graph: a Go program"`
	Version *int    `json:"version" doc:"Number of the version; null: a run's graph, or the workflow consists of rows"`
	Branch  *string `json:"branch" doc:"Null: the main graph"`
	Graph   *Graph  `json:"graph" doc:"Null: it is too large to draw, or the document cannot be read"`
}

// drawnAnswer is the response with the graph of a stored workflow, or without a body if the client
// already has it.
type drawnAnswer struct {
	Status int
	Tagged
	Body *Drawn
}

type workflowGraphQuery struct {
	WorkflowPath
	Whichever
	Unless
	Branch string `query:"branch" doc:"Branch to draw; absent: the main graph"`
}

func getWorkflowGraph(ctx context.Context, c *transport.Caller, in *workflowGraphQuery) (*drawnAnswer, error) {
	which, err := in.which()
	if err == nil && which != (service.Which{}) {
		err = c.RequireDrafts()
	}
	if err == nil {
		_, err = c.Service.VisibleEntry(ctx, in.ID, c.SeesDrafts())
	}
	if err != nil {
		return nil, err
	}
	w, d, _, err := c.Service.LoadStored(ctx, in.ID, which, service.LoadOptions{})
	if err != nil {
		return nil, err
	}
	out := &drawnAnswer{Status: http.StatusOK, Tagged: Tagged{quote(d.Tag)}}
	if in.has(d.Tag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	out.Body = &Drawn{Format: d.Format, Version: optionalInt(d.Version), Branch: optionalString(in.Branch)}
	if w == nil {
		return out, nil
	}
	g := w.Graph(in.Branch)
	if g == nil {
		return nil, &service.NotFoundError{What: "Branch", ID: in.Branch + " of workflow " + in.ID}
	}
	g.Format = w.Format
	out.Body.Graph, err = graphOf(g, placesOf(string(d.Text)), w.Source.File)
	return out, err
}

func getRunGraph(ctx context.Context, c *transport.Caller, in *RunPath) (*struct{ Body Drawn }, error) {
	w, err := runDefinition(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	out := Drawn{Format: w.Format}
	out.Graph, err = graphOf(w, nil, "")
	return &struct{ Body Drawn }{out}, err
}

// Graph is a laid-out graph: every node and edge has a position in points. Positions are within
// 0…width and 0…height; y grows downwards.
type Graph struct {
	Nodes  []GraphNode `json:"nodes" doc:"Frames surround a fork, a map's body or a flow, and precede their contents"`
	Edges  []GraphEdge `json:"edges"`
	Width  float64     `json:"width"`
	Height float64     `json:"height"`
}

// GraphNode is a node, a sub-agent or a frame.
type GraphNode struct {
	ID     string  `json:"id" doc:"Unique in the drawing"`
	Kind   string  `json:"kind" doc:"Node kind as in events; subagent: an agent without a node; frame: see Graph.nodes"`
	Word   string  `json:"word" doc:"What the document's format calls the kind; empty for frames"`
	Title  string  `json:"title" doc:"Its name, in one line"`
	Detail string  `json:"detail" doc:"What it does, in a few words"`
	Node   string  `json:"node" doc:"Node id as in events; for a frame, its fork or map; empty for flows and subagents"`
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

// GraphEdge connects two nodes.
type GraphEdge struct {
	ID     string       `json:"id" doc:"Unique among the edges of the drawing; the document's where it has one"`
	From   string       `json:"from"`
	To     string       `json:"to"`
	Kind   string       `json:"kind" enum:"run,item,subagent,handoff" doc:"run: a graph edge; item: a map to its body"`
	Edge   *int         `json:"edge" doc:"Index among the edges of its graph, as in events; null: kind is not run"`
	Port   string       `json:"port" doc:"Port of the node that it leaves by; empty for those that are no edges"`
	Label  string       `json:"label" doc:"When it is taken; empty: always"`
	Back   bool         `json:"back" doc:"It leads to a node that a run has passed before"`
	Fails  bool         `json:"fails" doc:"It is taken on an error, a limit or a deadline"`
	Points []GraphPoint `json:"points" doc:"Curves, vertical at each point; a self-loop is one cubic curve of 4 points"`
	LabelX float64      `json:"labelX" doc:"Middle of the label; 0 without one"`
	LabelY float64      `json:"labelY"`
	Span   *Range       `json:"span" doc:"Where it is in the document; null: nowhere, or unknown"`
}

// GraphPoint is a point of an edge's route.
type GraphPoint struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// graphOf lays out the graph of a workflow whose document is text, with file as its name; if text
// is nil, the graph has no document locations. The graph is nil if it is too large to be laid out.
func graphOf(w *workflow.Workflow, text *places, file string) (*Graph, error) {
	d, err := show.Draw(w)
	switch {
	case errors.Is(err, show.ErrTooLarge):
		return nil, nil //nolint:nilnil // a graph that is too large is one of the answers
	case err != nil:
		return nil, err
	}
	g := &Graph{Nodes: make([]GraphNode, len(d.Boxes)), Edges: make([]GraphEdge, len(d.Lines)), Width: d.Width,
		Height: d.Height}
	for i, b := range d.Boxes {
		g.Nodes[i] = GraphNode{
			ID: b.ID, Kind: b.Kind, Word: b.Word, Title: b.Title, Detail: b.Detail, Node: b.Node, Agent: b.Agent,
			Flow: b.Flow, Parent: optionalString(b.Parent), Hidden: b.Hidden,
			X: b.X, Y: b.Y, Width: b.Width, Height: b.Height,
		}
		if text != nil {
			g.Nodes[i].Span = text.span(b.Span, file)
		}
	}
	for i, l := range d.Lines {
		e := GraphEdge{
			ID: l.ID, From: l.From, To: l.To, Kind: string(l.Kind), Port: l.Port, Label: l.Label, Back: l.Back,
			Fails: l.Fails, Points: make([]GraphPoint, len(l.Points)), LabelX: l.LabelX, LabelY: l.LabelY,
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
