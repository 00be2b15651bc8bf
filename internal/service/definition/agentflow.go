package definition

import (
	"context"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// agentNode is the id of the only node of a single-agent workflow.
const agentNode = "agent"

// AgentFlow returns a workflow that consists of one agent, with the agents that it names directly
// or indirectly: agents that the program provides, else those of the catalog. own means that all of
// them belong to the program, so that everything they start and reach was allowed by it.
//
// It returns the problems, or an error if the catalog cannot be read.
func (c *Catalog) AgentFlow(ctx context.Context, a workflow.Agent) (w *workflow.Workflow, own bool, err error) {
	given := func(id string) *workflow.Agent {
		if i := slices.IndexFunc(c.cfg.Agents, func(g workflow.Agent) bool { return g.ID == id }); i >= 0 {
			return &c.cfg.Agents[i]
		}
		return nil
	}
	var (
		stored   []workflow.Agent
		asked    bool
		problems diag.List
	)
	own = given(a.ID) != nil
	find := func(id string) *workflow.Agent {
		if g := given(id); g != nil {
			return g
		}
		if own = false; !asked && err == nil {
			asked = true
			stored, _, err = c.CatalogAgents(ctx, nil)
		}
		if i := slices.IndexFunc(stored, func(g workflow.Agent) bool { return g.ID == id }); i >= 0 {
			return &stored[i]
		}
		return nil
	}
	list := agents.Close([]workflow.Agent{a}, find, func(string) diag.Span { return diag.Span{} }, &problems)
	if err != nil {
		return nil, false, err
	}
	node := workflow.Node{ID: agentNode, Name: a.Title(), Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: a.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
	w = &workflow.Workflow{Name: a.Title(), Format: FormatAgent, Entry: node.ID, Nodes: []workflow.Node{node},
		Agents: list}
	problems = append(problems, workflow.Validate(w)...)
	more := LoadOptions{Operator: c.cfg.Operator}.permissionProblems(w, "", nil)
	if !own {
		more.AllowUnknown() // as decided when the agents were stored
	}
	return w, own, append(problems, more...).Err()
}

// CheckAgents returns the problems of agents that a program provides, each checked separately: the
// agents they name are looked up when they are used.
func CheckAgents(list []workflow.Agent) (problems diag.List) {
	for _, a := range list {
		named := append([]string(nil), a.Handoffs...)
		for _, s := range a.Subagents {
			named = append(named, s.Agent)
		}
		if slices.Contains(named, a.ID) {
			problems.Errorf(diag.Span{}, "", "subagent-self",
				"%s names itself among its sub-agents or hand-off targets", toolsetOwner(a))
		}
		if slices.Contains(named, "") {
			problems.Errorf(diag.Span{}, "", "empty-id", "%s: the name of a sub-agent or hand-off target is empty",
				toolsetOwner(a))
		}
		for _, p := range a.Permissions {
			for _, problem := range permit.Rules(p).Problems() {
				problems.Errorf(diag.Span{}, "", agents.CodeBadPermission, "%s: permissions: %s", toolsetOwner(a),
					problem.Text)
			}
		}
		if a.Output != nil {
			if _, err := schema.Compile(a.Output.Schema); err != nil {
				problems.Errorf(diag.Span{}, "", agents.CodeBadSchema, "%s: the schema of its output: %v",
					toolsetOwner(a),
					err)
			}
		}
		alone := a
		alone.Subagents, alone.Handoffs = nil, nil
		node := workflow.Node{ID: agentNode, Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: a.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
		w := &workflow.Workflow{Format: FormatAgent, Entry: node.ID, Nodes: []workflow.Node{node},
			Agents: []workflow.Agent{alone}}
		problems = append(problems, workflow.Validate(w)...)
		specs, toolsets := DocumentSpecs(w)
		problems = append(problems, toolsets...)
		for _, sp := range specs {
			if !slices.Contains(kinds.Names(kinds.Supported()), sp.Type) {
				d := problems.Errorf(diag.Span{}, "", "unsupported-toolset", "")
				agents.UnknownToolset(d, sp.Type)
				d.Message = toolsetOwner(a) + ": " + d.Message
			}
		}
	}
	return problems
}
