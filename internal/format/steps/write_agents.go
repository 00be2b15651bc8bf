package steps

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

func sortedKeys[V any](m map[string]V) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}

// agents writes the sections providers, models and agents.
func (o *writer) agents() {
	providers, models, section := mapping(), mapping(), mapping()
	for name := range sortedKeys(o.w.Providers) {
		p := o.w.Providers[name]
		m := mapping()
		if p.Kind == "openai" && p.BaseURL != "" {
			put(m, "api_type", plain("openai_chatcompletions"))
		} else {
			put(m, "provider", text(p.Kind))
		}
		if p.BaseURL != "" {
			put(m, "base_url", text(p.BaseURL))
		}
		if p.KeyEnv != "" {
			put(m, "token_key", text(p.KeyEnv))
		}
		if len(p.Omit) > 0 {
			put(m, "omit", texts(p.Omit))
		}
		put(providers, name, m)
	}
	ms := newModelWriter(o, models)
	for i := range o.w.Agents {
		a := &o.w.Agents[i]
		put(section, a.ID, o.agent(a, ms))
	}
	for _, s := range []struct {
		key string
		m   *yaml.Node
	}{{"providers", providers}, {"models", models}, {"agents", section}} {
		if len(s.m.Content) > 0 {
			put(o.doc, s.key, s.m)
		}
	}
}

func (o *writer) agent(a *workflow.Agent, ms *modelWriter) *yaml.Node {
	m := mapping()
	at := "agent " + strconv.Quote(a.ID)
	set := func(key, value string) {
		if value != "" {
			put(m, key, text(value))
		}
	}
	set("name", a.Name)
	set("model", ms.ref(a.Model, a.Params, a.ID, at))
	set("description", a.Description)
	set("instruction", a.System)
	t, problems := expr.ParseTemplate(a.System, expr.Options{})
	if a.Tokens {
		o.unsupported.Addf(at, "that the tokens in its instruction are replaced")
	}
	if !a.Template && len(t.Refs())+len(problems) > 0 {
		o.unsupported.Addf(at, "that `{{ $…` in its instruction is plain text")
	}
	for _, token := range nodes.UnknownTokens(a.System, a.Tokens) {
		o.unsupported.Addf(at, "that %s in its instruction is plain text", token.Text)
	}
	if len(a.Tools) > 0 {
		put(m, "tools", texts(a.Tools))
	}
	if len(a.Toolsets) > 0 {
		seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, raw := range a.Toolsets {
			n, err := fromJSON(raw)
			if err != nil {
				o.unsupported.Addf(at, "a toolset that is not valid JSON")
				continue
			}
			seq.Content = append(seq.Content, n)
		}
		put(m, "toolsets", seq)
	}
	permissions(o.own(a, at), m)
	o.subagents(a, at, m)
	if len(a.Handoffs) > 0 {
		put(m, "handoffs", texts(a.Handoffs))
	}
	o.output(a, at, m)
	if a.MaxTurns != 0 {
		put(m, "max_iterations", plain(strconv.Itoa(a.MaxTurns)))
	}
	if len(a.Fallbacks) > 0 || a.FallbackRetries != 0 || a.FallbackCooldown != 0 {
		f := mapping()
		var refs []string
		for _, ref := range a.Fallbacks {
			refs = append(refs, ms.ref(ref, workflow.ModelParams{}, a.ID, at))
		}
		if len(refs) > 0 {
			put(f, "models", texts(refs))
		}
		if a.FallbackRetries != 0 {
			put(f, "retries", plain(strconv.Itoa(a.FallbackRetries)))
		}
		if a.FallbackCooldown != 0 {
			put(f, "cooldown", plain(time.Duration(a.FallbackCooldown).String()))
		}
		put(m, "fallback", f)
	}
	o.compaction(a, ms, at, m)
	if a.NoProgress != 0 {
		put(m, "max_consecutive_tool_calls", plain(strconv.Itoa(a.NoProgress)))
	}
	set("tool_calls", a.ToolCalls)
	o.promptFacts(a, m)
	set("welcome_message", a.Welcome)
	if a.Trim || a.EmptyText != "" {
		o.unsupported.Addf(at, "how whitespace around its reply and an empty reply are handled")
	}
	if len(m.Content) == 0 {
		m.Style = yaml.FlowStyle
	}
	return m
}

// permissions writes an agent's permissions: one map, or a list if several apply together.
func permissions(all []workflow.Permissions, m *yaml.Node) {
	var maps []*yaml.Node
	for _, p := range all {
		one := mapping()
		for _, l := range []struct {
			key      string
			patterns []string
		}{{"allow", p.Allow}, {"ask", p.Ask}, {"deny", p.Deny}, {"edit", p.Edit}} {
			if len(l.patterns) > 0 {
				put(one, l.key, texts(l.patterns))
			}
		}
		if p.Default != "" {
			put(one, "default", text(p.Default))
		}
		maps = append(maps, one)
	}
	switch len(maps) {
	case 0:
	case 1:
		put(m, "permissions", maps[0])
	default:
		put(m, "permissions", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: maps})
	}
}

// promptFacts writes the facts appended to the system prompt, and the commands.
func (o *writer) promptFacts(a *workflow.Agent, m *yaml.Node) {
	if a.AddDate {
		put(m, "add_date", plain("true"))
	}
	if a.AddEnvironment {
		put(m, "add_environment_info", plain("true"))
	}
	if len(a.PromptFiles) > 0 {
		put(m, "add_prompt_files", texts(a.PromptFiles))
	}
	if len(a.Commands) == 0 {
		return
	}
	commands := mapping()
	for name := range sortedKeys(a.Commands) {
		c := a.Commands[name]
		if c.Description == "" {
			put(commands, name, text(c.Instruction))
			continue
		}
		one := mapping()
		put(one, "description", text(c.Description))
		put(one, "instruction", text(c.Instruction))
		put(commands, name, one)
	}
	put(m, "commands", commands)
}

func (o *writer) subagents(a *workflow.Agent, at string, m *yaml.Node) {
	if len(a.Subagents) == 0 {
		return
	}
	var names []string
	taken := map[string]bool{}
	for _, s := range a.Subagents {
		names = append(names, s.Agent)
		want := agents.Subagent(s.Agent, o.description(s.Agent), taken)
		if s.Tool != want.Tool {
			o.unsupported.Addf(at, "the tool name %q of the sub-agent %q", s.Tool, s.Agent)
		}
		if s.Description != want.Description {
			o.unsupported.Addf(at, "the description of the sub-agent %q as a tool", s.Agent)
		}
	}
	put(m, "sub_agents", texts(names))
	if a.SubagentFailure != workflow.SubagentReports {
		o.unsupported.Addf(at, "that a failed sub-agent fails it: in steps documents the error is sent to the model")
	}
}

func (o *writer) description(agent string) string {
	if a := o.agentByID[agent]; a != nil {
		return a.Description
	}
	return ""
}

func (o *writer) output(a *workflow.Agent, at string, m *yaml.Node) {
	if a.Output == nil {
		return
	}
	out := mapping()
	if a.Output.Name != "" {
		put(out, "name", text(a.Output.Name))
	}
	if a.Output.Strict {
		put(out, "strict", plain("true"))
	}
	schema, err := fromJSON(a.Output.Schema)
	if err != nil {
		o.unsupported.Addf(at, "an output schema that is not valid JSON")
		return
	}
	put(out, "schema", schema)
	put(m, "structured_output", out)
	if a.Output.Repairs != nil {
		o.unsupported.Addf(at, "the bound of %d repairs of its output", *a.Output.Repairs)
	}
}

// modelWriter writes the models section: an entry for every model that has parameters.
type modelWriter struct {
	o       *writer
	section *yaml.Node
	entries map[string]string // by content
	taken   map[string]bool   // names of entries, and every model name used by agents
}

func newModelWriter(o *writer, section *yaml.Node) *modelWriter {
	ms := &modelWriter{o: o, section: section, entries: map[string]string{}, taken: map[string]bool{}}
	for _, a := range o.w.Agents {
		ms.taken[a.Model] = true
		for _, f := range a.Fallbacks {
			ms.taken[f] = true
		}
	}
	for name := range o.w.Providers {
		ms.taken[name] = true
	}
	return ms
}

// ref returns the value to write for an agent's model: the reference, or the name of an entry.
func (ms *modelWriter) ref(ref string, params workflow.ModelParams, agent, at string) string {
	provider, model, found := strings.Cut(ref, "/")
	if !found {
		provider, model = "", ref
	}
	body := mapping()
	if provider != "" {
		put(body, "provider", text(provider))
	}
	if model != "" {
		put(body, "model", text(model))
	}
	before := len(body.Content)
	ms.params(params, at, body)
	if bare := ref != "auto" && !strings.Contains(ref, ","); bare && len(body.Content) == before {
		return ref
	}
	content, _ := yaml.Dump(body)
	key := provider + "\n" + string(content)
	if name, ok := ms.entries[key]; ok {
		return name
	}
	name := ms.name(agent)
	ms.entries[key] = name
	ms.taken[name] = true
	put(ms.section, name, body)
	return name
}

// name returns an unused name for an entry, derived from the first agent that needs it.
func (ms *modelWriter) name(agent string) string {
	base := strings.NewReplacer("/", "_", ",", "_").Replace(agent) + "_model"
	name := base
	for n := 2; ms.taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

func (ms *modelWriter) params(p workflow.ModelParams, at string, body *yaml.Node) {
	for _, f := range []struct {
		key string
		v   *float64
	}{
		{"temperature", p.Temperature}, {"top_p", p.TopP},
		{"frequency_penalty", p.FrequencyPenalty}, {"presence_penalty", p.PresencePenalty},
	} {
		if f.v != nil {
			put(body, f.key, number(*f.v))
		}
	}
	if p.MaxTokens != nil {
		put(body, "max_tokens", plain(strconv.FormatInt(*p.MaxTokens, 10)))
	}
	switch {
	case p.ThinkingBudget != nil:
		put(body, "thinking_budget", plain(strconv.FormatInt(*p.ThinkingBudget, 10)))
		if p.ReasoningEffort != "" {
			ms.o.unsupported.Addf(at, "a reasoning effort in addition to a thinking budget")
		}
	case p.ReasoningEffort != "":
		put(body, "thinking_budget", text(p.ReasoningEffort))
	}
	if len(p.Stop) > 0 {
		ms.o.unsupported.Addf(at, "the stop sequences %q", p.Stop)
	}
	if len(p.Provider) > 0 {
		opts := mapping()
		for key := range sortedKeys(p.Provider) {
			v, err := fromJSON(p.Provider[key])
			if err != nil {
				raw, _ := json.Marshal(string(p.Provider[key]))
				ms.o.unsupported.Addf(at, "the option %q, which is not valid JSON: %s", key, raw)
				continue
			}
			put(opts, key, v)
		}
		put(body, "provider_opts", opts)
	}
}

// compaction writes when an agent's conversations are compacted.
func (o *writer) compaction(a *workflow.Agent, ms *modelWriter, at string, m *yaml.Node) {
	if a.Compaction == nil {
		return
	}
	c := *a.Compaction
	if c.Model != "" {
		c.Model = ms.ref(c.Model, workflow.ModelParams{}, a.ID, at)
	}
	raw, err := json.Marshal(agents.CompactionOf(&c))
	if err == nil {
		var n *yaml.Node
		if n, err = fromJSON(raw); err == nil {
			put(m, "compaction", n)
		}
	}
	if err != nil {
		o.unsupported.Addf(at, "its compaction")
	}
}
