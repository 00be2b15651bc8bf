package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
)

// registerRunViews registers the views that are computed from a run's events.
func (a *API) registerRunViews() {
	shows := func(path, id, summary, description string) route {
		return route{
			Method: http.MethodGet, Path: "/runs/{id}/" + path, ID: id, Tag: tagRuns, Role: access.RoleRun,
			Errors:  []int{http.StatusNotFound},
			Summary: summary, Description: description,
		}
	}
	add(a, shows("events", "listEvents", "List the events of a run",
		"The cursor is the number of the last event of the previous page."), listEvents)
	add(a, shows("steps", "listSteps", "List the steps of a run", "In the order of their starts."),
		paging(func(r *view.Reader, ctx context.Context, p view.Page) ([]project.Step, string, error) {
			run, err := r.Run(ctx, p)
			return run.Steps, run.StepsNext, err
		}))
	add(a, shows("steps/{seq}", "getStep", "Show a step of a run", ""), getStep)
	add(a, shows("logs", "getLogs", "Show the log of a run", "The entries in order."), paging((*view.Reader).Logs))
	add(a, shows("trail", "getTrail", "Show the input and output of each agent",
		"The executions that have ended, in the order of their starts. While the run is in progress, one that ends "+
			"late may come before others that were already listed."), paging((*view.Reader).Trail))
	add(a, shows("context", "getContext", "Show the step context of a run",
		"Results by step, as conditions and templates of steps documents read them."), getContext)
	a.registerLong()
}

// Event is an event in the form that all interfaces share: JSON as it was written.
type Event json.RawMessage

// MarshalJSON implements json.Marshaler.
func (e Event) MarshalJSON() ([]byte, error) { return e, nil }

// Schema implements huma.SchemaProvider.
func (Event) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[eventShape](), true, "Event")
}

// eventShape is the structure of an Event.
type eventShape struct {
	Run  string          `json:"run"`
	Seq  uint64          `json:"seq" doc:"Number of the event in its run, from 1, without gaps"`
	Time time.Time       `json:"time" doc:"UTC, with microseconds"`
	Type string          `json:"type" example:"step.completed" doc:"Readers ignore types that they do not know"`
	Node *string         `json:"node" doc:"Null if the event belongs to the whole run"`
	Step *int            `json:"step" doc:"Number of the step in the run; null if the event belongs to the whole run"`
	Data json.RawMessage `json:"data" doc:"What happened; its fields depend on the type"`
}

// viewAnswer is the response with a page of a view that has already been rendered.
type viewAnswer[T any] struct{ Body Rendered[List[T]] }

func viewedOf[T any](ctx context.Context, r *view.Reader, items []T, next string, short int) (*viewAnswer[T], error) {
	if items == nil {
		items = []T{}
	}
	body, err := render(ctx, r, List[T]{items, next}, short)
	return &viewAnswer[T]{body}, err
}

type eventsInput struct {
	RunPath
	Cursor uint64 `query:"cursor" doc:"Only events after this number"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"Maximum number of events"`
	Short  int    `query:"short" minimum:"256" maximum:"32768" default:"32768" doc:"Maximum inline value size in bytes"`
	Expand bool   `query:"expand" doc:"Show inputs of steps as texts (input), not as recipes (recipe)"`
}

var errPageFull = errors.New("the page is full")

func listEvents(ctx context.Context, c *transport.Caller, in *eventsInput) (*viewAnswer[Event], error) {
	r, err := c.Service.View(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var (
		folder = r.Folder()
		items  []Event
		next   string
	)
	err = r.Each(ctx, 0, func(e event.Event) error {
		if e.Seq > in.Cursor {
			if len(items) == in.Limit {
				next = strconv.FormatUint(e.Seq-1, 10)
				return errPageFull
			}
			text, err := r.Event(folder.Shown(e, in.Expand))
			if err != nil {
				return err
			}
			items = append(items, Event(text))
		}
		folder.Add(e)
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	return viewedOf(ctx, r, items, next, in.Short)
}

type viewInput struct {
	RunPath
	ViewPage
}

// paging returns a handler for the pages of a view that read returns.
func paging[T any](read func(*view.Reader, context.Context, view.Page) ([]T, string, error)) func(context.Context,
	*transport.Caller, *viewInput) (*viewAnswer[T], error) {
	return func(ctx context.Context, c *transport.Caller, in *viewInput) (*viewAnswer[T], error) {
		r, err := c.Service.View(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		items, next, err := read(r, ctx, in.page())
		if err != nil {
			return nil, paged(err)
		}
		return viewedOf(ctx, r, items, next, view.Limit)
	}
}

type stepInput struct {
	RunPath
	Seq int `path:"seq" minimum:"1" doc:"Number of the step"`
}

// stepAnswer is the response with a step.
type stepAnswer struct{ Body Rendered[project.Step] }

func getStep(ctx context.Context, c *transport.Caller, in *stepInput) (*stepAnswer, error) {
	r, err := c.Service.View(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	s, ok, err := r.Step(ctx, in.Seq)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, notFoundInRun(in.ID, "step", strconv.Itoa(in.Seq))
	}
	body, err := render(ctx, r, s, view.Limit)
	return &stepAnswer{body}, err
}

// notFoundInRun returns the error for a run that has no such step, call or value.
func notFoundInRun(run, what, id string) error {
	return errcode.New(errcode.RunPartNotFound, errcode.Fields{"run": run, "what": what, "id": id}, journal.ErrNotFound)
}

// contextAnswer is the response with a step context.
type contextAnswer struct {
	Body Rendered[event.Value] `doc:"Results by step"`
}

func getContext(ctx context.Context, c *transport.Caller, in *RunPath) (*contextAnswer, error) {
	r, err := c.Service.View(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	steps, err := r.Context(ctx)
	if err != nil {
		return nil, err
	}
	body, err := render(ctx, r, steps, view.Limit)
	return &contextAnswer{body}, err
}
