package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/format/canvas"
)

// registerLayouts registers the operations for the node positions that people set.
func (a *API) registerLayouts() {
	add(a, route{
		Method: http.MethodGet, Path: "/workflows/{id}/layout", ID: "getLayout", Tag: tagWorkflows,
		Role: access.RoleEdit, Errors: []int{http.StatusNotFound}, Also: []int{http.StatusNotModified},
		Summary: "Show where the nodes of a workflow were put",
		Description: "One layout for all versions. Empty maps: nothing was put anywhere. Where it names a node it " +
			"wins over a position in a canvas document.",
	}, getLayout)
	add(a, route{
		Method: http.MethodPut, Path: "/workflows/{id}/layout", ID: "putLayout", Tag: tagWorkflows,
		Role:    access.RoleEdit,
		Summary: "Store where the nodes of a workflow were put",
		Description: "No version is made, and the `ETag` of the workflow stays. `If-Match` is required: the `ETag` " +
			"of the layout that was read, also of an empty one, or `*`.",
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge},
	}, putLayout)
}

// Limits of a layout.
const (
	maxPositions   = 20_000
	maxLayoutBytes = 2 << 20
)

// Layout holds the positions of nodes.
type Layout struct {
	Nodes    map[string]Position            `json:"nodes" doc:"Positions by id of the node, of the main graph"`
	Branches map[string]map[string]Position `json:"branches,omitempty" doc:"Positions by branch and id of the node"`
}

// Position is the upper left corner of a node, in points; y grows downwards.
type Position struct {
	X float64 `json:"x" minimum:"-10000000" maximum:"10000000"`
	Y float64 `json:"y" minimum:"-10000000" maximum:"10000000"`
}

// layoutAnswer is the response with a layout, or without a body if the client already has it.
type layoutAnswer struct {
	Status int
	Tagged
	Body *Layout
}

func readLayout(text []byte) (*Layout, error) {
	l := &Layout{Nodes: map[string]Position{}}
	if text == nil {
		return l, nil
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read layout: %w", err)
	}
	return l, nil
}

func getLayout(ctx context.Context, c *transport.Caller, in *struct {
	WorkflowPath
	Unless
},
) (*layoutAnswer, error) {
	text, tag, err := c.Service.Layout(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &layoutAnswer{Status: http.StatusOK, Tagged: Tagged{quote(tag)}}
	if in.has(tag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	out.Body, err = readLayout(text)
	return out, err
}

type putLayoutInput struct {
	WorkflowPath
	Only
	Body Layout
}

func putLayout(ctx context.Context, c *transport.Caller, in *putLayoutInput) (*layoutAnswer, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	if in.IfMatch == "" {
		return nil, badField("header.If-Match", "is required: the ETag of the layout that was read, or *")
	}
	n := len(in.Body.Nodes)
	for _, b := range in.Body.Branches {
		n += len(b) + 1
	}
	if n > maxPositions {
		return nil, badField("body", fmt.Sprintf("at most %d positions and branches, got %d", maxPositions, n))
	}
	if in.Body.Nodes == nil {
		in.Body.Nodes = map[string]Position{}
	}
	text, err := json.Marshal(in.Body)
	if err != nil {
		return nil, fmt.Errorf("write layout: %w", err)
	}
	if len(text) > maxLayoutBytes {
		return nil, &transport.TooLargeError{Limit: fmt.Sprintf("layout of %d bytes", maxLayoutBytes)}
	}
	tag, err := c.Service.PutLayout(ctx, in.ID, text, expect)
	if err != nil {
		return nil, withTag(err, func() (string, error) {
			_, now, err := c.Service.Layout(ctx, in.ID)
			return now, err
		})
	}
	return &layoutAnswer{Status: http.StatusOK, Tagged: Tagged{quote(tag)}, Body: &in.Body}, nil
}

// withLayout returns a canvas document with the positions of the stored layout.
func withLayout(ctx context.Context, c *transport.Caller, id, document string) (string, error) {
	text, _, err := c.Service.Layout(ctx, id)
	if err != nil {
		return "", err
	}
	l, err := readLayout(text)
	if err != nil {
		return "", err
	}
	at := map[string]canvas.Position{}
	for node, p := range l.Nodes {
		at[node] = canvas.Position(p)
	}
	return string(canvas.Place([]byte(document), at)), nil
}
