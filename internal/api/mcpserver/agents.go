package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

var (
	agentID = []prop{
		opt("id", aText, "The id of the agent, as create_agent or list_agents returned it. Required."),
		opt("agentId", aText, "Alias of id."),
	}
	etagProp = opt("etag", aText, "The etag that get_… returned. If it was changed since, the call fails with the "+
		"code conflict and changes nothing: read it again and repeat. Omit the etag to overwrite.")
	anAgent = extensible(req("id", aText, ""), req("name", aText, ""), opt("description", aText, ""),
		opt("systemPrompt", aText, ""), opt("model", aText, "Empty: the default model."), opt("tools", texts, ""))
	agentOut = closedObject(
		req("id", aText, "Use it in a workflow's node as config.agentId."),
		req("agent", string(anAgent), "The stored agent with all its keys."),
		req("etag", aText, "Differs after every change of the agent."),
		opt("usedBy", texts, "Workflows that use this agent."),
		opt("diagnostics", findings, "Warnings about the arguments."),
	)
)

// agentProps returns the properties of agents that tools accept.
func agentProps() []prop {
	return []prop{
		opt("description", aText, "The purpose of the agent in one sentence; other agents and people read it."),
		opt("systemPrompt", aText,
			"The agent's instructions: its role, what it does with its input, and the form of its answer."),
		opt("model", aText, "The model as provider/model, such as openai/gpt-6.1-terra, anthropic/claude-sonnet-5-5, "+
			"google/gemini-3.8-flash or ollama/qwen3. Omit it to use the server's default model."),
		opt("tools", texts,
			`Names of the tools that the agent may use, such as ["fetch"], of those that its toolsets and the server `+
				`offer; other names have no effect. Omit it for agents without tools, and for agents that use all `+
				`tools of their toolsets.`),
		opt("toolsets",
			`{"type":"array","items":{"type":"object","properties":{"type":{"type":"string","description":"`+
				toolsetTypes()+`"}},"required":["type"]}}`, "Where the agent's tools come from. Examples: "+
				`[{"type": "fetch"}] reads web pages; [{"type": "web_search"}]; [{"type": "memory"}]; [{"type": `+
				`"user_prompt"}] asks a person; [{"type": "mcp", "command": "npx", "args": ["-y", `+
				`"some-mcp-server"]}]. `+
				"Toolsets that start commands or access files (mcp with a command, shell, filesystem) run only if the "+
				"operator allows them."),
	}
}

// toolsetTypes lists the types of toolsets in words, starting with those that need no programs or
// files on the server.
func toolsetTypes() string {
	supported := kinds.Supported()
	slices.SortStableFunc(supported, func(a, b kinds.Kind) int {
		switch {
		case a.Guarded == b.Guarded:
			return 0
		case a.Guarded:
			return 1
		}
		return -1
	})
	names := kinds.Names(supported)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last] + "."
}

// agentResult is the result of the tools for one agent.
type agentResult struct {
	ID          string          `json:"id"`
	Agent       json.RawMessage `json:"agent"`
	ETag        string          `json:"etag"`
	UsedBy      []string        `json:"usedBy,omitempty"`
	Diagnostics []finding       `json:"diagnostics,omitempty"`
}

func agentTools() []*tool {
	const more = " Other keys of agents (params such as {\"temperature\": 0.2}, maxIterations, fallback, subAgents, " +
		"handoffs, permissions …) are stored too; an unknown key gives a warning."
	return []*tool{
		{
			name: "create_agent", title: "Create an agent", role: access.RoleEdit, effect: adds,
			about: "Stores a new agent and returns its id, which workflow nodes refer to. Create the agents first, " +
				"then the workflow (create_workflow, update_workflow)." + more +
				` Example: {"name": "Writer", "systemPrompt": "You write short, clear news items.", "model": ` +
				`"openai/gpt-6.1-terra"}`,
			takes: append([]prop{
				opt("id", aText, "An id of your choice, such as writer; omit it to derive one from the name. It must "+
					"be new: the code conflict means that it is taken."),
				req("name", aText, "The display name of the agent."),
			}, agentProps()...),
			isOpen: true, gives: agentOut, do: createAgent,
		},
		{
			name: "update_agent", title: "Change an agent", role: access.RoleEdit, effect: changes,
			about: "Replaces exactly the keys that are given and keeps all others; null removes a key. Workflows use " +
				"the new version from their next run on; runs in progress keep the version with which they began." +
				more +
				` Example: {"id": "writer", "systemPrompt": "You write in the style of a local newspaper."}`,
			takes: slices.Concat(agentID, []prop{opt("name", aText, "The display name of the agent.")},
				nullable(agentProps()), []prop{etagProp}), isOpen: true,
			gives: agentOut, do: updateAgent,
		},
		{
			name: "get_agent", title: "Show an agent", role: access.RoleRun, effect: reads,
			about: "Returns an agent with all its keys (name, systemPrompt, model, tools and others) and the " +
				"workflows that use it.",
			takes: agentID, gives: agentOut, do: getAgent,
		},
		{
			name: "list_agents", title: "List agents", role: access.RoleRun, effect: reads,
			about: "Lists the stored agents by id, without their instructions: get_agent returns those.",
			takes: pageProps, do: listAgents,
			gives: closedObject(
				req("agents",
					list(closedObject(req("id", aText, ""), req("name", aText, ""), req("description", aText, ""),
						req("model", aText, "Empty: the default model."))), ""),
				opt("next", aText, "The cursor of the next page; absent on the last one."),
			),
		},
		{
			name: "delete_agent", title: "Delete an agent", role: access.RoleEdit, effect: removes,
			about: "Deletes a stored agent for good. If stored workflows use it, the call fails with the code " +
				"conflict, which names them, unless force is true.",
			takes: append(slices.Clone(agentID),
				opt("force", aFlag, "Delete it even if workflows use it; their next runs will fail.")),
			gives: closedObject(req("id", aText, ""), req("deleted", aFlag, "")), do: deleteAgent,
		},
	}
}

// nullable allows null for properties; null removes the key.
func nullable(props []prop) []prop {
	out := slices.Clone(props)
	for i, p := range out {
		switch rest, isList := strings.CutPrefix(p.schema, `{"type":"array"`); {
		case p.schema == aText:
			out[i].schema = nullableType("string")
		case isList:
			out[i].schema = `{"type":["array","null"]` + rest
		}
	}
	return out
}

func createAgent(ctx context.Context, c *call) (any, error) {
	var args struct{ ID, Name string }
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	if args.Name == "" {
		return nil, service.Refuse(errcode.InvalidArgument,
			errcode.Fields{"argument": "name", "problem": "must not be empty"}, nil)
	}
	given, err := membersOf(c.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	return retryOnConflict("", func() (any, error) {
		rows, err := c.Service.Agents(ctx)
		if err != nil {
			return nil, err
		}
		taken := func(id string) bool {
			return slices.ContainsFunc(rows, func(r catalog.Row) bool { return r.ID() == id })
		}
		if args.ID != "" && taken(args.ID) {
			return nil,
				&conflictError{"the agent " + args.ID + " exists; change it with update_agent, or choose another id"}
		}
		id := cmp.Or(args.ID, newID(args.Name, "agent", taken))
		return c.storeAgent(ctx, id, given.without("id"), catalog.TagAbsent, "agents.create")
	})
}

func updateAgent(ctx context.Context, c *call) (any, error) {
	var args struct {
		agentArgs
		ETag string `json:"etag"`
	}
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	given, err := membersOf(c.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	return retryOnConflict(args.ETag, func() (any, error) {
		row, err := agentRow(ctx, c.Service, id)
		if err != nil {
			return nil, err
		}
		tag := catalog.AgentTag(row)
		if err := sameTag(args.ETag, tag, "agent "+id); err != nil {
			return nil, err
		}
		keys, err := membersOf(catalog.AgentJSON(row))
		if err != nil {
			return nil, err
		}
		for _, m := range given.without("id", "agentId", "etag") {
			m.key = cmp.Or(spellings[m.key], m.key)
			keys = keys.with(m)
		}
		return c.storeAgent(ctx, id, keys.without("id"), tag, "agents.update")
	})
}

// spellings are alternative names of agent keys.
var spellings = map[string]string{"system_prompt": "systemPrompt", "instruction": "systemPrompt"}

// storeAgent stores an agent with these keys if the stored agent has the tag.
func (c *call) storeAgent(ctx context.Context, id string, keys members, tag, action string) (any, error) {
	doc := append(members{{"id", encode(id)}}, keys...)
	text := indented(members{{"agents", json.RawMessage("[" + string(doc.json()) + "]")}}.json())
	_, problems, err := c.Service.ApplyAgents(ctx, service.ApplyAgentsRequest{
		Documents: []service.Document{{File: "agent", Data: text}}, Expect: map[string]string{id: tag},
	})
	if err == nil {
		err = refused(problems)
	}
	if err != nil {
		return nil, err
	}
	c.recordChange(action, id)
	row, err := agentRow(ctx, c.Service, id)
	if err != nil {
		return nil, err
	}
	return agentShown(row, append(problems, c.agentProblems(ctx, id)...)), nil
}

// agentProblems returns the problems that keep a stored agent from working as defined, such as
// toolsets of an unknown type. They are warnings, since what is missing may be added later.
func (c *call) agentProblems(ctx context.Context, id string) diag.List {
	alone := members{{"name", encode(id)},
		{"nodes", encode([]map[string]any{{"id": "a", "type": "agent", "config": map[string]string{"agentId": id}}})},
		{"edges", json.RawMessage("[]")}}
	_, problems, err := c.Service.Load(ctx, "agent", alone.json(), service.LoadOptions{Format: format.Rounds})
	if err != nil {
		return nil //nolint:nilerr // its run gets the error
	}
	for i := range problems {
		problems[i].Severity, problems[i].Path, problems[i].Span = diag.Warning, "", diag.Span{}
	}
	return problems
}

func agentShown(row catalog.Row, problems diag.List) agentResult {
	return agentResult{ID: row.ID(), Agent: catalog.AgentJSON(row), ETag: catalog.AgentTag(row),
		Diagnostics: findingsOf(problems)}
}

// agentRow returns the row of an agent, or a *service.NotFoundError.
func agentRow(ctx context.Context, s *service.Service, id string) (catalog.Row, error) {
	rows, err := s.Agents(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(rows, func(r catalog.Row) bool { return r.ID() == id }); i >= 0 {
		return rows[i], nil
	}
	_, err = s.AgentsText(ctx, []string{id})
	return nil, cmp.Or(err, errors.New("read agent "+id)) // it was stored between the two reads
}

func getAgent(ctx context.Context, c *call) (any, error) {
	var args agentArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	row, err := agentRow(ctx, c.Service, id)
	if err != nil {
		return nil, err
	}
	out := agentShown(row, nil)
	out.UsedBy, err = c.Service.AgentUsers(ctx, id)
	return out, err
}

// agentLine is an entry of list_agents.
type agentLine struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model"`
}

func listAgents(ctx context.Context, c *call) (any, error) {
	var args page
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	rows, err := c.Service.Agents(ctx)
	if err != nil {
		return nil, err
	}
	rows, next := pageAfter(args, rows, catalog.Row.ID)
	out := struct {
		Agents []agentLine `json:"agents"`
		Next   string      `json:"next,omitempty"`
	}{[]agentLine{}, next}
	for _, r := range rows {
		out.Agents = append(out.Agents, agentLine{r.ID(), r.Text(1), r.Text(2), r.Text(4)})
	}
	return out, nil
}

func deleteAgent(ctx context.Context, c *call) (any, error) {
	var args struct {
		agentArgs
		Force bool `json:"force"`
	}
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	if err := c.Service.DeleteAgent(ctx, id, args.Force); err != nil {
		return nil, err
	}
	c.recordChange("agents.delete", id)
	return deleted{id, true}, nil
}

type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// members are the keys and values of a JSON object in order.
type members []member

type member struct {
	key   string
	value json.RawMessage
}

// membersOf decodes a JSON object; for a list or a scalar it returns no members. It returns a
// *service.InvalidError if the text is not JSON or has a duplicate key.
func membersOf(text []byte) (members, error) {
	root, problems := source.Parse("arguments", text)
	if err := refused(problems); err != nil {
		return nil, err
	}
	out := members{}
	if root == nil || root.Kind != source.Map {
		return out, nil
	}
	for _, e := range root.Entries {
		out = append(out, member{e.Key, e.Value.JSON()})
	}
	return out, nil
}

// with replaces or adds a key; a null value removes the key.
func (m members) with(one member) members {
	i := slices.IndexFunc(m, func(x member) bool { return x.key == one.key })
	switch isNull := string(one.value) == "null"; {
	case i < 0 && isNull:
		return m
	case i < 0:
		return append(m, one)
	case isNull:
		return slices.Delete(m, i, i+1)
	}
	m[i] = one
	return m
}

// without returns the members except those with the given keys.
func (m members) without(keys ...string) members {
	return slices.DeleteFunc(slices.Clone(m), func(x member) bool { return slices.Contains(keys, x.key) })
}

func (m members) json() json.RawMessage {
	b := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, encode(x.key)...), ':')
		b = append(b, x.value...)
	}
	return append(b, '}')
}
