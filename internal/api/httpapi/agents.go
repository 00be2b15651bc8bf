package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/service"
)

const tagAgents = "Agents"

func (a *API) registerAgents() {
	missing := []int{http.StatusNotFound}
	add(a, route{
		Method: http.MethodGet, Path: "/agents", ID: "listAgents", Tag: tagAgents, Role: access.RoleRun,
		Summary: "List stored agents by id",
	}, listAgents)
	add(a, route{
		Method: http.MethodPost, Path: "/agents", ID: "createAgent", Tag: tagAgents, Role: access.RoleEdit,
		Status:  http.StatusCreated,
		Summary: "Create an agent", Description: "409 if the id is taken.", Errors: []int{http.StatusConflict},
	}, createAgent)
	add(a, route{
		Method: http.MethodGet, Path: "/agents/{id}", ID: "getAgent", Tag: tagAgents, Role: access.RoleRun,
		Errors: missing, Also: []int{http.StatusNotModified},
		Summary: "Show a stored agent",
	}, getAgent)
	add(a, route{
		Method: http.MethodPut, Path: "/agents/{id}", ID: "putAgent", Tag: tagAgents, Role: access.RoleEdit,
		Summary:     "Create or replace an agent",
		Description: "Creates the agent if it does not exist. With `If-Match`, a lost update is refused with 409.",
		Errors:      []int{http.StatusNotFound, http.StatusConflict},
	}, putAgent)
	add(a, route{
		Method: http.MethodDelete, Path: "/agents/{id}", ID: "deleteAgent", Tag: tagAgents, Role: access.RoleEdit,
		Status:  http.StatusNoContent,
		Summary: "Delete an agent", Description: "409 if stored workflows refer to it, unless `anyway` is set.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, deleteAgent)
}

// Agent is an agent definition: a JSON object as it appears in lists of agents. Keys that Hocket
// does not know are reported as problems with their locations.
type Agent json.RawMessage

// MarshalJSON implements json.Marshaler.
func (a Agent) MarshalJSON() ([]byte, error) { return a, nil }

// UnmarshalJSON implements json.Unmarshaler.
func (a *Agent) UnmarshalJSON(text []byte) error {
	*a = bytes.Clone(text)
	return nil
}

// Schema implements huma.SchemaProvider.
func (Agent) Schema(r huma.Registry) *huma.Schema {
	const name = "Agent"
	if r.Map()[name] == nil {
		text := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
		r.Map()[name] = &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: true,
			Description: "An agent, as in lists of agents; docs/agents.md describes all keys",
			Properties: map[string]*huma.Schema{
				"id": text("Id of the agent; optional in a PUT"), "name": text("Display name"),
				"description":  text("Description, which other agents see"),
				"systemPrompt": text("Instructions of the agent"),
				"model":        text("Reference of a model, such as openai/gpt-6.1-terra"),
				"tools": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString},
					Description: "Names of the tools that it may use"},
			},
		}
	}
	return &huma.Schema{Ref: schemas + name}
}

// agentsOf decodes the document of agents that the service returns.
func agentsOf(ctx context.Context, c *transport.Caller, ids []string) ([]Agent, error) {
	text, err := c.Service.AgentsText(ctx, ids)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Agents []Agent `json:"agents"`
	}
	err = json.Unmarshal(text, &doc)
	for i, a := range doc.Agents {
		var b bytes.Buffer
		if json.Compact(&b, a) == nil {
			doc.Agents[i] = b.Bytes()
		}
	}
	return doc.Agents, err
}

// idOf returns the id in an agent definition, or "" if it has none that is a string.
func idOf(a Agent) string {
	id, _ := requiredID(a)
	return id
}

// requiredID returns the id in an agent definition, or "" if it has none. If the id is not a
// string, the error is a problem that names the field.
func requiredID(a Agent) (string, error) {
	var o struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(a, &o) != nil || o.ID == nil {
		return "", nil //nolint:nilerr // the reader tells what is wrong
	}
	var id *string
	if err := json.Unmarshal(o.ID, &id); err != nil {
		return "", badField("body.id", "must be a string")
	}
	if id == nil {
		return "", nil
	}
	return *id, nil
}

func listAgents(ctx context.Context, c *transport.Caller, in *Page) (*listAnswer[Agent], error) {
	all, err := agentsOf(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	return pageOf(*in, all, idOf, ascending)
}

// AgentPath is the path parameter that identifies an agent.
type AgentPath struct {
	ID string `path:"id" doc:"Id of the agent"`
}

// agentAnswer is the response with an agent, or without a body if the client already has it.
type agentAnswer struct {
	Status int
	Tagged
	Location string `header:"Location" doc:"URL of the agent, if it was created"`
	Body     Agent
}

func showAgent(ctx context.Context, c *transport.Caller, id string) (*agentAnswer, error) {
	tag, err := c.Service.AgentTag(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := agentsOf(ctx, c, []string{id})
	if err != nil {
		return nil, err
	}
	if now, err := c.Service.AgentTag(ctx, id); err != nil || now != tag { // it was stored again between the two reads
		return showAgent(ctx, c, id)
	}
	return &agentAnswer{Status: http.StatusOK, Tagged: Tagged{quote(tag)}, Body: list[0]}, nil
}

func getAgent(ctx context.Context, c *transport.Caller, in *struct {
	AgentPath
	Unless
}) (*agentAnswer, error) {
	out, err := showAgent(ctx, c, in.ID)
	if err == nil && matches(in.IfNoneMatch, out.ETag[1:len(out.ETag)-1]) {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, err
}

// storeAgent stores one agent, whose current tag must be expect.
func storeAgent(ctx context.Context, c *transport.Caller, id string, a Agent, expect string) error {
	text := slices.Concat([]byte(`{"agents":[`), a, []byte(`]}`))
	_, problems, err := c.Service.ApplyAgents(ctx,
		service.ApplyAgentsRequest{Documents: []service.Document{{File: "agents", Data: text}}, Replace: true,
			Expect: map[string]string{id: expect}})
	if err == nil && problems.HasErrors() {
		err = refused(problems)
	}
	return withTag(err, func() (string, error) { return c.Service.AgentTag(ctx, id) })
}

func createAgent(ctx context.Context, c *transport.Caller, in *struct{ Body Agent }) (*agentAnswer, error) {
	id, err := requiredID(in.Body)
	if err != nil {
		return nil, err
	}
	if err := storeAgent(ctx, c, id, in.Body, catalog.TagAbsent); err != nil {
		return nil, err
	}
	out, err := showAgent(ctx, c, id)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusCreated, pathOf("agents", id)
	return out, nil
}

func putAgent(ctx context.Context, c *transport.Caller, in *struct {
	AgentPath
	Only
	Body Agent
}) (*agentAnswer, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	switch id, err := requiredID(in.Body); {
	case err != nil:
		return nil, err
	case id == "":
		name, _ := json.Marshal(in.ID) //nolint:errchkjson // a text
		rest := bytes.TrimLeft(in.Body[1:], " \t\r\n")
		comma := map[bool]string{true: "", false: ","}[rest[0] == '}']
		in.Body = slices.Concat([]byte(`{"id":`), name, []byte(comma), rest)
	case id != in.ID:
		return nil, badField("body.id", "differs from the id in the path")
	}
	if in.IfMatch == "*" { // an agent must exist
		if _, err := c.Service.AgentTag(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	if err := storeAgent(ctx, c, in.ID, in.Body, expect); err != nil {
		return nil, err
	}
	return showAgent(ctx, c, in.ID)
}

func deleteAgent(ctx context.Context, c *transport.Caller, in *struct {
	AgentPath
	Only
	Anyway bool `query:"anyway" doc:"Delete it even if stored workflows refer to it"`
}) (*struct{}, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	return nil, withTag(c.Service.DeleteAgentIf(ctx, in.ID, expect, in.Anyway), func() (string, error) {
		return c.Service.AgentTag(ctx, in.ID)
	})
}
