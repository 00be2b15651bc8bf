package steps

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

// defaultID returns the id of a step that specifies none, or "" if it depends on other steps.
func defaultID(n *workflow.Node) string {
	switch {
	case n.Agent != nil:
		return n.Agent.Agent
	case n.Tool != nil && n.Tool.Workflow != "":
		return callID(n.Tool.Workflow)
	case n.Tool != nil:
		return n.Tool.Tool
	}
	return ""
}

// tools writes the tools that tool steps may use.
func (o *writer) tools() {
	if len(o.w.Permissions) > 0 {
		permissions(o.w.Permissions, o.doc)
	}
	if len(o.w.Toolsets) == 0 {
		return
	}
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, raw := range o.w.Toolsets {
		if n, err := fromJSON(raw); err == nil {
			seq.Content = append(seq.Content, n)
		}
	}
	put(o.doc, "toolsets", seq)
}

// io writes the inputs and the output of the workflow.
func (o *writer) io() {
	o.prompts()
	for _, v := range []struct {
		key string
		raw json.RawMessage
	}{{"inputs", inputs.JSON(o.w.Inputs)}, {"output_schema", o.w.OutputSchema}} {
		if n, err := fromJSON(v.raw); err == nil && len(v.raw) > 0 {
			put(o.doc, v.key, n)
		}
	}
	if len(o.w.Output) > 0 {
		put(o.doc, "output", o.value(o.w.Output))
	}
}

// prompts writes empty inputs if prompts hold expressions for no other reason, and records
// prompts that would be read differently.
func (o *writer) prompts() {
	holds := len(o.w.Inputs) > 0
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; n.Agent != nil && n.Agent.Prompt.Expressions && !holds && !o.inMap(n) {
			put(o.doc, "inputs", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle})
			holds = true
		}
	}
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		if n.Agent == nil || n.Agent.Prompt.Mode != workflow.PromptTemplate {
			continue
		}
		switch p := n.Agent.Prompt; {
		case p.Expressions && !nodes.HasExpressions(p.Text):
			o.unsupported.Nodef(n, "that its prompt is read for expressions")
		case !p.Expressions && nodes.HasExpressions(p.Text) && (holds || o.inMap(n)):
			o.unsupported.Nodef(n, "a prompt whose double braces are sent as they are")
		case !p.Expressions:
			for _, t := range nodes.UnknownTokens(p.Text, true) {
				o.unsupported.Nodef(n, "that %s in its prompt is plain text", t.Text)
			}
		}
	}
}

// inMap reports whether a node is inside a map.
func (o *writer) inMap(n *workflow.Node) bool {
	for range o.w.Nodes { // parents of a damaged graph may form a cycle
		if n = o.w.Node(n.Parent); n == nil {
			return false
		}
		if n.Map != nil {
			return true
		}
	}
	return false
}

// own returns the permissions of an agent beyond those of the document, which apply to all agents.
func (o *writer) own(a *workflow.Agent, at string) []workflow.Permissions {
	all := o.w.Permissions
	for i := range all {
		if i >= len(a.Permissions) || string(encode(all[i])) != string(encode(a.Permissions[i])) {
			o.unsupported.Addf(at, "that the permissions of tool steps are not those of the agent")
			return a.Permissions
		}
	}
	return a.Permissions[len(all):]
}

// extension writes the keys of a step of a type that S4 does not have.
func (o *writer) extension(it *item, m *yaml.Node) {
	n := it.node
	switch {
	case n.Tool != nil && n.Tool.Workflow != "":
		o.call(n, m)
	case n.Tool != nil:
		put(m, "type", plain("tool"))
		put(m, "tool", text(n.Tool.Tool))
		if len(n.Tool.Args) == 0 {
			o.unsupported.Nodef(n, "that its arguments are its input")
		} else if string(n.Tool.Args) != "{}" {
			put(m, "args", o.value(n.Tool.Args))
		}
		if n.Tool.ArgsFunc != "" {
			o.unsupported.Nodef(n, "the Go function %q that makes its arguments", n.Tool.ArgsFunc)
		}
	case n.Set != nil:
		put(m, "type", plain("set"))
		if v := o.value(n.Set.Value); v.Kind == yaml.MappingNode {
			put(m, "values", v)
		} else {
			o.unsupported.Nodef(n, "a value that is not an object")
		}
	case n.Sleep != nil:
		put(m, "type", plain("sleep"))
		for _, v := range []struct{ key, text string }{{"for", n.Sleep.For}, {"until", n.Sleep.Until}} {
			if v.text != "" {
				put(m, v.key, text(o.interpolation(v.text)))
			}
		}
	case n.Map != nil:
		o.mapped(n, m)
	case n.End != nil:
		put(m, "type", plain("end"))
		if n.End.Status != "" {
			put(m, "status", plain(n.End.Status))
		}
		if len(n.End.Output) > 0 {
			put(m, "output", o.value(n.End.Output))
		}
		if n.End.Message != "" {
			put(m, "message", text(o.interpolation(n.End.Message)))
		}
	case n.Wait != nil:
		o.wait(it, m)
	default:
		return
	}
	if n.Name != "" && n.Name != it.id {
		o.unsupported.Nodef(n, "the name %q", n.Name)
	}
}

// call writes a step that runs another workflow.
func (o *writer) call(n *workflow.Node, m *yaml.Node) {
	put(m, "type", plain("workflow"))
	put(m, "workflow", text(n.Tool.Workflow))
	var args map[string]json.RawMessage
	if err := json.Unmarshal(n.Tool.Args, &args); err != nil || len(args) != 1 || args["input"] == nil {
		o.unsupported.Nodef(n, "arguments in addition to the input")
	}
	if string(args["input"]) != previousInput {
		put(m, "input", o.value(args["input"]))
	}
}

func (o *writer) wait(it *item, m *yaml.Node) {
	n, w := it.node, it.node.Wait
	typ := "ask"
	switch w.Kind {
	case workflow.WaitApproval:
		typ = "approval"
	case workflow.WaitSignal:
		typ = "signal"
	}
	put(m, "type", plain(typ))
	if typ == "signal" {
		put(m, "signal", text(w.Await))
		if w.Filter != nil {
			put(m, "filter", text(o.condition(*w.Filter)))
			if w.Filter.Language != workflow.LangExpr {
				o.unsupported.Nodef(n, "its filter")
			}
		}
		if w.Prompt != "" {
			o.unsupported.Nodef(n, "a prompt")
		}
	} else if w.Prompt != "" || typ == "ask" {
		put(m, "prompt", text(o.interpolation(w.Prompt)))
	}
	if len(w.Options) > 0 {
		put(m, "options", texts(w.Options))
		if string(w.Schema) != string(encode(map[string]any{"enum": w.Options})) {
			o.unsupported.Nodef(n, "that other answers than its options are taken")
		}
	} else if v, err := fromJSON(w.Schema); err == nil && len(w.Schema) > 0 {
		put(m, "schema", v)
	}
	if w.Deadline > 0 {
		put(m, "deadline", text(time.Duration(w.Deadline).String()))
	}
	switch {
	case it.onDeadline != nil:
		put(m, "on_deadline", target(it.onDeadline))
	case w.OnDeadline != "":
		put(m, "on_deadline", plain(w.OnDeadline))
	case len(w.Default) > 0:
		f := mapping()
		put(f, wordDefault, o.value(w.Default))
		put(m, "on_deadline", f)
	}
	if w.Remind > 0 {
		put(m, "remind_after", text(time.Duration(w.Remind).String()))
	}
	if len(w.Roles) > 0 {
		put(m, "roles", texts(w.Roles))
	}
	if len(it.no) > 0 {
		put(m, "reject", o.steps(it.no))
	} else if typ == "approval" && !w.FailReject {
		put(m, "on_reject", plain(wordEnd))
	}
	if !w.Template && w.Prompt != "" {
		o.unsupported.Nodef(n, "a prompt without expressions")
	}
	if w.PromptFunc+w.Signal+w.Mapper != "" || w.Route || w.AutoApprove {
		o.unsupported.Nodef(n, "how the question is asked and its answer used")
	}
}

// mapped writes the keys of a map, except its steps.
func (o *writer) mapped(n *workflow.Node, m *yaml.Node) {
	v := n.Map
	put(m, "type", plain("map"))
	switch {
	case v.OverFunc != "":
		o.unsupported.Nodef(n, "the Go function %q that gives its list", v.OverFunc)
	case len(v.Over) == 0: // the input is the list
		put(m, "over", text("{{PREVIOUS_OUTPUT}}"))
	default:
		put(m, "over", o.value(v.Over))
	}
	if v.As != "" {
		put(m, "as", text(v.As))
	}
	if v.MaxConcurrency > 0 {
		put(m, "max_concurrency", plain(strconv.Itoa(v.MaxConcurrency)))
	}
	if v.OnItemError != "" {
		put(m, "on_item_error", plain(v.OnItemError))
	}
	if v.Merge != "" {
		o.unsupported.Nodef(n, "the function %q that makes changes of the state of its list", v.Merge)
	}
}

// target returns `{goto: ID}`.
func target(t *item) *yaml.Node {
	f := mapping()
	put(f, wordGoto, text(t.id))
	return f
}

// join writes which branches a parallel step waits for.
func join(f *workflow.Fork, m *yaml.Node) {
	if f.Until == "" || f.Until == workflow.UntilAll {
		return
	}
	put(m, "join", plain(f.Until))
	if f.Until == workflow.UntilQuorum {
		put(m, "quorum", plain(strconv.Itoa(f.Quorum)))
	}
}

// policies writes when a step runs, for how long, and what happens after it fails.
func (o *writer) policies(it *item, m *yaml.Node) {
	n := it.node
	if n.If != nil {
		if n.If.Language != workflow.LangExpr {
			o.unsupported.Nodef(n, "its condition")
		}
		put(m, "if", text(o.condition(*n.If)))
	}
	if n.Timeout > 0 {
		put(m, "timeout", text(time.Duration(n.Timeout).String()))
	}
	if n.CallTimeout > 0 && n.Fork == nil {
		put(m, "call_timeout", text(time.Duration(n.CallTimeout).String()))
	}
	switch c := n.Catch; {
	case c == nil:
	case it.onError != nil:
		put(m, "on_error", target(it.onError))
	case c.Port == workflow.PortOut && len(c.Default) > 0:
		f := mapping()
		put(f, wordDefault, o.value(c.Default))
		put(m, "on_error", f)
	case c.Port == workflow.PortOut:
		put(m, "on_error", plain(wordContinue))
	default:
		o.unsupported.Nodef(n, "that a failure ends its path")
	}
}

// value writes a value with expressions.
func (o *writer) value(raw json.RawMessage) *yaml.Node {
	n, err := fromJSON(raw)
	if err != nil {
		return mapping()
	}
	o.nameAll(n)
	return n
}

func (o *writer) nameAll(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.SetString(o.interpolation(n.Value))
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			o.nameAll(c)
		}
	}
}

// interpolation writes a string with expressions.
func (o *writer) interpolation(src string) string {
	if len(o.shared) == 0 || !strings.Contains(src, "{{") {
		return src
	}
	t, _ := celexpr.ParseInterpolation(src, expr.Options{Steps: o.known, Vars: o.vars})
	return o.named(src, t.Refs())
}

// hasEarlyJoin reports whether a workflow has a parallel step that does not wait for all its
// branches.
func hasEarlyJoin(w *workflow.Workflow) bool {
	return slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool {
		return n.Fork != nil && n.Fork.Until != "" && n.Fork.Until != workflow.UntilAll
	})
}
