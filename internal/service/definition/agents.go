package definition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Agents gives the rows of all stored agents by id.
func (c *Catalog) Agents(ctx context.Context) ([]catalog.Row, error) { return c.stored.Agents(ctx) }

// CatalogAgents gives all agents of the catalog: it is a LoadOptions.Catalog. An agent whose row cannot be read is left out; the list says why, if it
// is wanted.
func (c *Catalog) CatalogAgents(ctx context.Context, wanted []string) (out []workflow.Agent, problems diag.List, err error) {
	rows, err := c.stored.Agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if ds := catalog.CheckAgent(r); len(ds) > 0 {
			if slices.Contains(wanted, r.ID()) {
				problems = append(problems, ds...)
			}
			continue
		}
		one := []catalog.Row{r}
		list, ds := agents.Read(catalog.AgentsFile, catalog.AgentsDocument(one))
		if slices.Contains(wanted, r.ID()) {
			problems = append(problems, catalog.LocateAgents(one, ds)...)
		}
		if !ds.HasErrors() {
			out = append(out, list...)
		}
	}
	return out, problems, nil
}

// ApplyAgentsRequest says which agents to store.
type ApplyAgentsRequest struct {
	Documents []Document
	// Replace deletes the rows of these agents before they are written.
	Replace bool
	// Expect has the tags that the agents must have, by id (catalog.AgentTag, catalog.TagAbsent); an id that is not in it may have any.
	Expect map[string]string
	// AllowUnknown makes unknown keys and types of toolsets warnings: see [diag.List.AllowUnknown].
	AllowUnknown bool
}

// ApplyAgents stores the agents of lists and gives their ids. Where a list has errors nothing is stored, and the list of problems says why. Errors: *ChangedError
// where an agent is not as Expect says.
func (c *Catalog) ApplyAgents(ctx context.Context, q ApplyAgentsRequest) (ids []string, problems diag.List, err error) {
	var rows []catalog.Row
	for _, d := range q.Documents {
		list, ds := agents.Read(d.File, d.Data)
		ds = append(ds, unknownIn(d.File, d.Data, list)...)
		if q.AllowUnknown {
			ds.AllowUnknown()
		}
		problems = append(problems, ds...)
		problems = append(problems, storedIDs(d.File, d.Data)...)
		for _, a := range list {
			if slices.Contains(ids, a.ID) {
				problems.Errorf(diag.Span{File: d.File}, "", agents.CodeDuplicate, "agent id %q is used twice", a.ID)
				continue
			}
			ids = append(ids, a.ID)
			r, err := agentRow(a)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, r)
		}
	}
	if problems.HasErrors() {
		return nil, problems, nil
	}
	return ids, problems, failure.Changed("agent", strings.Join(ids, ", "), c.stored.PutAgents(ctx, rows, q.Replace, q.Expect))
}

// agentRow gives the row that says all of an agent.
func agentRow(a workflow.Agent) (catalog.Row, error) {
	rest, _ := agents.RestOf(&a, true, func(string) string { return "" }) // tools of sub-agents are made where the agent is used
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rest); err != nil {
		return nil, fmt.Errorf("encode agent %s: %w", a.ID, err)
	}
	return catalog.FromAgent(a, bytes.TrimSpace(b.Bytes())), nil
}

// AgentsText gives agents as the document that ApplyAgents takes, all where ids is empty. Errors: *NotFoundError.
func (c *Catalog) AgentsText(ctx context.Context, ids []string) ([]byte, error) {
	rows, err := c.stored.Agents(ctx)
	if err != nil {
		return nil, err
	}
	return AgentsTextOf(rows, ids)
}

// AgentsTextOf is AgentsText where all stored agents are known. Errors: *NotFoundError.
func AgentsTextOf(rows []catalog.Row, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		all := rows
		rows = nil
		for _, id := range ids {
			i := slices.IndexFunc(all, func(r catalog.Row) bool { return r.ID() == id })
			if i < 0 {
				return nil, agentNotFound(all, id)
			}
			rows = append(rows, all[i])
		}
	}
	return catalog.AgentsDocument(rows), nil
}

// AgentTag gives the tag of a stored agent. Errors: *NotFoundError.
func (c *Catalog) AgentTag(ctx context.Context, id string) (string, error) {
	rows, err := c.stored.Agents(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		if r.ID() == id {
			return catalog.AgentTag(r), nil
		}
	}
	return "", agentNotFound(rows, id)
}

func agentNotFound(all []catalog.Row, id string) error {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID()
	}
	return &failure.NotFoundError{What: "Agent", ID: id, Hint: diag.DidYouMean(id, ids)}
}

// DeleteAgent deletes a stored agent. Unless anyway is set it refuses one that stored workflows need, those that another process stores meanwhile too.
// Errors: *NotFoundError, *InUseError.
func (c *Catalog) DeleteAgent(ctx context.Context, id string, anyway bool) error {
	return c.DeleteAgentIf(ctx, id, "", anyway)
}

// DeleteAgentIf is DeleteAgent where the agent has the tag expect; "" is any. Errors: *ChangedError too.
func (c *Catalog) DeleteAgentIf(ctx context.Context, id, expect string, anyway bool) error {
	rows, err := c.stored.Agents(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(r catalog.Row) bool { return r.ID() == id })
	if i < 0 {
		return agentNotFound(rows, id)
	}
	if err := catalog.Expected(expect, catalog.AgentTag(rows[i])); err != nil {
		return failure.Changed("agent", id, err)
	}
	if anyway {
		return failure.Changed("agent", id, c.stored.DeleteAgent(ctx, id, expect, nil))
	}
	for {
		users, looked, err := c.agentUsers(ctx, id)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return &failure.InUseError{Agent: id, Workflows: users}
		}
		err = c.stored.DeleteAgent(ctx, id, expect, func(now []catalog.Entry) bool { return slices.EqualFunc(now, looked, catalog.Entry.Equal) })
		if !errors.Is(err, catalog.ErrChanged) {
			return err
		}
		if now, nerr := c.AgentTag(ctx, id); expect != "" && (nerr != nil || now != expect) {
			return failure.Changed("agent", id, err)
		}
	}
}

// AgentUsers gives the stored workflows, published or drafts, that name an agent and do not define it themselves.
func (c *Catalog) AgentUsers(ctx context.Context, id string) ([]string, error) {
	users, _, err := c.agentUsers(ctx, id)
	return users, err
}

// agentUsers gives the entries too, as they were before it looked at any.
func (c *Catalog) agentUsers(ctx context.Context, id string) (users []string, entries []catalog.Entry, err error) {
	if entries, err = c.stored.Entries(ctx); err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		for _, which := range []Which{{}, {Draft: true}} {
			d, err := c.Definition(ctx, e.ID, which)
			if _, isInvalid := errors.AsType[*failure.InvalidError](err); isInvalid || errors.Is(err, catalog.ErrNotFound) {
				continue // there is no such document, or none any more
			}
			if err != nil {
				return nil, nil, err
			}
			_, problems, err := c.readStored(ctx, d, LoadOptions{Formats: c.cfg.Documents.Formats}, nil)
			if err != nil {
				return nil, nil, err
			}
			if slices.Contains(missing(problems), id) && !slices.Contains(users, e.ID) {
				users = append(users, e.ID)
			}
		}
	}
	return users, entries, nil
}
