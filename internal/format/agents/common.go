package agents

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// view reads one agent's map, in which each key may be spelled as in lists or as in steps
// documents.
type view struct {
	f     *source.Fields
	diags *diag.List
	name  string // of the agent, for messages
}

// key returns the spelling in which a key is present: name if that is present, else the first of
// others that is, else name.
func (v view) key(name string, others ...string) string {
	for _, k := range append([]string{name}, others...) {
		if v.f.Node().Entry(k) != nil {
			return k
		}
	}
	return name
}

// Common reads into a what agents have in every format in addition to id, name, prompt, model and
// tools: keys in camelCase, or as steps documents spell them. Sub-agents and hand-off targets are
// ids, which [Close] resolves. Unsupported keys are reported by name; the caller reports unknown
// keys.
func Common(f *source.Fields, diags *diag.List, a *workflow.Agent) {
	v := view{f, diags, a.ID}
	a.Description = f.Str("description")
	v.params(&a.Params)
	a.Toolsets = v.toolsets()
	a.Permissions = Permissions(f.Get("permissions"), diags)
	a.Handoffs = v.ids(v.key("handoffs"))
	a.Output = v.output()
	if n, ok := v.count(v.key("maxIterations", "max_iterations")); ok && n > 0 {
		a.MaxTurns = n
	}
	if n, ok := v.count(v.key("maxConsecutiveToolCalls", "max_consecutive_tool_calls")); ok {
		a.NoProgress = n
	}
	a.ToolCalls = v.toolCalls()
	v.fallback(a)
	a.Compaction = Compaction(f.Get("compaction"), diags)
	a.AddDate, _ = f.Bool(v.key("addDate", "add_date"))
	a.AddEnvironment, _ = f.Bool(v.key("addEnvironmentInfo", "add_environment_info"))
	a.PromptFiles = f.Strs(v.key("addPromptFiles", "add_prompt_files"))
	a.Commands = Commands(f.Get("commands"), diags)
	a.Welcome = f.Str(v.key("welcomeMessage", "welcome_message"))
	if e := f.Node().Entry("instruction_file"); e != nil {
		f.Get("instruction_file")
		diags.Errorf(e.KeySpan, e.Value.Path(), CodeUnsupported,
			"agent %q: instruction_file is a key of steps documents",
			v.name).Hint = "put the text of the file into systemPrompt"
	}
	for _, name := range append(Names(true, false), Names(false, false)...) {
		if e := f.Node().Entry(name); e != nil {
			f.Get(name)
			if b, ok := e.Value.Bool(); !e.Value.IsNull() && (!ok || b) {
				diags.Warnf(e.KeySpan, e.Value.Path(), CodeUnsupported, "agent %q: %q is not supported yet", v.name,
					name).Hint = "it has no effect"
			}
		}
	}
}

// toolCalls reads the key toolCalls.
func (v view) toolCalls() string {
	key := v.key("toolCalls", "tool_calls")
	return ToolCalls(v.f.Str(key), v.f.Get(key), v.diags)
}

// ToolCalls returns the value of the key toolCalls, which is at n; the default is "".
func ToolCalls(text string, n *source.Node, diags *diag.List) string {
	words := []string{workflow.ToolCallsOrdered, workflow.ToolCallsParallel}
	switch {
	case text == "" || text == workflow.ToolCallsOrdered:
		return ""
	case !slices.Contains(words, text):
		diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "the order of tool calls is ordered or parallel, got %q",
			text).Hint = diag.DidYouMean(text, words)
		return ""
	}
	return text
}

// subagents reads the key subAgents.
func (v view) subagents(a *workflow.Agent) {
	for _, id := range v.ids(v.key("subAgents", "sub_agents")) {
		a.Subagents = append(a.Subagents, workflow.Subagent{Agent: id})
		a.SubagentFailure = workflow.SubagentReports
	}
}

// ids reads a list of agents without duplicates.
func (v view) ids(key string) []string {
	var out []string
	for _, id := range v.f.Strs(key) {
		n := v.f.Get(key)
		switch {
		case id == "":
			v.diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "agent %q: an id under %q is empty", v.name, key)
		case id == v.name:
			v.diags.Warnf(n.Span, n.Path(), source.CodeWrongType, "agent %q names itself under %q", v.name,
				key).Hint = "it has no effect"
		case !slices.Contains(out, id):
			out = append(out, id)
		}
	}
	return out
}

// count reads a non-negative integer.
func (v view) count(key string) (int, bool) {
	n, ok := v.f.Int(key)
	if ok && (n < 0 || n > math.MaxInt32) {
		at := v.f.Get(key)
		v.diags.Errorf(at.Span, at.Path(), source.CodeWrongType, "%s must be 0 or more, got %d", key, n)
		return 0, false
	}
	return int(n), ok
}

func (v view) params(p *workflow.ModelParams) {
	f := v.f.Map("params")
	if f == nil {
		return
	}
	w := view{f, v.diags, v.name}
	for _, x := range []struct {
		to  **float64
		key string
	}{
		{&p.Temperature, "temperature"}, {&p.TopP, w.key("topP", "top_p")},
		{&p.FrequencyPenalty, w.key("frequencyPenalty", "frequency_penalty")},
		{&p.PresencePenalty, w.key("presencePenalty", "presence_penalty")},
	} {
		if n, ok := f.Float(x.key); ok && !math.IsInf(n, 0) && !math.IsNaN(n) {
			*x.to = &n
		}
	}
	if n, ok := w.count(w.key("maxTokens", "max_tokens")); ok {
		p.MaxTokens = new(int64(n))
	}
	budget := w.key("thinkingBudget", "thinking_budget")
	switch n := f.Get(budget); {
	case n.IsNull():
	case n.Kind == source.String:
		p.ReasoningEffort = n.Text
	default:
		if i, ok := f.Int(budget); ok && i >= -1 {
			p.ThinkingBudget = &i
		} else if ok {
			v.diags.Errorf(n.Span, n.Path(), source.CodeWrongType,
				"%s is a number of tokens, 0 for none or -1 to let the model decide, got %d", budget, i)
		}
	}
	if effort := f.Str(w.key("reasoningEffort", "reasoning_effort")); effort != "" {
		p.ReasoningEffort = effort
	}
	p.Stop = f.Strs("stop")
	if opts := f.Map(w.key("provider", "provider_opts")); opts != nil {
		for _, e := range opts.Node().Entries {
			if p.Provider == nil {
				p.Provider = map[string]json.RawMessage{}
			}
			p.Provider[e.Key] = e.Value.JSON()
		}
	}
	f.Unknown(diag.Warning)
}

// messagePrefix returns the prefix of messages about the agent; "" for the document itself.
func (v view) messagePrefix() string {
	if v.name == "" {
		return ""
	}
	return where(v.name) + ": "
}

// Toolsets reads the key toolsets of a document, which applies in addition to those of its agents.
func Toolsets(f *source.Fields, diags *diag.List) []json.RawMessage {
	return view{f: f, diags: diags}.toolsets()
}

// toolsets keeps each toolset unchanged; the tool registry interprets its keys.
func (v view) toolsets() []json.RawMessage {
	var out []json.RawMessage
	for _, n := range v.f.List("toolsets") {
		switch {
		case n.Kind != source.Map:
			v.diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "a toolset must be a map with a type, found %s",
				n.Kind).Hint = `write {"type": "mcp", …}`
		case n.Get("type").IsNull():
			v.diags.Errorf(n.Span, n.Path(), source.CodeMissingKey, "a toolset needs a type")
		default:
			if ref := n.Get("ref"); !ref.IsNull() {
				v.diags.Warnf(ref.Span, ref.Path(), CodeUnsupported, "%s`ref` of a toolset is not supported here",
					v.messagePrefix()).Hint = "name the server's command or its remote url instead"
			}
			out = append(out, n.JSON())
		}
	}
	return out
}

func (v view) output() *workflow.Output {
	key := v.key("structuredOutput", "structured_output")
	f := v.f.Map(key)
	if f == nil {
		return nil
	}
	at := v.f.Get(key)
	out := &workflow.Output{Name: f.Str("name")}
	description := f.Str("description")
	out.Strict, _ = f.Bool("strict")
	if n, ok := (view{f, v.diags, v.name}).count("repairs"); ok {
		out.Repairs = &n
	}
	body := f.Map("schema")
	f.Unknown(diag.Warning)
	if body == nil {
		v.diags.Errorf(at.Span, at.Path(), source.CodeMissingKey, "%s needs a schema", key)
		return nil
	}
	out.Schema = Describe(body.Node().JSON(), description)
	if _, err := schema.Compile(out.Schema); err != nil {
		v.diags.Errorf(body.Node().Span, body.Node().Path(), CodeBadSchema, "agent %q: %s: %v", v.name, key, err)
		return nil
	}
	return out
}

// Describe adds a description to a schema that has none, which is where providers look for it.
func Describe(body json.RawMessage, description string) json.RawMessage {
	var members map[string]json.RawMessage
	if description == "" || json.Unmarshal(body, &members) != nil || members["description"] != nil {
		return body
	}
	sep := ","
	if len(members) == 0 {
		sep = ""
	}
	text, err := json.Marshal(description)
	i := slices.Index(body, '{')
	if err != nil || i < 0 {
		return body
	}
	return slices.Concat(json.RawMessage(`{"description":`), text, json.RawMessage(sep), body[i+1:])
}

// where returns the name of an agent for messages.
func where(id string) string { return "agent " + strconv.Quote(id) }
