package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// scheme is the scheme of resource URIs.
const scheme = "hocket://"

// Kinds of resources.
const (
	kindWorkflows = "workflows"
	kindAgents    = "agents"
	kindRuns      = "runs"
)

// resource is a parsed URI: hocket://KIND, hocket://KIND/ID, hocket://runs/ID/events or
// hocket://runs/ID/values/text|json/DIGEST[/OFFSET].
type resource struct {
	kind, id string
	events   bool
	// value is the digest of a long value of the run, and offset the position from which it is
	// read.
	value  string
	isText bool
	offset int64
}

func parseURI(uri string) (r resource, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return r, false
	}
	parts := strings.Split(rest, "/")
	if r.kind = parts[0]; r.kind != kindWorkflows && r.kind != kindAgents && r.kind != kindRuns {
		return r, false
	}
	if len(parts) > 1 {
		var err error
		if r.id, err = url.PathUnescape(parts[1]); err != nil || r.id == "" {
			return r, false
		}
	}
	switch {
	case len(parts) == 3 && r.kind == kindRuns && parts[2] == "events":
		r.events = true
	case len(parts) > 3 && r.kind == kindRuns && parts[2] == "values":
		ok = r.parseValue(parts[3:])
		return r, ok
	case len(parts) > 2:
		return r, false
	}
	return r, true
}

func workflowURI(id string) string { return scheme + kindWorkflows + "/" + url.PathEscape(id) }
func runURI(id string) string      { return scheme + kindRuns + "/" + url.PathEscape(id) }
func eventsURI(id string) string   { return runURI(id) + "/events" }

const (
	mimeJSON  = "application/json"
	mimeLines = "application/jsonl"
	mimeYAML  = "application/yaml"
)

func listResource(kind, about string) *sdk.Resource {
	return &sdk.Resource{URI: scheme + kind, Name: kind, Description: about, MIMEType: mimeJSON}
}

func listsOfResources() []*sdk.Resource {
	return []*sdk.Resource{
		listResource(kindWorkflows, "The stored workflows."), listResource(kindAgents, "The stored agents."),
		listResource(kindRuns, "The latest runs, newest first."),
	}
}

// addLists adds the lists as resources, which also notifies clients that the set of resources may
// have changed.
func (d *account) addLists() {
	for _, r := range listsOfResources() {
		d.mcp.AddResource(r, d.readResource)
	}
}

func (d *account) addResources() {
	d.addLists()
	for _, t := range []*sdk.ResourceTemplate{
		{URITemplate: scheme + "workflows/{id}", Name: "workflow",
			Description: "The published document of a workflow, as stored."},
		{URITemplate: scheme + "agents/{id}", Name: "agent", Description: "An agent with all its keys.",
			MIMEType: mimeJSON},
		{URITemplate: scheme + "runs/{id}", Name: "run", Description: "A whole run: status, steps, trail, output.",
			MIMEType: mimeJSON},
		{URITemplate: scheme + "runs/{id}/events", Name: "events",
			Description: "All recorded events of a run, one JSON line each.", MIMEType: mimeLines},
		{URITemplate: scheme + "runs/{id}/values/{kind}/{digest}", Name: "value",
			Description: "A long value of a run, at the href of a reference; text or json. Values above 1 MiB come " +
				"in pieces."},
		{URITemplate: scheme + "runs/{id}/values/{kind}/{digest}/{offset}", Name: "value piece",
			Description: "A long value, from an offset."},
	} {
		d.mcp.AddResourceTemplate(t, d.readResource)
	}
}

// readResource is the SDK's handler for all resources.
func (d *account) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	ctx, _, err := d.require(ctx, access.RoleRun)
	if err != nil {
		return nil, err
	}
	uri := req.Params.URI
	r, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if r.value != "" {
		out, err := d.readValue(ctx, uri, r)
		if err != nil {
			return nil, d.unread(uri, err)
		}
		return out, nil
	}
	text, mime, err := d.read(ctx, r)
	if err != nil {
		return nil, d.unread(uri, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: string(text)}}},
		nil
}

// unread returns the protocol error for a resource that cannot be read.
func (d *account) unread(uri string, err error) error {
	p := problemOf(err)
	switch p.Code {
	case "not_found":
		return sdk.ResourceNotFoundError(uri)
	case "internal":
		d.server.log.Error("read MCP resource", "uri", uri, "error", err)
		return errors.New(p.Title)
	}
	return errors.New(problemText(p))
}

// read returns the content of a resource and its media type.
func (d *account) read(ctx context.Context, r resource) ([]byte, string, error) {
	switch {
	case r.id == "":
		return d.readList(ctx, r.kind)
	case r.kind == kindWorkflows:
		if _, err := transport.From(ctx).Service.VisibleEntry(ctx, r.id, d.key.May(access.RoleEdit)); err != nil {
			return nil, "", err
		}
		def, err := transport.From(ctx).Service.Definition(ctx, r.id, service.Which{})
		mime := mimeYAML
		if json.Valid(def.Text) {
			mime = mimeJSON
		}
		return def.Text, mime, err
	case r.kind == kindAgents:
		row, err := agentRow(ctx, transport.From(ctx).Service, r.id)
		if err != nil {
			return nil, "", err
		}
		return catalog.AgentJSON(row), mimeJSON, nil
	case r.events:
		text, err := d.readEvents(ctx, r.id)
		return text, mimeLines, err
	}
	text, err := d.readRun(ctx, r.id)
	return text, mimeJSON, err
}

func (d *account) readList(ctx context.Context, kind string) ([]byte, string, error) {
	var out any
	switch kind {
	case kindWorkflows:
		entries, err := transport.From(ctx).Service.Visible(ctx, d.key.May(access.RoleEdit))
		if err != nil {
			return nil, "", err
		}
		lines := make([]workflowLine, len(entries))
		for i, e := range entries {
			lines[i] = workflowLineOf(e)
		}
		out = lines
	case kindAgents:
		text, err := transport.From(ctx).Service.AgentsText(ctx, nil)
		return text, mimeJSON, err
	default:
		heads, _, err := transport.From(ctx).Service.List(ctx, journal.Query{})
		if err != nil {
			return nil, "", err
		}
		lines := make([]runLine, len(heads))
		for i, h := range heads {
			lines[i] = runLineOf(h)
		}
		out = lines
	}
	return encode(out), mimeJSON, nil
}

// Cursors of resource lists: workflows first, by id, then runs, newest first.
const (
	afterWorkflow = "w:"
	afterRun      = "r:"
)

// listResources returns a page of resources: the lists on the first page, then workflows, then
// runs.
func (d *account) listResources(ctx context.Context, p *sdk.ListResourcesParams) (sdk.Result, error) {
	ctx, _, err := d.require(ctx, access.RoleRun)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if p != nil {
		cursor = p.Cursor
	}
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	if cursor == "" {
		out.Resources = append(out.Resources, listsOfResources()...)
	}
	place, isRuns := strings.CutPrefix(cursor, afterRun)
	id, isWorkflows := strings.CutPrefix(cursor, afterWorkflow)
	switch {
	case isRuns:
	case cursor != "" && !isWorkflows:
		return nil, d.unread(scheme, service.Refuse(errcode.InvalidCursor, nil, nil))
	default:
		place = ""
	}
	if !isRuns {
		entries, err := transport.From(ctx).Service.Visible(ctx, d.key.May(access.RoleEdit))
		if err != nil {
			return nil, d.unread(scheme, err)
		}
		entries, next := pageAfter(page{Cursor: id}, entries, func(e catalog.Entry) string { return e.ID })
		for _, e := range entries {
			out.Resources = append(out.Resources, &sdk.Resource{URI: workflowURI(e.ID), Name: e.ID, Title: e.Name,
				Description: "Workflow, " + e.Format})
		}
		if next != "" {
			out.NextCursor = afterWorkflow + next
			return out, nil
		}
	}
	heads, next, err := transport.From(ctx).Service.List(ctx, journal.Query{Limit: defaultPage, Cursor: place})
	if err != nil {
		return nil, d.unread(scheme, err)
	}
	for _, h := range heads {
		out.Resources = append(out.Resources, &sdk.Resource{URI: runURI(h.Run), Name: h.Run, Title: h.WorkflowName,
			Description: "Run, " + string(h.Status), MIMEType: mimeJSON})
	}
	if next != "" {
		out.NextCursor = afterRun + next
	}
	return out, nil
}

// maxCompletions is the maximum number of suggestions that the protocol allows.
const maxCompletions = 100

// complete suggests ids for resource templates.
func (d *account) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	ctx, _, err := d.require(ctx, access.RoleRun)
	if err != nil {
		return nil, err
	}
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	r, ok := parseURI(strings.Replace(cmp.Or(req.Params.Ref.URI, "none"), "{id}", "id", 1))
	if !ok || req.Params.Argument.Name != "id" {
		return out, nil // prompts, which do not exist here
	}
	ids, err := d.ids(ctx, r.kind)
	if err != nil {
		return nil, d.unread(scheme, err)
	}
	for _, id := range ids {
		if strings.HasPrefix(id, req.Params.Argument.Value) {
			out.Completion.Total++
			if len(out.Completion.Values) < maxCompletions {
				out.Completion.Values = append(out.Completion.Values, id)
			}
		}
	}
	out.Completion.HasMore = out.Completion.Total > len(out.Completion.Values)
	return out, nil
}

// ids returns the ids of all workflows or agents, or of the latest runs.
func (d *account) ids(ctx context.Context, kind string) (ids []string, err error) {
	switch kind {
	case kindWorkflows:
		entries, err := transport.From(ctx).Service.Visible(ctx, d.key.May(access.RoleEdit))
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return ids, err
	case kindAgents:
		rows, err := transport.From(ctx).Service.Agents(ctx)
		for _, r := range rows {
			ids = append(ids, r.ID())
		}
		return ids, err
	}
	heads, _, err := transport.From(ctx).Service.List(ctx, journal.Query{})
	for _, h := range heads {
		ids = append(ids, h.Run)
	}
	return ids, err
}
