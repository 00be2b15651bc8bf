package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
)

func (a *API) registerWaits() {
	add(a, route{
		Method: http.MethodGet, Path: "/waits", ID: "listWaits", Tag: tagRuns, Role: access.RoleRun,
		Summary: "List open waits",
		Description: "Questions and approvals that runs wait for, those of the newest runs first. A page has the " +
			"waits of at least one run, and of at most `limit` runs. Answer one with resumeRun.",
	}, listWaits)
}

// OpenWait is an open wait with its run.
type OpenWait struct {
	Run      string `json:"run"`
	Workflow string `json:"workflow" doc:"Id of the stored workflow, else the name of the document"`
	project.Waiting
}

type waitsQuery struct {
	Page
	Workflow string `query:"workflow" doc:"Only waits of runs of this workflow"`
}

// listWaits reads runs page by page until it finds runs with open waits.
func listWaits(ctx context.Context, c *transport.Caller, in *waitsQuery) (*listAnswer[Rendered[OpenWait]], error) {
	q := journal.Query{Statuses: []journal.Status{journal.StatusPaused, journal.StatusRunning}, Workflow: in.Workflow,
		Limit: in.Limit, Cursor: in.Cursor}
	var items []Rendered[OpenWait]
	for {
		heads, next, err := c.Service.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			if h.Waiting == 0 {
				continue
			}
			some, err := waitsOf(ctx, c, h)
			if errors.Is(err, journal.ErrNotFound) {
				continue // it has been deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			items = append(items, some...)
		}
		if q.Cursor = next; next == "" || len(items) > 0 {
			return listOf(items, next), nil
		}
	}
}

// waitsOf returns the open waits of a run.
func waitsOf(ctx context.Context, c *transport.Caller, h journal.Head) ([]Rendered[OpenWait], error) {
	r, err := c.Service.View(ctx, h.Run)
	if err != nil {
		return nil, err
	}
	run, err := r.Run(ctx, view.Page{})
	if err != nil {
		return nil, err
	}
	var out []Rendered[OpenWait]
	for _, w := range run.Waiting {
		asked, err := c.Service.IsAskedBelow(ctx, h.Run, w.Below)
		if err != nil {
			return nil, err
		}
		if asked {
			continue // it is listed with the run that asks the question
		}
		one, err := render(ctx, r, OpenWait{h.Run, h.Workflow, w}, view.Limit)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
