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
	"github.com/hocket-run/hocket/internal/door"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
)

// registerRunViews registers what is computed from a run's events.
func (a *API) registerRunViews() {
	missing := []int{http.StatusNotFound}
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/events", ID: "listEvents", Tag: tagRuns, Role: access.RoleRun, Errors: missing,
		Summary: "List the events of a run", Description: "The cursor is the number of the last event that was seen.",
	}, listEvents)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/logs", ID: "getLogs", Tag: tagRuns, Role: access.RoleRun, Errors: missing,
		Summary: "Show the log of a run", Description: "All entries, in order.",
	}, getLogs)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/trail", ID: "getTrail", Tag: tagRuns, Role: access.RoleRun, Errors: missing,
		Summary: "Show what each agent was given and gave", Description: "All executions that have ended, in the order in which they started.",
	}, getTrail)
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/context", ID: "getContext", Tag: tagRuns, Role: access.RoleRun, Errors: missing,
		Summary: "Show the step context of a run", Description: "Results by step, as conditions and templates of steps documents see them.",
	}, getContext)
}

// Event is an event as it is told everywhere: JSON as it was written.
type Event json.RawMessage

// MarshalJSON implements json.Marshaler.
func (e Event) MarshalJSON() ([]byte, error) { return e, nil }

// Schema implements huma.SchemaProvider.
func (Event) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[eventShape](), true, "Event")
}

// eventShape is what an Event holds.
type eventShape struct {
	Run  string          `json:"run"`
	Seq  uint64          `json:"seq" doc:"Number of the event in its run, from 1, without gaps"`
	Time time.Time       `json:"time" doc:"UTC, in microseconds"`
	Type string          `json:"type" example:"step.completed" doc:"Readers ignore types that they do not know"`
	Node *string         `json:"node" doc:"Null where the event belongs to the whole run"`
	Step *int            `json:"step" doc:"Number of the step in the run; null where the event belongs to the whole run"`
	Data json.RawMessage `json:"data" doc:"What happened; its fields depend on the type"`
}

type eventsInput struct {
	RunPath
	Cursor uint64 `query:"cursor" doc:"Only events after this number"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"At most so many"`
}

// maxEventsBytes bounds a page of events, however few they are then: one event tells all that a model was asked.
const maxEventsBytes = 8 << 20

var errPageFull = errors.New("the page is full")

func listEvents(ctx context.Context, c *door.Caller, in *eventsInput) (*listed[Event], error) {
	_, def, err := c.Service.RunDefinition(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var (
		folder = project.NewFolder(in.ID, def)
		items  []Event
		next   string
		size   int
	)
	err = c.Service.EachEvent(ctx, in.ID, 0, func(e engine.Event) error {
		if e.Seq > in.Cursor {
			if len(items) == in.Limit || size >= maxEventsBytes {
				next = strconv.FormatUint(e.Seq-1, 10)
				return errPageFull
			}
			text, err := journal.MarshalEvent(in.ID, folder.Expand(e))
			if err != nil {
				return err
			}
			size += len(text)
			items = append(items, Event(text))
		}
		folder.Add(e)
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	return listOf(items, next), nil
}

func getLogs(ctx context.Context, c *door.Caller, in *RunPath) (*listed[project.LogEntry], error) {
	rec, err := c.Service.Read(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return listOf(project.Logs(rec.Workflow, rec.Events), ""), nil
}

func getTrail(ctx context.Context, c *door.Caller, in *RunPath) (*listed[project.TrailEntry], error) {
	rec, err := c.Service.Read(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return listOf(project.Fold(in.ID, rec.Workflow, rec.Events).Trail(), ""), nil
}

// contextAnswer is the answer with a step context.
type contextAnswer struct {
	Body engine.Value `doc:"Results by step"`
}

func getContext(ctx context.Context, c *door.Caller, in *RunPath) (*contextAnswer, error) {
	rec, err := c.Service.Read(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &contextAnswer{project.Fold(in.ID, rec.Workflow, rec.Events).Context()}, nil
}
