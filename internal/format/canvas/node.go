package canvas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// node is a node of the document.
type node struct {
	at    *source.Node
	id    string
	index int
	kind  string // one of the types; typeApproval for the legacy type

	def   workflow.Node   // Kind is empty if the type is unknown
	agent *workflow.Agent // of agent nodes
	input json.RawMessage // of start nodes

	tools       map[string]bool // names in agent.Tools
	ports       map[string]bool // ports of if nodes
	mayAsk      bool            // tools.subagents is on
	parent      string          // the agent that this one is a sub-agent of
	unclearJoin bool            // its `join` was not understood
	joins       bool            // it waits for everything that can still arrive
	joinID      string          // the join that precedes it in the graph; "" if none
	texts       []*nodes.Texts  // with expressions
}

// dataKeys are the keys of `data` by type of node.
var dataKeys = map[string][]string{
	typeStart: {"initialInput"},
	typeAgent: append([]string{"agentName", "systemPrompt", "userPrompt", "context", "model", "reasoningEffort",
		"tools", keyJoin}, agents.OfNodes()...),
	typeIf:       {"conditions", "condition", keyJoin},
	typeApproval: append([]string{"message", keyRemindAfter, keyJoin}, nodes.Keys(nodes.Approval)...),

	nodes.Tool: append(nodes.Keys(nodes.Tool), keyJoin), nodes.Workflow: append(nodes.Keys(nodes.Workflow), keyJoin),
	nodes.Set: append(nodes.Keys(nodes.Set), keyJoin),
	nodes.Ask: append(nodes.Keys(nodes.Ask), keyJoin),
}

// misspelledKeys maps keys that are often written to the keys that were meant. Such a key is an
// error if the latter is absent, since the value was meant to have an effect.
var misspelledKeys = map[string]map[string]string{
	typeStart: {"input": "initialInput", "text": "initialInput", "value": "initialInput"},
	typeAgent: {"name": "agentName", "system": "systemPrompt", "instructions": "systemPrompt", "prompt": "userPrompt",
		"effort": "reasoningEffort"},
	typeIf: {"operator": "conditions", "value": "conditions"},

	typeApproval: {"timeout": "deadline", "expiresAfter": "deadline", "reminder": "remind_after"},
	nodes.Ask:    {"timeout": "deadline", "expiresAfter": "deadline", "reminder": "remind_after", "message": "prompt"},
	nodes.Tool:   {"arguments": "args", "name": "tool"},
	nodes.Set:    {"value": "values"},
}

func (r *reader) node(item *source.Node) {
	f := item.Fields(&r.diags)
	if f == nil {
		r.unclear = true
		return
	}
	n := &node{at: item}
	if id := f.Require("id"); id != nil {
		if n.id = f.Text("id"); n.id == "" && id.IsScalar() {
			r.diags.Errorf(id.Span, id.Path(), source.CodeMissingKey, "the id of a node must not be empty")
		}
	}
	typ := f.Require("type")
	n.kind = f.Str("type")
	data := f.Map("data")
	known := r.nodeType(n, typ)
	if known {
		r.misplaced(f, dataKeys[n.kind])
	}
	f.Unknown(diag.Warning, nodeExtras...)
	r.unclear = r.unclear || n.id == "" || !known
	if n.id != "" {
		if first := r.nodes[n.id]; first != nil {
			d := r.diags.Errorf(f.Get("id").Span, item.Path()+".id", codeDuplicateNode, "node id %q is used twice",
				n.id)
			source.Twice(d, first.at.Get("id").Span, "node with this id")
			known = false
		} else {
			n.index = len(r.order)
			r.nodes[n.id] = n
			r.order = append(r.order, n)
		}
	}
	if !known {
		return
	}
	n.def.ID = n.id
	switch n.kind {
	case typeStart:
		r.start(n, data)
	case typeAgent:
		r.agent(n, data)
	case typeIf:
		r.condition(n, data)
	case typeApproval:
		r.approval(n, data)
	default:
		n.texts = append(n.texts, nodes.Read(n.kind, item, data, &r.diags, &n.def))
	}
	r.join(n, data)
	r.dataRest(n, data)
}

// nodeType determines the type and reports whether it is known (S0-2, S0-7).
func (r *reader) nodeType(n *node, typ *source.Node) bool {
	if n.kind == "" {
		if typ != nil && typ.Kind == source.String {
			r.diags.Errorf(typ.Span, typ.Path(), source.CodeMissingKey, "the type of a node must not be empty")
		}
		return false
	}
	if n.kind == typeInput {
		n.kind = typeApproval
	}
	if _, ok := dataKeys[n.kind]; ok {
		return true
	}
	d := r.diags.Errorf(typ.Span, typ.Path(), codeUnknownType, "unknown node type %q", n.kind)
	switch d.Hint = r.similar(n.kind, types...); {
	case n.kind == "end":
		d.Hint = "remove the node: a branch ends at a node without outgoing connections"
	case d.Hint == "":
		d.Hint = "the types are " + strings.Join(types, ", ")
	}
	return false
}

// misplaced warns of keys that belong in `data` but are next to it.
func (r *reader) misplaced(f *source.Fields, keys []string) {
	for _, key := range keys {
		if e := f.Node().Entry(key); e != nil {
			f.Get(key)
			r.diags.Warnf(e.KeySpan, e.Value.Path(), codeMisplacedKey, "the key %q is not read here",
				key).Hint = `move it into "data"`
		}
	}
}

// dataRest names the node and warns of unread keys.
func (r *reader) dataRest(n *node, data *source.Fields) {
	if data == nil {
		return
	}
	if n.kind != typeAgent {
		for _, key := range []string{"label", "title"} {
			if v := data.Node().Get(key); v != nil && v.Kind == source.String && n.def.Name == "" {
				n.def.Name = v.Text
			}
		}
	}
	nodes.Misplaced(n.kind, n.id, data, dataKeys[n.kind], &r.diags, "draw an if node before it")
	for _, e := range data.Node().Entries {
		if want := misspelledKeys[n.kind][e.Key]; want != "" && data.Node().Get(want) == nil {
			data.Get(e.Key)
			r.diags.Warnf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "the key %q is not known here",
				e.Key).UnknownAs(want)
		}
	}
	data.Unknown(diag.Warning, append(slices.Clone(dataExtras), dataKeys[n.kind]...)...)
}

// start reads the input for runs that are started without one; a value that is falsy in JavaScript
// counts as an empty string (S0-4).
func (r *reader) start(n *node, data *source.Fields) {
	n.def.Kind = workflow.KindStart
	n.input = json.RawMessage(`""`)
	v := data.Get("initialInput")
	if v.IsNull() || v.Kind == source.Bool && v.Text == "false" {
		return
	}
	if number, ok := v.Float(); ok && number == 0 {
		return
	}
	n.input = v.JSON()
}

// agent reads an agent node; every agent node has its own agent with the node's id (S0-10).
func (r *reader) agent(n *node, data *source.Fields) {
	a := &workflow.Agent{
		ID: n.id, Name: data.Str("agentName"), System: data.Str("systemPrompt"), Model: data.Str("model"),
		Params:   workflow.ModelParams{ReasoningEffort: data.Str("reasoningEffort")},
		MaxTurns: maxTurns, Trim: true, EmptyText: EmptyText,
	}
	n.tools = map[string]bool{}
	if strings.TrimSpace(a.Name) == "" {
		a.Name = defaultName
	}
	if a.System == "" {
		a.System = DefaultSystem
	}
	chooses := a.Params.ReasoningEffort == effortAuto
	if chooses || a.Params.ReasoningEffort == "" {
		a.Params.ReasoningEffort = defaultEffort
	} else if efforts := []string{"none", "minimal", "low", "medium", "high", "xhigh"}; !slices.Contains(efforts,
		a.Params.ReasoningEffort) {
		v := data.Get("reasoningEffort")
		d := r.diags.Warnf(v.Span, v.Path(), codeBadValue, "unknown reasoning effort %q", v.Text)
		if d.Hint = r.similar(v.Text, efforts...); d.Hint == "" {
			d.Hint = "usual are " + strings.Join(efforts, ", ")
		}
	}
	r.tools(n, a, data)
	r.rest(a, data)
	a.Tokens = hasTokens(a.System)
	r.notReplaced(data.Get("systemPrompt"))
	if !r.doc.Expressions { // in expressions a token may have spaces, and anything else is an error
		r.notReplaced(data.Get("userPrompt"))
	}
	if chooses && a.Params.ReasoningEffort == defaultEffort {
		a.Params.ReasoningEffort = ""
	}
	n.agent = a
	n.def.Kind, n.def.Name = workflow.KindAgent, a.Name
	n.def.Agent = &workflow.AgentNode{Agent: n.id, Prompt: workflow.Prompt{Mode: r.promptMode(data),
		Text: data.Str("userPrompt")}}
	r.expressions(n, data)
}

// promptMode reads `context`, a Hocket-specific key: with "all" the user message is the outputs of
// all previous steps and the run's input, and userPrompt replaces an empty input (as in a steps
// document, S4-3).
func (r *reader) promptMode(data *source.Fields) workflow.PromptMode {
	switch text := data.Str("context"); text {
	case "":
	case contextAll:
		return workflow.PromptContext
	default:
		v := data.Get("context")
		d := r.diags.Errorf(v.Span, v.Path(), codeBadValue, "the context %q is not known", text)
		if d.Hint = r.similar(text, contextAll); d.Hint == "" {
			d.Hint = `write "all", or leave the key out for the previous output alone`
		}
	}
	return workflow.PromptTemplate
}

// rest reads what agents of every format have in addition to their prompts; settings that are not
// specified get the values that all canvas agents have.
func (r *reader) rest(a *workflow.Agent, data *source.Fields) {
	effort, prompt := a.Params.ReasoningEffort, a.System
	if data == nil {
		return
	}
	agents.Common(data, &r.diags, a)
	if a.Params.ReasoningEffort == "" {
		a.Params.ReasoningEffort = effort
	}
	a.System = prompt
}

// tools reads `tools`: a map of names to true or false, or a list of names. `subagents` is not a
// tool but the permission to have sub-agents; every other name is a tool that the agent may use
// (S0-10, S0-55).
func (r *reader) tools(n *node, a *workflow.Agent, data *source.Fields) {
	v := data.Get("tools")
	if v.IsNull() {
		return
	}
	if v.Kind == source.List {
		for _, name := range data.Strs("tools") {
			r.tool(n, a, name, v)
		}
		return
	}
	f := data.Map("tools")
	if f == nil {
		return
	}
	for _, e := range f.Node().Entries {
		switch e.Value.Kind {
		case source.Bool:
			if e.Value.Text == "true" {
				r.tool(n, a, e.Key, e.Value)
			}
		case source.Null:
		default:
			f.Bool(e.Key) // reports what is wrong
		}
		if e.Key == toolSubagents || e.Key == toolWebSearch {
			continue
		}
		if hint := r.similar(e.Key, toolSubagents, toolWebSearch); hint != "" {
			r.diags.Warnf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "%q is taken as the name of a tool",
				e.Key).Hint = hint
		}
	}
}

func (r *reader) tool(n *node, a *workflow.Agent, name string, at *source.Node) {
	switch {
	case name == toolSubagents:
		n.mayAsk = true
		return
	case name == "":
		r.diags.Errorf(at.Span, at.Path(), codeBadValue, "a tool has no name")
		return
	case n.tools[name]:
		return
	case slices.Contains(r.opts.Missing, name):
		r.diags.Warnf(at.Span, at.Path(), codeNoProvider, "the tool %q is not available: calls of it fail", name)
	}
	n.tools[name] = true
	a.Tools = append(a.Tools, name)
}

// condition reads an if node: conditions in order, each with its own port, else `false` (S0-20 to
// S0-23).
func (r *reader) condition(n *node, data *source.Fields) {
	d := &workflow.Decide{Cases: []workflow.Case{}, Else: workflow.PortFalse}
	items := data.List("conditions")
	for i, item := range items {
		f := item.Fields(&r.diags)
		op := cmp.Or(f.Str("operator"), expr.OpEqual)
		r.operator(f.Get("operator"), op)
		value := f.Get("value")
		if at := f.Get("if"); !at.IsNull() {
			d.Cases = append(d.Cases, r.expression(n, i, at, f))
		} else {
			if f != nil {
				r.operand(item, value, op)
			}
			d.Cases = append(d.Cases, matchCase(i, op, f.Text("value")))
		}
		f.Unknown(diag.Warning, "id")
	}
	// The legacy form applies only if the list is missing or empty (S0-23).
	if legacy := data.Get("condition"); len(items) == 0 && !legacy.IsNull() {
		r.operand(legacy, legacy, expr.OpContains)
		d.Cases = append(d.Cases, matchCase(0, expr.OpContains, data.Text("condition")))
	}
	n.ports = map[string]bool{workflow.PortFalse: true}
	for _, k := range d.Cases {
		n.ports[k.Port] = true
	}
	n.def.Kind, n.def.Decide = workflow.KindDecide, d
}

func matchCase(i int, op, text string) workflow.Case {
	return workflow.Case{Port: fmt.Sprint(portCondition, i), When: workflow.Condition{Language: workflow.LangMatch,
		Op: op, Text: text}}
}

// expression reads the condition i of an if node as an expression.
func (r *reader) expression(n *node, i int, at *source.Node, f *source.Fields) workflow.Case {
	for _, key := range []string{"operator", "value"} {
		if v := f.Get(key); !v.IsNull() {
			r.diags.Errorf(v.Span, v.Path(), codeBadValue, "a condition has if or %s, not both", key)
		}
	}
	texts, when := nodes.Condition(n.id, at, &r.diags)
	n.texts = append(n.texts, texts)
	return workflow.Case{Port: fmt.Sprint(portCondition, i), When: when}
}

// operator reports an operator that does not exist (S0-21).
func (r *reader) operator(at *source.Node, op string) {
	if slices.Contains(expr.Operators(), op) {
		return
	}
	signs := map[string]string{"=": expr.OpEqual, "==": expr.OpEqual, "<": expr.OpLess, "<=": expr.OpLessOrEqual,
		">": expr.OpGreater, ">=": expr.OpGreaterOrEqual}
	d := r.diags.Errorf(at.Span, at.Path(), codeBadValue, "unknown operator %q", op)
	if want := signs[op]; want != "" {
		d.Hint = "write " + want
	} else if d.Hint = r.similar(op, expr.Operators()...); d.Hint == "" {
		d.Hint = "the operators are " + strings.Join(expr.Operators(), ", ")
	}
}

// operand warns of a condition that never holds (S0-21), and reports an operand that is not a
// number where one is compared.
func (r *reader) operand(at, value *source.Node, op string) {
	switch empty := value == nil || value.IsScalar() && strings.TrimSpace(value.Text) == ""; {
	case !empty && !value.IsScalar():
	case expr.ComparesNumbers(op):
		text := ""
		if value != nil {
			at, text = value, value.Text
		}
		if _, ok := expr.Number(text); !ok {
			r.diags.Errorf(at.Span, at.Path(), codeBadValue, "%s compares numbers, and %q is not one", op, text)
		}
	case empty:
		r.diags.Warnf(at.Span, at.Path(), codeEmptyOperand, "a condition with an empty value never holds")
	}
}

// approval reads an approval node (S0-30). Everything except its prompt is specific to Hocket (P33,
//
func (r *reader) approval(n *node, data *source.Fields) {
	w := &workflow.Wait{Kind: workflow.WaitApproval, Prompt: data.Str("prompt")}
	at := data.Get("prompt")
	if w.Prompt == "" {
		w.Prompt, at = data.Str("message"), data.Get("message")
	}
	n.def.Kind, n.def.Wait = workflow.KindWait, w
	var texts *nodes.Texts
	texts, w.Template = r.doc.Prompt(n.id, at)
	n.texts = append(n.texts, texts, nodes.ReadApproval(n.at, data, &r.diags, &n.def, reminder(data)))
}

// keyRemindAfter is the original spelling of remind_after in approvals of canvas documents.
const keyRemindAfter = "remindAfter"

// reminder returns the spelling of the key that an approval uses for the time of the reminder.
func reminder(data *source.Fields) string {
	const key = "remind_after"
	if data.Node().Get(key) == nil && data.Get(keyRemindAfter) != nil {
		return keyRemindAfter
	}
	return key
}
