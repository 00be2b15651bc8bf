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
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Agents returns the rows of all stored agents by id.
func (c *Catalog) Agents(ctx context.Context) ([]catalog.Row, error) { return c.stored.Agents(ctx) }

// CatalogAgents returns all agents of the catalog; it is a LoadOptions.Catalog. An agent whose row
// cannot be read is left out; if it is wanted, problems contains the reason.
func (c *Catalog) CatalogAgents(ctx context.Context, wanted []string) (
	out []workflow.Agent, problems diag.List, err error) {
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

// ApplyAgentsRequest specifies which agents to store.
type ApplyAgentsRequest struct {
	Documents []Document
	// Replace deletes the rows of these agents before they are written.
	Replace bool
	// Expect contains the required tags of agents, by id (catalog.AgentTag, catalog.TagAbsent); an
	// agent whose id is missing may have any tag.
	Expect map[string]string
	// AllowUnknown turns unknown keys and types of toolsets into warnings; see
	// [diag.List.AllowUnknown].
	AllowUnknown bool
}

// ApplyAgents stores the agents of lists and returns their ids. If a list has errors nothing is
// stored, and problems contains the reasons. It returns a *ChangedError if an agent does not match
// Expect.
func (c *Catalog) ApplyAgents(ctx context.Context, q ApplyAgentsRequest) (ids []string, problems diag.List, err error) {
	var rows []catalog.Row
	files := map[string]string{} // by the id of the agent
	stored, _, err := c.CatalogAgents(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range q.Documents {
		list, ds := agents.Read(d.File, d.Data)
		ds = append(ds, unknownIn(d.File, d.Data, list)...)
		ds = append(ds, listedProblems(d.File, d.Data, list, stored, c.cfg.Operator)...)
		if q.AllowUnknown {
			ds.AllowUnknown()
		}
		problems = append(problems, ds...)
		problems = append(problems, storedIDs(d.File, d.Data)...)
		for _, a := range list {
			if first, twice := files[a.ID]; twice {
				d := problems.Errorf(diag.Span{File: d.File}, "", agents.CodeDuplicate, "agent id %q is used twice",
					a.ID)
				source.Twice(d, diag.Span{File: first}, "agent with this id")
				continue
			}
			files[a.ID], ids = d.File, append(ids, a.ID)
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
	return ids, problems,
		failure.Changed("agent", strings.Join(ids, ", "), c.stored.PutAgents(ctx, rows, q.Replace, q.Expect))
}

// agentRow returns a row with the complete definition of an agent.
func agentRow(a workflow.Agent) (catalog.Row, error) {
	// tools of sub-agents are created where the agent is used
	rest, _ := agents.RestOf(&a, true, func(string) string { return "" })
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rest); err != nil {
		return nil, fmt.Errorf("encode agent %s: %w", a.ID, err)
	}
	return catalog.FromAgent(a, bytes.TrimSpace(b.Bytes())), nil
}

// AgentsText returns agents in the document form that ApplyAgents accepts, all agents if ids is
// empty. It returns a *NotFoundError if an agent does not exist.
func (c *Catalog) AgentsText(ctx context.Context, ids []string) ([]byte, error) {
	rows, err := c.stored.Agents(ctx)
	if err != nil {
		return nil, err
	}
	return AgentsTextOf(rows, ids)
}

// AgentsTextOf is AgentsText for the given rows of all stored agents. It returns a *NotFoundError
// if an agent does not exist.
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

// AgentTag returns the tag of a stored agent, or a *NotFoundError.
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

// DeleteAgent deletes a stored agent. Unless anyway is set, it does not delete an agent that stored
// workflows need, including workflows that another process stores meanwhile. It returns a
// *NotFoundError or an *InUseError.
func (c *Catalog) DeleteAgent(ctx context.Context, id string, anyway bool) error {
	return c.DeleteAgentIf(ctx, id, "", anyway)
}

// DeleteAgentIf is DeleteAgent if the agent has the tag expect; "" means any. It also returns a
// *ChangedError.
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
		err = c.stored.DeleteAgent(ctx, id, expect, func(now []catalog.Entry) bool {
			return slices.EqualFunc(now, looked, catalog.Entry.Equal)
		})
		if !errors.Is(err, catalog.ErrChanged) {
			return err
		}
		if now, nerr := c.AgentTag(ctx, id); expect != "" && (nerr != nil || now != expect) {
			return failure.Changed("agent", id, err)
		}
	}
}

// AgentUsers returns the stored workflows, published or drafts, that name an agent and do not
// define it themselves.
func (c *Catalog) AgentUsers(ctx context.Context, id string) ([]string, error) {
	users, _, err := c.agentUsers(ctx, id)
	return users, err
}

// agentUsers is AgentUsers, and also returns the entries, as they were before it examined any.
func (c *Catalog) agentUsers(ctx context.Context, id string) (users []string, entries []catalog.Entry, err error) {
	if entries, err = c.stored.Entries(ctx); err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		for _, which := range []Which{{}, {Draft: true}} {
			d, err := c.Definition(ctx, e.ID, which)
			if _, isInvalid := errors.AsType[*failure.InvalidError](err); isInvalid ||
				errors.Is(err, catalog.ErrNotFound) {
				continue // there is no such document, or no longer
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
