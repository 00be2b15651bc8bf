package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

const (
	tagSchedules = "Schedules"
	tagOffers    = "Tools and models"
)

// registerOffers registers the operations that list the available tools and models, and the
// schedules.
func (a *API) registerOffers() {
	add(a, route{
		Method: http.MethodGet, Path: "/tools", ID: "listTools", Tag: tagOffers, Role: access.RoleRun,
		Summary: "List the tools that documents may use",
	}, listTools)
	add(a, route{
		Method: http.MethodGet, Path: "/models", ID: "listModels", Tag: tagOffers, Role: access.RoleRun,
		Summary:     "List the model providers that documents may use",
		Description: "No provider is contacted: a usable provider has an address and its key.",
	}, listModels)
	add(a, route{
		Method: http.MethodGet, Path: "/schedules", ID: "listSchedules", Tag: tagSchedules, Role: access.RoleRun,
		Summary: "List the schedules of published workflows", Description: "Ordered by workflow, branch and id.",
	}, listSchedules)
	add(a, route{
		Method: http.MethodGet, Path: "/schedules/preview", ID: "previewSchedule", Tag: tagSchedules,
		Role: access.RoleRun, Errors: []int{http.StatusNotFound},
		Summary:     "List the next scheduled starts of a stored workflow",
		Description: "The draft needs the role edit. Nothing is started.",
	}, previewSchedule)
	a.registerControls()
}

// ToolOffer is a kind of toolset, a toolset or server configured by the operator, or a tool of the
// program.
type ToolOffer struct {
	Name  string `json:"name" doc:"Name in documents"`
	Type  string `json:"type" doc:"Kind of toolset; tool: a tool of the program itself"`
	Named bool   `json:"named" doc:"The operator named it, and documents refer to it by that name"`
	How   string `json:"how" doc:"How a document uses it"`
}

func listTools(_ context.Context, c *transport.Caller, in *Page) (*listAnswer[ToolOffer], error) {
	o := c.Service.ToolOffers()
	var all []ToolOffer
	for _, k := range o.Kinds {
		all = append(all, ToolOffer{k.Type, k.Type, false, k.How})
	}
	for _, n := range o.Named {
		all = append(all, ToolOffer{n.Name, n.Type, true, "by its name"})
	}
	for _, name := range o.Own {
		all = append(all, ToolOffer{name, "tool", true, "an agent lists it by name"})
	}
	return sorted(*in, all, func(t ToolOffer) string { return t.Name + "\x00" + t.Type })
}

// ModelOffer is a model provider, or a model that the operator has named.
type ModelOffer struct {
	Name    string `json:"name" doc:"Provider (a reference up to the first slash), or the operator's name of a model"`
	Kind    string `json:"kind" enum:"provider,model"`
	Usable  bool   `json:"usable" doc:"It can be called"`
	Default bool   `json:"default" doc:"It is the default model, or the provider of the default model"`
	Problem string `json:"problem" doc:"Why it is not usable; empty if it is"`
}

func listModels(_ context.Context, c *transport.Caller, in *Page) (*listAnswer[ModelOffer], error) {
	o := c.Service.ModelOffers()
	isDefault := func(name string) bool {
		return o.Default == name || len(o.Default) > len(name) && o.Default[:len(name)+1] == name+"/"
	}
	var all []ModelOffer
	for _, p := range o.Providers {
		all = append(all, ModelOffer{p.Provider, "provider", p.Usable, isDefault(p.Provider), p.Problem})
	}
	for _, name := range o.Own {
		all = append(all, ModelOffer{name, "provider", true, isDefault(name), ""})
	}
	for _, name := range o.Named {
		all = append(all, ModelOffer{name, "model", true, isDefault(name), ""})
	}
	return sorted(*in, all, func(m ModelOffer) string { return m.Name + "\x00" + m.Kind })
}

// Scheduled is a schedule of a published workflow, or of a graph in a Go program.
type Scheduled struct {
	Program    *string         `json:"program" doc:"Go program of the graph, which starts runs; null: stored workflow"`
	Workflow   string          `json:"workflow" doc:"Id of the workflow, or name of the graph"`
	Branch     *string         `json:"branch" doc:"Null: the main graph"`
	ID         *string         `json:"id" doc:"Id of the schedule within its workflow; null: it has none"`
	Version    *int            `json:"version" doc:"Version of the workflow; null: it consists of rows"`
	Mode       string          `json:"mode"`
	Spec       string          `json:"spec"`
	Zone       string          `json:"zone" doc:"Time zone of the schedule; empty if it has none"`
	Inputs     json.RawMessage `json:"inputs" doc:"Inputs of its runs by name; null: none"`
	Next       *time.Time      `json:"next" doc:"Next planned time that starts a run; null if unknown or paused"`
	LastRun    *string         `json:"lastRun" doc:"The last run that the schedule started"`
	LastStatus *string         `json:"lastStatus" doc:"Status of the last run; null if the run was deleted"`
	Paused     *Said           `json:"paused" doc:"Who paused it, and when; null: it is not paused"`
	Skip       *SkipFact       `json:"skip" doc:"Planned times that are skipped; null: none"`
	Asked      *AskedFact      `json:"asked" doc:"A run that was asked for and has not started yet; null: none"`
	Problem    string          `json:"problem" doc:"Why it cannot be read; empty if it can"`
	Refused    *RefusedFact    `json:"refused" doc:"Why the last run was refused; null: it was accepted, or none came"`
}

func scheduledOf(s service.Scheduled) Scheduled {
	out := Scheduled{
		Program: optionalString(s.Program), Workflow: s.Workflow, Branch: optionalString(s.Branch.Branch),
		ID:      optionalString(s.Key.Schedule),
		Version: optionalInt(s.Version), Mode: s.Schedule.Mode, Spec: s.Schedule.Spec, Zone: s.Zone,
		Inputs:  s.Schedule.Inputs,
		LastRun: optionalString(s.LastRun), LastStatus: optionalString(string(s.LastStatus)),
	}
	if !s.Next.IsZero() {
		out.Next = &s.Next
	}
	out.setControls(s)
	if s.Err != nil {
		out.Problem = s.Err.Error()
	}
	return out
}

// text returns *s, or "" if s is nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// zoneOf loads the time zone with the given name; "" yields nil.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no zone is one of the answers
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, badField("query.tz", "not a time zone of the IANA database, such as Europe/Berlin")
	}
	return loc, nil
}

func listSchedules(ctx context.Context, c *transport.Caller, in *struct {
	Page
	TZ string `query:"tz" doc:"Time zone of schedules without one; absent: the server's" example:"Europe/Berlin"`
}) (*listAnswer[Scheduled], error) {
	zone, err := zoneOf(in.TZ)
	if err != nil {
		return nil, err
	}
	list, _, _, err := c.Service.Schedules(ctx, zone)
	if err != nil {
		return nil, err
	}
	var all []Scheduled
	for _, s := range list {
		all = append(all, scheduledOf(s))
	}
	return sorted(in.Page, all, func(s Scheduled) string {
		return text(s.Program) + "\x00" + s.Workflow + "\x00" + text(s.Branch) + "\x00" + text(s.ID)
	})
}

// Preview lists the times at which a schedule would start runs.
type Preview struct {
	Branch *string     `json:"branch" doc:"Null: the main graph"`
	ID     *string     `json:"id" doc:"Id of the schedule; null: it has none"`
	Zone   string      `json:"zone"`
	Times  []time.Time `json:"times" doc:"Planned times; may be empty"`
}

type previewQuery struct {
	Workflow string    `query:"workflow" required:"true" doc:"Id of the workflow"`
	Draft    bool      `query:"draft" doc:"The draft of the workflow; needs the role edit"`
	Branch   string    `query:"branch" doc:"Branch; absent: the main graph, or the only one that has a schedule"`
	Schedule string    `query:"schedule" doc:"Id of the schedule; absent: the only one"`
	TZ       string    `query:"tz" doc:"Time zone of the schedule; overrides the document's" example:"Europe/Berlin"`
	From     time.Time `query:"from" doc:"Times after this one; absent: now"`
	Count    int       `query:"count" minimum:"1" maximum:"100" default:"5" doc:"Number of times"`
}

func previewSchedule(ctx context.Context, c *transport.Caller, in *previewQuery) (*struct{ Body Preview }, error) {
	zone, err := zoneOf(in.TZ)
	if err != nil {
		return nil, err
	}
	if in.From.Year() >= service.LastYear {
		return nil, badField("query.from", fmt.Sprintf("must be before the year %d", service.LastYear))
	}
	if in.Draft {
		err = c.RequireDrafts()
	}
	if err == nil {
		_, err = c.Service.VisibleEntry(ctx, in.Workflow, c.SeesDrafts())
	}
	if err != nil {
		return nil, err
	}
	w, _, problems, err := c.Service.LoadStored(ctx, in.Workflow, service.Which{Draft: in.Draft}, service.LoadOptions{})
	switch {
	case err != nil:
		return nil, err
	case problems.HasErrors():
		return nil, refused(problems)
	}
	q := service.PreviewRequest{Branch: in.Branch, ID: in.Schedule, Zone: zone, From: in.From, Count: in.Count}
	if q.From.IsZero() {
		q.From = time.Now()
	}
	p, err := service.PreviewOf(w, q)
	if err != nil {
		return nil, err
	}
	return &struct {
		Body Preview
	}{Preview{optionalString(p.Branch), optionalString(p.ID), p.Zone.String(), append([]time.Time{}, p.Times...)}}, nil
}
