package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service"
)

// Apply stores documents, all or none. A file of agents is read locally; everything else is decided
// by the server, which returns the same list of problems as a local store. The error may be a
// *service.InvalidError.
func (r *Remote) Apply(ctx context.Context, q service.ApplyRequest) (
	done service.Applied, problems diag.List, err error) {
	docs := q.Documents
	body := api.ApplyBody{Id: optional(q.ID), Format: optional(q.Format), Draft: optional(q.Draft),
		Replace:      optional(q.Replace),
		AllowUnknown: optional(q.AllowUnknown), Documents: sources(docs)}
	if q.AgentsFile != "" {
		text := q.AgentsText
		if text == nil {
			if text, err = service.ReadFile(q.AgentsFile, q.Stdin); err != nil {
				return done, nil, err
			}
		}
		docs = append(slices.Clip(docs), service.Document{File: q.AgentsFile, Data: text})
		body.Agents = &sources(docs[len(docs)-1:])[0]
	}
	if problems := encodingProblems(docs); problems.HasErrors() {
		return done, problems, nil
	}
	var out struct {
		api.Applied

		Diagnostics diag.List `json:"diagnostics"`
	}
	res, err := r.api.ApplyWorkflows(ctx, body)
	if problems, err := splitProblems(r.read(res, err, &out)); err != nil || problems != nil {
		return done, problems, err
	}
	for _, w := range out.Workflows {
		e := entry(w.Id, w.Name, w.Format, w.Published, w.Draft, w.HasRows, w.UpdatedAt, w.Labels)
		done.Workflows = append(done.Workflows, catalog.Stored{Entry: e, Version: int(w.Version),
			Unchanged: w.Unchanged})
	}
	done.Agents = out.Agents
	return done, out.Diagnostics, nil
}

// ApplyAgents stores the agents of lists, all or none, and returns their ids.
func (r *Remote) ApplyAgents(ctx context.Context, q service.ApplyAgentsRequest) (
	ids []string, problems diag.List, err error) {
	if problems := encodingProblems(q.Documents); problems.HasErrors() {
		return nil, problems, nil
	}
	var out struct {
		api.AppliedAgents

		Diagnostics diag.List `json:"diagnostics"`
	}
	res, err := r.api.ApplyAgents(ctx, api.ApplyAgentsBody{Documents: sources(q.Documents),
		Replace:      optional(q.Replace),
		AllowUnknown: optional(q.AllowUnknown)})
	if problems, err := splitProblems(r.read(res, err, &out)); err != nil || problems != nil {
		return nil, problems, err
	}
	return out.Agents, out.Diagnostics, nil
}

func sources(docs []service.Document) []api.Source {
	out := make([]api.Source, len(docs))
	for i, d := range docs {
		out[i] = api.Source{File: d.File, Document: string(d.Data)}
	}
	return out
}

// encodingProblems returns the problems of documents that JSON cannot represent: strings that are
// not UTF-8 would be changed in transit.
func encodingProblems(docs []service.Document) (problems diag.List) {
	for _, d := range docs {
		if !utf8.Valid(d.Data) {
			_, list := source.Parse(d.File, d.Data)
			problems = append(problems, list...)
		}
	}
	return problems
}

// splitProblems separates the problems of documents, which are not errors when definitions are
// stored, from all other errors.
func splitProblems(err error) (diag.List, error) {
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok && invalid.Diagnostics.HasErrors() {
		return invalid.Diagnostics, nil
	}
	return nil, err
}

// entry returns a stored workflow from the fields that all responses share.
func entry(id, name, format string, published, draft *int64, hasRows bool, updated *time.Time,
	labels map[string]string) catalog.Entry {
	e := catalog.Entry{ID: id, Name: name, Format: format, Published: number(published), Draft: number(draft),
		HasRows: hasRows, Labels: labels}
	if updated != nil {
		e.Updated = *updated
	}
	return e
}

// number returns *n, or 0 for a version that does not exist.
func number(n *int64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// Entries returns all stored workflows, sorted by id.
func (r *Remote) Entries(ctx context.Context) ([]catalog.Entry, error) {
	list, err := pages[api.Workflow](r, func(cursor *string) (*http.Response, error) {
		return r.api.ListWorkflows(ctx, &api.ListWorkflowsParams{Cursor: cursor, Limit: optional(int64(maxPage))})
	})
	entries := make([]catalog.Entry, len(list))
	for i, w := range list {
		entries[i] = entry(w.Id, w.Name, w.Format, w.Published, w.Draft, w.HasRows, w.UpdatedAt, w.Labels)
	}
	return entries, err
}

// Entry returns a stored workflow without documents, or a *service.NotFoundError.
func (r *Remote) Entry(ctx context.Context, id string) (catalog.Entry, error) {
	entries, err := r.Entries(ctx)
	if err != nil {
		return catalog.Entry{}, err
	}
	return service.EntryOf(entries, id)
}

// Versions returns the versions of a stored workflow, oldest first, without texts.
func (r *Remote) Versions(ctx context.Context, id string) ([]catalog.Version, error) {
	list, err := pages[api.Version](r, func(cursor *string) (*http.Response, error) {
		return r.api.ListVersions(ctx, id,
			&api.ListVersionsParams{Cursor: cursor, Limit: optional(int64(maxPage))})
	})
	var out []catalog.Version
	for _, v := range slices.Backward(list) {
		out = append(out, catalog.Version{Workflow: id, Number: int(v.Number), Name: v.Name, Format: v.Format,
			File: v.File, Digest: v.Digest, Created: v.CreatedAt})
	}
	return out, err
}

// Definition returns a document of the catalog; its Format is the format of the workflow, and it
// has neither File nor Tag.
func (r *Remote) Definition(ctx context.Context, id string, which service.Which) (service.Definition, error) {
	var d api.Definition
	res, err := r.api.GetWorkflow(ctx, id, &api.GetWorkflowParams{Draft: optional(which.Draft),
		Version: optional(int64(which.Version))})
	if err := r.read(res, err, &d); err != nil {
		return service.Definition{}, err
	}
	e := entry(d.Id, d.Name, d.Format, d.Published, d.Draft, d.HasRows, d.UpdatedAt, d.Labels)
	return service.Definition{Entry: e, Version: number(d.Version), Format: e.Format, Text: []byte(d.Document),
		Changed: d.ChangedBySQL}, nil
}

// Publish makes a version of a stored workflow the one that runs; 0 means the draft.
func (r *Remote) Publish(ctx context.Context, id string, version int) (catalog.Entry, diag.List, error) {
	var d struct {
		api.Definition

		Diagnostics diag.List `json:"diagnostics"`
	}
	res, err := r.api.PublishWorkflow(ctx, id, nil,
		api.PublishWorkflowJSONRequestBody{Version: optional(int64(version))})
	if problems, err := splitProblems(r.read(res, err, &d)); err != nil || problems != nil {
		return catalog.Entry{}, problems, err
	}
	return entry(d.Id, d.Name, d.Format, d.Published, d.Draft, d.HasRows, d.UpdatedAt, d.Labels), d.Diagnostics, nil
}

// DeleteWorkflow deletes a stored workflow with all its versions and rows.
func (r *Remote) DeleteWorkflow(ctx context.Context, id string) error {
	res, err := r.api.DeleteWorkflow(ctx, id, nil)
	return r.read(res, err, nil)
}

// Agents returns the rows of all stored agents, sorted by id.
func (r *Remote) Agents(ctx context.Context) ([]catalog.Row, error) {
	list, err := pages[json.RawMessage](r, func(cursor *string) (*http.Response, error) {
		return r.api.ListAgents(ctx, &api.ListAgentsParams{Cursor: cursor, Limit: optional(int64(maxPage))})
	})
	if err != nil {
		return nil, err
	}
	rows := make([]catalog.Row, len(list))
	for i, item := range list {
		if rows[i], err = catalog.AgentOf(item); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// AgentsText returns agents as the document that ApplyAgents accepts; if ids is empty, it returns
// all agents. The error may be a *service.NotFoundError.
func (r *Remote) AgentsText(ctx context.Context, ids []string) ([]byte, error) {
	rows, err := r.Agents(ctx)
	if err != nil {
		return nil, err
	}
	return service.AgentsTextOf(rows, ids)
}

// DeleteAgent deletes a stored agent. It returns service.ErrInUse if workflows need the agent,
// unless anyway is set.
func (r *Remote) DeleteAgent(ctx context.Context, id string, anyway bool) error {
	res, err := r.api.DeleteAgent(ctx, id, &api.DeleteAgentParams{Anyway: optional(anyway)})
	return r.read(res, err, nil)
}

// page is a page of a list.
type page[T any] struct {
	Items []T
	Next  string
}

// pages returns all items of a list.
func pages[T any](r *Remote, get func(cursor *string) (*http.Response, error)) (all []T, err error) {
	bytes := int64(0)
	for cursor := (*string)(nil); ; {
		var p page[T]
		res, err := get(cursor)
		if err != nil {
			return nil, r.unreachable(err)
		}
		n, err := r.readBody(res, &p)
		if bytes += n; err == nil {
			err = r.checkSize(bytes)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		if p.Next == "" {
			return all, nil
		}
		cursor = &p.Next
	}
}
