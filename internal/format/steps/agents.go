package steps

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Keys of an agent, by how they are handled. Name, tools and the limit on identical calls are
// specific to Hocket; the others are those of docker-agent, versions 0 to 15.
var (
	agentKeys     = agents.Names(false, true)
	idleAgentKeys = agents.Names(false, false)
	outputKeys    = []string{"name", "description", "strict", "schema"}
	fallbackKeys  = []string{"models", "retries", "cooldown"}
)

// agent is an agent of the document, or an external agent that the document names.
type agent struct {
	at            int // index in Workflow.Agents
	span          diag.Span
	path          string
	system        *source.Node // the instruction, nil if there is none
	subs          []field
	handoffFields []field

	schema   *source.Node // of structured_output, nil if there is none
	output   *schema.Schema
	compiled bool
}

// agentsSection reads `agents:`, a map by name, or a list in the form of `--agents`; the workflow's
// agents keep its order.
func (r *reader) agentsSection(f field) {
	if f.value.Kind == source.List {
		var diags diag.List
		for _, a := range agents.List(f.value, &diags) {
			i := slices.IndexFunc(f.value.Items, func(n *source.Node) bool {
				return n.Get("id") != nil && n.Get("id").Text == a.ID
			})
			item := f.value.Items[i]
			r.addAgent(a, field{path: item.Path(), span: item.Span, value: item}).system = item.Get("systemPrompt")
			if sets := item.Get("toolsets"); sets != nil {
				for _, set := range sets.Items {
					if typ := set.Get("type"); typ != nil {
						r.checkToolset(typ.Text, field{value: typ, path: typ.Path(), span: typ.Span})
					}
				}
			}
		}
		for _, d := range diags {
			r.diags.Add(d)
		}
		return
	}
	for _, g := range r.fieldsOf(f) {
		if g.key == "" {
			r.diags.Errorf(g.span, g.path, codeBadValue, "an agent's name is empty")
			continue
		}
		if len(g.key) > maxIDBytes {
			r.diags.Errorf(g.span, f.path, codeBadValue, "the name of an agent is longer than %d bytes", maxIDBytes)
			continue
		}
		if g.value.IsNull() {
			r.addAgent(workflow.Agent{ID: g.key}, g)
			continue
		}
		if g.value.Kind != source.Map {
			r.wrongType(g, "a map that describes the agent")
			r.addAgent(workflow.Agent{ID: g.key}, g)
			continue
		}
		r.agent(g)
	}
}

func (r *reader) addAgent(a workflow.Agent, at field) *agent {
	a.Template = a.System != "" // S4-15
	out := &agent{at: len(r.w.Agents), span: at.span, path: at.path}
	r.agents[a.ID] = out
	r.w.Agents = append(r.w.Agents, a)
	r.w.Source.Agents[a.ID] = at.span
	return out
}

func (r *reader) agent(at field) {
	a := workflow.Agent{ID: at.key}
	var system *source.Node
	var subs, hands []field
	var said *source.Node
	modelSaid, files, readonly := field{}, field{}, field{}
	for _, f := range r.fields(at.value) {
		switch f.key {
		case "name":
			a.Name = r.text(f)
		case "model":
			modelSaid = f
		case "description":
			a.Description = r.text(f)
		case "instruction":
			a.System, system = r.text(f), f.value
		case "instruction_file":
			files = f
		case "tools":
			a.Tools = r.texts(f)
		case "toolsets":
			a.Toolsets = append(a.Toolsets, r.toolsets(f)...)
		case "use_toolsets":
			a.Toolsets = append(a.Toolsets, r.useToolsets(f)...)
		case "readonly":
			if r.flag(f) {
				readonly = f
			}
		case "permissions":
			a.Permissions = r.permissions(f)
		case "sub_agents":
			subs = r.list(f)
		case "handoffs":
			hands = r.list(f)
		case "add_date":
			a.AddDate = r.flag(f)
		case "add_environment_info":
			a.AddEnvironment = r.flag(f)
		case "add_prompt_files":
			a.PromptFiles = r.promptFiles(f)
		case "commands":
			a.Commands = r.commands(f)
		case "welcome_message":
			a.Welcome = r.text(f)
		case "max_consecutive_tool_calls":
			a.NoProgress = r.notNegative(f)
		case "tool_calls":
			a.ToolCalls = r.toolCalls(f)
		case "structured_output":
			a.Output = r.output(f)
			said = f.value.Get("schema")
		case "max_iterations":
			a.MaxTurns = r.notNegative(f)
		case "fallback":
			r.fallback(f, &a)
		case "compaction":
			a.Compaction = r.compaction(f)
		default:
			if slices.Contains(idleAgentKeys, f.key) {
				r.reportUnsupported(f, "agent "+strconv.Quote(at.key))
				continue
			}
			r.unknown(f, diag.Warning, "agent "+strconv.Quote(at.key), slices.Concat(agentKeys, idleAgentKeys))
		}
	}
	if modelSaid.value != nil {
		r.useModel(&a, modelSaid)
	}
	if readonly.value != nil {
		r.readonly(&a, readonly)
	}
	if files.value != nil && !files.value.IsNull() {
		if system != nil {
			r.diags.Errorf(files.span, files.path, codeBadValue,
				"agent %q has both instruction and instruction_file", at.key).Hint = "leave one of them out"
		}
		a.System = r.instructionFiles(at.key, files)
	}
	out := r.addAgent(a, at)
	out.system, out.subs, out.handoffFields, out.schema = system, subs, hands, said
	r.outputSchema(a.ID)
}

// readonly makes every toolset of an agent read-only.
func (r *reader) readonly(a *workflow.Agent, at field) {
	if len(a.Tools) > 0 {
		r.diags.Errorf(at.span, at.path, codeBadValue, "agent %q: readonly does not cover what its tools name",
			a.ID).Hint = "leave out tools, or deny calls by permissions"
	}
	for i, raw := range a.Toolsets {
		a.Toolsets[i] = with(raw, "readonly", true)
	}
}

// instructionFiles reads `instruction_file:`, the name of a file or a list of names, and returns
// their texts, separated by blank lines.
func (r *reader) instructionFiles(agent string, f field) string {
	list := []field{f}
	if f.value.Kind == source.List {
		list = r.list(f)
	}
	var texts []string
	for _, e := range list {
		name := r.text(e)
		refuse := func(hint, problem string) {
			r.diags.Errorf(e.value.Span, e.path, codeBadFile, "agent %q: instruction_file %q: %s", agent, name,
				problem).Hint = hint
		}
		name = strings.TrimPrefix(name, "./")
		switch {
		case !workflow.IsLocalName(name):
			refuse("", "it is not a path in the folder of the document, without `..`")
			continue
		case r.opts.File == nil:
			refuse("put the text of the file into instruction",
				"the document is not in a folder, so it cannot name a file")
			continue
		}
		text, err := r.opts.File(name)
		if err != nil {
			refuse("paths are relative to the folder of the document", err.Error())
			continue
		}
		texts = append(texts, text)
		if !slices.Contains(r.w.Source.Files, name) {
			r.w.Source.Files = append(r.w.Source.Files, name)
		}
	}
	return strings.Join(texts, "\n\n")
}

// subAgents resolves `sub_agents:` once all agents are known.
func (r *reader) subAgents() {
	for i := 0; i < len(r.w.Agents); i++ { // grows if an external agent is named
		id := r.w.Agents[i].ID
		r.handoffs(id)
		r.resolveListed(i)
		taken := map[string]bool{}
		for _, s := range r.w.Agents[i].Subagents {
			taken[s.Agent] = true
		}
		for _, e := range r.agents[id].subs {
			name, ok := stringOf(e.value)
			if !ok || name == "" {
				r.diags.Errorf(e.value.Span, e.path, codeWrongType,
					"agent %q: a sub-agent must be an agent's name, got %s", id, describe(e.value))
				continue
			}
			if strings.Contains(name, "/") && r.agents[name] == nil {
				r.diags.Warnf(e.value.Span, e.path, codeUnsupported,
					"agent %q: the sub-agent %q of a catalog is not supported yet", id, name).Hint =
					"the agent runs without it"
				continue
			}
			if !r.hasAgent(name) {
				d := r.diags.Errorf(e.value.Span, e.path, codeUnknownAgent,
					"agent %q: sub-agent %q not found in agents", id, name)
				d.Name = name
				d.Hint = r.diags.similar(name, r.agentIDs)
				continue
			}
			if taken[name] {
				continue
			}
			taken[name] = true
			a := &r.w.Agents[i]
			a.SubagentFailure = workflow.SubagentReports
			a.Subagents = append(a.Subagents, workflow.Subagent{Agent: name})
		}
	}
	for i := range r.w.Agents {
		tools := map[string]bool{}
		for j, s := range r.w.Agents[i].Subagents {
			r.w.Agents[i].Subagents[j] = agents.Subagent(s.Agent, r.w.Agents[r.agents[s.Agent].at].Description, tools)
		}
	}
}

// resolveListed resolves the references of an agent that came from a list.
func (r *reader) resolveListed(i int) {
	a := r.w.Agents[i]
	info := r.agents[a.ID]
	if len(info.subs)+len(info.handoffFields) > 0 {
		return
	}
	known := func(id string) bool {
		if r.hasAgent(id) {
			return true
		}
		d := r.diags.Errorf(info.span, info.path, codeUnknownAgent, "agent %q: agent %q not found in agents", a.ID, id)
		d.Name = id
		d.Hint = r.diags.similar(id, r.agentIDs)
		return false
	}
	subs := slices.DeleteFunc(slices.Clone(a.Subagents), func(s workflow.Subagent) bool { return !known(s.Agent) })
	hands := slices.DeleteFunc(slices.Clone(a.Handoffs), func(id string) bool { return !known(id) })
	r.w.Agents[i].Subagents, r.w.Agents[i].Handoffs = subs, hands
}

// handoffs resolves `handoffs:` of an agent.
func (r *reader) handoffs(id string) {
	for _, e := range r.agents[id].handoffFields {
		name, ok := stringOf(e.value)
		switch {
		case !ok || name == "":
			r.diags.Errorf(e.value.Span, e.path, codeWrongType,
				"agent %q: a hand-off target must be an agent's name, got %s", id, describe(e.value))
		case strings.Contains(name, "/") && r.agents[name] == nil:
			r.diags.Warnf(e.value.Span, e.path, codeUnsupported,
				"agent %q: handing over to %q of a catalog is not supported yet", id, name).Hint =
				"the agent runs without it"
		case name == id:
			r.diags.Warnf(e.value.Span, e.path, codeBadValue, "agent %q hands over to itself",
				id).Hint = "it has no effect"
		case !r.hasAgent(name):
			d := r.diags.Errorf(e.value.Span, e.path, codeUnknownAgent,
				"agent %q: hand-off target %q not found in agents", id, name)
			d.Name = name
			d.Hint = r.diags.similar(name, r.agentIDs)
		default:
			if a := r.agentOf(id); !slices.Contains(a.Handoffs, name) {
				a.Handoffs = append(a.Handoffs, name)
			}
		}
	}
}

// toolCalls reads `tool_calls:`.
func (r *reader) toolCalls(f field) string {
	var diags diag.List
	out := agents.ToolCalls(r.text(f), f.value, &diags)
	for _, d := range diags {
		r.diags.Add(d)
	}
	return out
}

// commands reads `commands:`.
func (r *reader) commands(f field) map[string]workflow.Command {
	var diags diag.List
	out := agents.Commands(f.value, &diags)
	for _, d := range diags {
		r.diags.Add(d)
	}
	return out
}

// permissions reads `permissions:` of an agent or of the document.
func (r *reader) permissions(f field) []workflow.Permissions {
	var diags diag.List
	out := agents.Permissions(f.value, &diags)
	for _, d := range diags {
		r.diags.Add(d)
	}
	return out
}

// permitAll puts the document's permissions before those of each agent, including external ones:
// all of them apply.
func (r *reader) permitAll(f field) {
	all := r.permissions(f)
	r.permitted = all
	for i := range r.w.Agents {
		a := &r.w.Agents[i]
		a.Permissions = slices.Concat(all, a.Permissions)
	}
}

// promptFiles reads `add_prompt_files:`.
func (r *reader) promptFiles(f field) []string {
	files := r.texts(f)
	if slices.Contains(files, "") {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "a prompt file has no name")
		files = slices.DeleteFunc(files, func(s string) bool { return s == "" })
	}
	return files
}

// agentOf returns the agent with that id, or nil if there is none.
func (r *reader) agentOf(id string) *workflow.Agent {
	if info := r.agents[id]; info != nil {
		return &r.w.Agents[info.at]
	}
	return nil
}

// hasAgent reports whether name is an agent; an external agent becomes part of the workflow.
func (r *reader) hasAgent(name string) bool {
	if r.agents[name] != nil {
		return true
	}
	i, ok := r.externalAgents[name]
	if !ok {
		return false
	}
	r.addAgent(r.opts.Agents[i], field{span: diag.Span{File: r.w.Source.File}})
	return true
}

func (r *reader) agentIDs() []string {
	var out []string
	for _, a := range r.w.Agents {
		out = append(out, a.ID)
	}
	for _, a := range r.opts.Agents {
		if r.agents[a.ID] == nil {
			out = append(out, a.ID)
		}
	}
	return out
}

// output reads `structured_output:`.
func (r *reader) output(f field) *workflow.Output {
	if f.value.Kind != source.Map {
		r.wrongType(f, "a map with a schema")
		return nil
	}
	out := &workflow.Output{}
	description := ""
	for _, g := range r.fields(f.value) {
		switch g.key {
		case "name":
			out.Name = r.text(g)
		case "description":
			description = r.text(g)
		case "strict":
			out.Strict = r.flag(g)
		case "schema":
			if g.value.Kind != source.Map {
				r.wrongType(g, "a JSON Schema")
				return nil
			}
			out.Schema = r.json(g)
		default:
			r.unknown(g, diag.Warning, "structured_output", outputKeys)
		}
	}
	if out.Schema == nil {
		r.diags.Errorf(f.span, f.path, codeMissingKey, "structured_output needs a schema")
		return nil
	}
	out.Schema = agents.Describe(out.Schema, description)
	return out
}

// fallback reads `fallback:`.
func (r *reader) fallback(f field, a *workflow.Agent) {
	var diags diag.List
	for _, g := range r.fieldsOf(f) {
		switch g.key {
		case "models":
			r.fallbackModels(g, a)
		case "retries":
			agents.Retries(g.value, &diags, a)
		case "cooldown":
			agents.Cooldown(g.value, &diags, a)
		default:
			r.unknown(g, diag.Warning, "fallback", fallbackKeys)
		}
	}
	for _, d := range diags {
		r.diags.Add(d)
	}
}

func (r *reader) fallbackModels(f field, a *workflow.Agent) {
	for _, e := range r.list(f) {
		name, ok := stringOf(e.value)
		if !ok {
			r.diags.Errorf(e.value.Span, e.path, codeWrongType, "a fallback must be a model's name, got %s",
				describe(e.value))
			continue
		}
		a.Fallbacks = append(a.Fallbacks, r.fallbackModel(name, e))
	}
}

// compaction reads `compaction:`, whose model may be an entry of `models`.
func (r *reader) compaction(f field) *workflow.Compaction {
	var diags diag.List
	out := agents.Compaction(f.value, &diags)
	for _, d := range diags {
		r.diags.Add(d)
	}
	if out != nil && out.Model != "" {
		at := f.value.Get("model")
		out.Model = r.fallbackModel(out.Model, field{key: "model", value: at, span: at.Span, path: at.Path()})
	}
	return out
}
