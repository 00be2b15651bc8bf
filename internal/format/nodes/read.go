package nodes

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Texts are the texts with expressions in the settings of one node, to be checked once all nodes
// are known.
type Texts struct {
	node  string // its id; "" for the document
	parts []stretch
}

// stretch is one value, condition or template.
type stretch struct {
	at   *source.Node
	read reading
}

// reading is how the texts of a stretch are interpreted.
type reading int

const (
	asValue     reading = iota // X-2, each of its texts separately
	asCondition
	asTemplate                 // like instructions of steps documents (S4-15)
	asPlain                    // sent unchanged, and should not look like an expression
)

// reader reads the settings of one node.
type reader struct {
	f     *source.Fields
	at    *source.Node // the node of the document
	diags *diag.List
	n     *workflow.Node
	texts *Texts

	remind string // the spelling of remind_after; "" means remind_after
}

// Read reads the settings f of a node of one of [Types] into n, whose id is set; f is nil if the
// document has none. It reads each key of the type from f.
func Read(typ string, at *source.Node, f *source.Fields, diags *diag.List, n *workflow.Node) *Texts {
	r := &reader{f: f, at: at, diags: diags, n: n, texts: &Texts{node: n.ID}}
	for _, key := range Keys(typ) {
		f.Get(key)
	}
	if need, ok := requiredKeys[typ]; ok && f.Get(need[0]).IsNull() {
		r.errorf(nil, codeBadNode, "%s node requires %s", article(typ), need[0]).Hint = need[1]
	}
	switch typ {
	case Tool:
		n.Kind, n.Tool = workflow.KindTool, &workflow.ToolNode{Tool: f.Text("tool"), Args: json.RawMessage("{}")}
		if v := r.object("args"); v != nil {
			n.Tool.Args = r.value(v)
		}
	case Workflow:
		n.Kind, n.Tool = workflow.KindTool, r.called()
	case Set:
		n.Kind, n.Set = workflow.KindSet, &workflow.SetNode{Value: json.RawMessage("{}")}
		if v := r.object("values"); v != nil {
			n.Set.Value = r.value(v)
		}
	case Ask:
		n.Kind, n.Wait = workflow.KindWait, &workflow.Wait{Kind: workflow.WaitQuestion, Template: true,
			Prompt: r.text("prompt")}
		r.answers(n.Wait)
		r.deadline(n.Wait, wordFail, wordDefault)
	case Approval:
		n.Kind, n.Wait = workflow.KindWait, &workflow.Wait{Kind: workflow.WaitApproval, Template: true,
			Prompt: r.text("prompt")}
		r.approval()
	}
	if typ != Approval {
		r.policies(slices.Contains(Keys(typ), "timeout"))
	}
	return r.texts
}

// ReadApproval reads into n, which is an approval, the keys that [Read] reads of an approval,
// except its prompt. remind is the spelling of remind_after.
func ReadApproval(at *source.Node, f *source.Fields, diags *diag.List, n *workflow.Node, remind string) *Texts {
	r := &reader{f: f, at: at, diags: diags, n: n, texts: &Texts{node: n.ID}, remind: remind}
	for _, key := range Keys(Approval) {
		f.Get(key)
	}
	r.approval()
	return r.texts
}

// approval reads the keys of an approval, except its prompt.
func (r *reader) approval() {
	r.deadline(r.n.Wait, wordFail, workflow.PortApprove, workflow.PortReject)
	r.n.Wait.FailReject = r.word("on_reject", wordFail, wordEnd) == wordFail
}

func article(typ string) string {
	if typ != "" && strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// errorf reports a problem at a value, or at the node if at is nil.
func (r *reader) errorf(at *source.Node, code, format string, args ...any) *diag.Diagnostic {
	if at == nil {
		at = r.at
	}
	d := r.diags.Errorf(at.Span, at.Path(), code, format, args...)
	d.Message = prefix(r.n.ID) + d.Message
	return d
}

// value returns a value unchanged, and records it for [Document.Check].
func (r *reader) value(n *source.Node) json.RawMessage {
	r.texts.parts = append(r.texts.parts, stretch{n, asValue})
	return n.JSON()
}

// text returns a text with expressions.
func (r *reader) text(key string) string {
	v := r.f.Get(key)
	text := r.f.Text(key)
	if text != "" {
		r.texts.parts = append(r.texts.parts, stretch{v, asValue})
	}
	return text
}

// object returns a map that must be present.
func (r *reader) object(key string) *source.Node {
	v := r.f.Get(key)
	if v.IsNull() {
		return nil
	}
	if v.Kind != source.Map {
		r.errorf(v, source.CodeWrongType, "%s must be a map, found %s", key, v.Kind)
		return nil
	}
	return v
}

// called reads which workflow a node runs, and its input.
func (r *reader) called() *workflow.ToolNode {
	name := r.f.Text("workflow")
	if _, ok := workflow.ParseCall(name); name != "" && !ok {
		r.errorf(r.f.Get("workflow"), codeBadValue, "%q names no workflow",
			name).Hint = "write ID, ID@VERSION, or a path relative to this document that begins with ./ or ../"
		name = ""
	}
	t := &workflow.ToolNode{Tool: workflow.CallTool(name), Workflow: name,
		Args: json.RawMessage(`{"input":` + previousInput + `}`)}
	if v := r.f.Get("input"); !v.IsNull() {
		t.Args = slices.Concat(json.RawMessage(`{"input":`), r.value(v), json.RawMessage("}"))
	}
	return t
}

// previousInput is the input of a node of the type workflow that declares none.
const previousInput = `"{{PREVIOUS_OUTPUT}}"`

// answers reads the possible answers to a question.
func (r *reader) answers(w *workflow.Wait) {
	body := r.object("schema")
	if list := r.f.Get("options"); !list.IsNull() {
		w.Options = r.options(list)
		if len(w.Options) > 0 {
			w.Schema, _ = json.Marshal(map[string]any{"enum": w.Options}) // strings always marshal
		}
		if body != nil {
			r.errorf(body, codeBadNode, "a question has options or a schema, not both").Hint = "write the options as " +
				"an enum of the schema"
		}
		return
	}
	if body == nil {
		return
	}
	raw := body.JSON()
	if _, err := schema.Compile(raw); err != nil {
		r.errorf(body, codeBadSchema, "invalid schema: %s",
			strings.TrimPrefix(err.Error(), schema.ErrInvalid.Error()+": "))
		return
	}
	w.Schema = raw
}

func (r *reader) options(list *source.Node) []string {
	var out []string
	for _, item := range r.f.List("options") {
		switch {
		case !item.IsScalar() || item.IsNull():
			r.errorf(item, source.CodeWrongType, "an option must be a text, found %s", item.Kind)
		case strings.TrimSpace(item.Text) == "" || slices.Contains(out, item.Text):
			r.errorf(item, codeBadValue, "the option %q is empty or there twice", item.Text)
		default:
			out = append(out, item.Text)
		}
	}
	if list.Kind == source.List && len(list.Items) == 0 {
		r.errorf(list, codeBadValue, "there are no options").Hint = "leave the key out for any answer"
	}
	return out
}

// deadline reads the deadline of a question, what follows it, and the reminder; words are the
// values of on_deadline.
func (r *reader) deadline(w *workflow.Wait, words ...string) {
	w.Deadline, w.Remind = r.duration("deadline"), r.duration(cmp.Or(r.remind, "remind_after"))
	w.Roles = r.roles()
	at := r.f.Get("on_deadline")
	word, value := r.follow("on_deadline", "timeout", words...)
	switch word {
	case "":
		return
	case workflow.PortApprove, workflow.PortReject:
		w.OnDeadline = word
	case wordDefault:
		w.Default = r.value(value)
	}
	if r.f.Get("deadline").IsNull() {
		r.errorf(at, codeBadNode, "on_deadline requires deadline")
	}
}

// roles reads the roles that may answer. An empty list is rejected, since it would restrict
// nothing.
func (r *reader) roles() []string {
	at := r.f.Get("roles")
	if at.IsNull() {
		return nil
	}
	var out []string
	for _, role := range r.f.Strs("roles") {
		switch {
		case role == "" || role != strings.TrimSpace(role) || len(role) > workflow.MaxRoleSize ||
			slices.Contains(out, role):
			r.errorf(at, codeBadValue, "the role %.80q is empty, has whitespace around it, is too long or there twice",
				role)
		default:
			out = append(out, role)
		}
	}
	switch {
	case at.Kind == source.List && len(at.Items) == 0:
		r.errorf(at, codeBadValue, "there are no roles").Hint = "leave the key out for all who may answer"
	case len(out) > workflow.MaxRoles:
		r.errorf(at, codeBadValue, "there are %d roles, and at most %d are allowed", len(out), workflow.MaxRoles)
	}
	return out
}

// policies reads when a node runs, for how long, and what follows its failure; works reports that
// the kind of the node does work.
func (r *reader) policies(works bool) {
	if v := r.f.Get("if"); !v.IsNull() && r.isCondition(v) {
		r.n.If = &workflow.Condition{Language: workflow.LangExpr, Text: v.Text}
		r.texts.parts = append(r.texts.parts, stretch{v, asCondition})
	}
	if works {
		r.n.Timeout, r.n.CallTimeout = r.duration("timeout"), r.duration("call_timeout")
		r.n.Retry = r.retry()
	}
	switch word, value := r.follow("on_error", workflow.PortError, wordFail, wordContinue, wordDefault); word {
	case wordContinue:
		r.n.Catch = &workflow.Catch{Port: workflow.PortOut}
	case wordDefault:
		r.n.Catch = &workflow.Catch{Port: workflow.PortOut, Default: r.value(value)}
	}
}

// isCondition reports whether v may be a condition, and what is wrong with it if it may not.
func (r *reader) isCondition(v *source.Node) bool {
	switch {
	case !v.IsScalar():
		r.errorf(v, source.CodeWrongType, "if must be a condition, found %s", v.Kind)
	case strings.TrimSpace(v.Text) == "":
		r.errorf(v, codeBadValue, "the condition is empty").Hint = "leave `if` out, or write a condition"
	default:
		return true
	}
	return false
}

// Condition returns the condition at, of the node id, and its text for [Document.Check].
func Condition(id string, at *source.Node, diags *diag.List) (*Texts, workflow.Condition) {
	r := &reader{at: at, diags: diags, n: &workflow.Node{ID: id}, texts: &Texts{node: id}}
	if r.isCondition(at) {
		r.texts.parts = append(r.texts.parts, stretch{at, asCondition})
	}
	return r.texts, workflow.Condition{Language: workflow.LangExpr, Text: at.Text}
}

// duration reads a duration such as 90s, 1h30m or 2d; a number alone is in seconds.
func (r *reader) duration(key string) workflow.Duration {
	v := r.f.Get(key)
	if v.IsNull() || v.Kind == source.String && v.Text == "" {
		return 0
	}
	if !v.IsScalar() {
		r.f.Text(key) // reports what is wrong
		return 0
	}
	d, err := workflow.ParseDuration(v.Text)
	if err != nil {
		r.errorf(v, codeBadValue, "invalid duration %q", v.Text).Hint = "write a time such as 90s, 1h30m or 2d, " +
			"3650d at most"
	}
	return d
}

// word reads one of words; it returns "" if the key is absent.
func (r *reader) word(key string, words ...string) string {
	v := r.f.Get(key)
	if v.IsNull() {
		return ""
	}
	if !v.IsScalar() || !slices.Contains(words, v.Text) {
		d := r.errorf(v, codeBadValue, "%s is %q, not one of %s", key, v.Text, strings.Join(words, ", "))
		d.Hint = diag.DidYouMean(v.Text, words)
		return ""
	}
	return v.Text
}

// follow reads a word, or `{default: VALUE}` if words allows it, and also returns the value. A path
// to another node is a connection from the handle port.
func (r *reader) follow(key, port string, words ...string) (string, *source.Node) {
	v := r.f.Get(key)
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == wordDefault })
	switch {
	case v.IsNull():
		return "", nil
	case v.IsScalar():
		return r.word(key, plain...), nil
	case v.Kind == source.Map && len(v.Entries) == 1 && v.Entries[0].Key == wordDefault && len(plain) < len(words):
		return wordDefault, v.Entries[0].Value
	}
	forms := slices.Clone(plain)
	if len(plain) < len(words) {
		forms = append(forms, "{default: VALUE}")
	}
	d := r.errorf(v, codeBadValue, "%s must be one of %s", key, strings.Join(forms, ", "))
	if v.Get("goto") != nil {
		d.Hint = "draw a connection from the handle " + port + " to the node"
	}
	return "", nil
}
