package httpapi

import (
	"context"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// registerRunDefinition registers the operations that show the definition of a run.
func (a *API) registerRunDefinition() {
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/definition", ID: "getRunDefinition", Tag: tagRuns,
		Role: access.RoleRun, Errors: []int{http.StatusNotFound},
		Summary: "Show the graph of a run",
		Description: "The graph as it was when the run began, even if the workflow has changed since. The graph of a " +
			"draft or a former version needs the role edit. Views can be computed from the graph and the events.",
	}, getRunDefinition)
}

// graphAnswer is the response with a graph.
type graphAnswer struct {
	Body event.Value `doc:"Nodes, edges, agents and limits"`
}

func getRunDefinition(ctx context.Context, c *transport.Caller, in *RunPath) (*graphAnswer, error) {
	w, err := runDefinition(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	text, err := w.Canonical()
	return &graphAnswer{text}, err
}

// runDefinition returns the definition of a run if the caller may see it.
func runDefinition(ctx context.Context, c *transport.Caller, run string) (*workflow.Workflow, error) {
	h, w, err := c.Service.RunDefinition(ctx, run)
	if err == nil && !c.SeesDrafts() && service.StoredOf(h) != "" {
		var isPublished bool
		if isPublished, err = c.Service.IsPublished(ctx, h); err == nil && !isPublished {
			err = c.RequireDrafts()
		}
	}
	return w, err
}
