package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

const tagRuns = "Runs"

// registerRuns registers the operations that read runs.
func (a *API) registerRuns() {
	add(a, route{
		Method: http.MethodGet, Path: "/runs", ID: "listRuns", Tag: tagRuns, Role: access.RoleRun,
		Summary: "List runs, newest first", Description: "Filters are combined with AND.",
	}, listRuns)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/counts", ID: "countRuns", Tag: tagRuns, Role: access.RoleRun,
		Summary: "Count runs", Description: "With the filters of the list, by what the runs have in common.",
	}, countRuns)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}", ID: "getRun", Tag: tagRuns, Role: access.RoleRun,
		Summary: "Show a run", Description: "With a page of its steps: `stepsNext` is the `cursor` of the next page. " +
			"Values above 32 KiB are references.", Errors: []int{http.StatusNotFound},
	}, getRun)
}

// RunLine is a run in a list.
type RunLine = view.RunLine

// optionalString returns a pointer to s, or nil if s is empty.
func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

type runsQuery struct {
	Page
	RunsFilter
}

// RunsFilter selects the runs of a list.
type RunsFilter struct {
	Status        string    `query:"status" doc:"Only these statuses, separated by commas" example:"paused,running"`
	Prefix        string    `query:"prefix" doc:"Only runs whose ids begin with this"`
	Workflow      string    `query:"workflow" doc:"Only runs of this workflow"`
	Parent        string    `query:"parent" doc:"Only runs that this run started"`
	Interrupted   bool      `query:"interrupted" doc:"Only runs that no living process drives"`
	CreatedFrom   time.Time `query:"createdFrom" doc:"Only runs from this time on"`
	CreatedBefore time.Time `query:"createdBefore" doc:"Only runs before this time"`
	Q             string    `query:"q" maxLength:"1000" doc:"Search input, output, error: words, \"phrases\", prefix*"`
	Label         []string  `query:"label" maxItems:"32" doc:"Label selectors: key=value, key!=value, key, !key"`
	Format        string    `query:"format" doc:"Only runs of documents in this language"`
	Branch        string    `query:"branch" doc:"Only runs of this branch"`
	Trigger       string    `query:"trigger" doc:"Started by cli, api, mcp, openai, webhook, schedule, program or run"`
	Code          string    `query:"code" doc:"Only runs that failed with this code"`
	MinCost       float64   `query:"minCost" minimum:"0" doc:"Only runs that cost this many US dollars or more"`
	MaxCost       float64   `query:"maxCost" minimum:"-1" default:"-1" doc:"At most this cost in US dollars; -1: any"`
	MinDuration   string    `query:"minDuration" doc:"Only runs that ended after this time or more, such as 90s"`
	MaxDuration   string    `query:"maxDuration" doc:"Only runs that ended after this time or less"`
}

func listRuns(ctx context.Context, c *transport.Caller, in *runsQuery) (*listAnswer[RunLine], error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	q.Limit, q.Cursor = in.Limit, in.Cursor
	heads, next, err := c.Service.List(ctx, q)
	if err != nil {
		return nil, err
	}
	items := make([]RunLine, len(heads))
	for i, h := range heads {
		items[i] = view.LineOf(h)
	}
	return listOf(items, next), nil
}

// countsAnswer is the response with counts of runs.
type countsAnswer struct{ Body view.RunCounts }

func countRuns(ctx context.Context, c *transport.Caller, in *RunsFilter) (*countsAnswer, error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	counts, err := c.Service.RunCounts(ctx, q)
	return &countsAnswer{counts}, err
}

// query returns the store query for the filter.
func (in *RunsFilter) query() (journal.Query, error) {
	q := journal.Query{
		Prefix: in.Prefix, Workflow: in.Workflow, Parent: in.Parent, Interrupted: in.Interrupted,
		CreatedFrom: in.CreatedFrom, CreatedBefore: in.CreatedBefore,
	}
	for name := range strings.SplitSeq(in.Status, ",") {
		if in.Status == "" {
			break
		}
		st := journal.Status(strings.TrimSpace(name))
		if !st.IsKnown() {
			return q, formProblem(http.StatusUnprocessableEntity, "query.status: must be one of "+statusNames(),
				InputError{"query.status", "must be one of " + statusNames()})
		}
		if !slices.Contains(q.Statuses, st) {
			q.Statuses = append(q.Statuses, st)
		}
	}
	f := service.Filter{
		Labels: in.Label, Search: in.Q, Format: in.Format, Branch: in.Branch, Trigger: in.Trigger, Code: in.Code,
		MinDuration: in.MinDuration, MaxDuration: in.MaxDuration,
	}
	if in.MinCost > 0 {
		f.MinCost = &in.MinCost
	}
	if in.MaxCost >= 0 {
		f.MaxCost = &in.MaxCost
	}
	return q, f.Apply(&q)
}

func statusNames() string {
	var names []string
	for _, s := range journal.Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// RunPath is the path parameter that identifies a run.
type RunPath struct {
	ID string `path:"id" doc:"Id of the run"`
}

// RunAnswer is the response with a run object.
type RunAnswer struct{ Body Rendered[view.Run] }

type runQuery struct {
	RunPath
	ViewPage
	Steps string `query:"steps" enum:"none" doc:"none: without steps"`
}

func getRun(ctx context.Context, c *transport.Caller, in *runQuery) (*RunAnswer, error) {
	page := in.page()
	if in.Steps != "" {
		page.Limit = 0
	}
	return runAnswer(ctx, c, in.ID, page)
}

func runAnswer(ctx context.Context, c *transport.Caller, run string, page view.Page) (*RunAnswer, error) {
	r, err := c.Service.View(ctx, run)
	if err != nil {
		return nil, err
	}
	o, err := r.Run(ctx, page)
	if err != nil {
		return nil, paged(err)
	}
	body, err := render(ctx, r, o, view.Limit)
	return &RunAnswer{body}, err
}
