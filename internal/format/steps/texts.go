package steps

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// textReader reads the values and conditions of one step, or of the document itself if s is nil,
// once the node ids are known, and collects the nodes that they read.
type textReader struct {
	r     *reader
	s     *step
	reads []string
}

// value returns f as JSON, with the references in its strings naming nodes, or nil if f has
// no value.
func (x *textReader) value(f field) json.RawMessage {
	if f.value == nil {
		return nil
	}
	return x.node(f.value)
}

func (x *textReader) node(n *source.Node) json.RawMessage {
	switch n.Kind {
	case source.String:
		return encode(x.text(n))
	case source.List:
		b := json.RawMessage{'['}
		for i, e := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, x.node(e)...)
		}
		return append(b, ']')
	case source.Map:
		b := json.RawMessage{'{'}
		for i, e := range n.Entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, encode(e.Key)...), ':'), x.node(e.Value)...)
		}
		return append(b, '}')
	}
	return n.JSON()
}

// plain returns the string of a scalar, or "" if there is none.
func (x *textReader) plain(f field) string {
	if f.value == nil || f.value.IsNull() {
		return ""
	}
	if !f.value.IsScalar() {
		x.r.wrongType(f, "a string")
		return ""
	}
	if f.value.Kind != source.String {
		return f.value.Text
	}
	return x.text(f.value)
}

// prompt determines whether the prompt of an agent step holds expressions: it does in documents
// with inputs, and in maps. Otherwise it reports unknown tokens, and warns if the prompt
// looks as if it held expressions.
func (x *textReader) prompt(p *workflow.Prompt) {
	f := x.s.more.prompt
	if !nodes.HasExpressions(p.Text) {
		return
	}
	inMap := false
	for b := x.s.block(); b != nil; b = b.block() {
		inMap = inMap || b.kind == mapStep
	}
	if x.r.declares || inMap {
		p.Text, p.Expressions = x.plain(f), true
		return
	}
	x.r.tokens(place{value: f.value, path: f.path, title: x.title()}, p.Text, true)
	if v := nodes.PlainReference(p.Text); v != "" {
		x.r.diags.Warnf(f.value.Span, f.path, codeNotReplaced, "%s{{ %s … }} is sent as it is", x.title(),
			v).Hint = "add `inputs` to the document, {} where it has none: prompts then hold expressions"
	}
}

// tokens reports the tokens in a text that are not replaced in it (S4-15).
func (r *reader) tokens(at place, text string, isPrompt bool) {
	for _, t := range nodes.UnknownTokens(text, isPrompt) {
		if r.diags.errors > maxProblems {
			return // they would not be shown, and finding the place of each is work
		}
		r.diags.Errorf(at.span(t.Offset, len(t.Text)), at.path, codeUnknownToken, "%sunknown token %s", at.title,
			t.Text).Hint = t.Hint
	}
}

// text checks the references in one string and returns it with the references in the form that the
// engine looks up.
func (x *textReader) text(n *source.Node) string {
	sc := scope{r: x.r, at: x.s}
	t, problems := celexpr.ParseInterpolation(n.Text, sc.options(n.Text))
	at := place{value: n, path: n.Path(), title: x.title()}
	for _, p := range problems {
		x.r.problem(at, p, "")
	}
	return x.canonical(at, n.Text, t.Refs(), sc)
}

// title returns the prefix of messages about the strings of the step.
func (x *textReader) title() string {
	if x.s == nil {
		return ""
	}
	return x.s.title() + ": "
}

func (x *textReader) canonical(at place, src string, refs []expr.Ref, sc scope) string {
	var block *step
	if x.s != nil {
		block = x.s.block()
	}
	for _, ref := range refs {
		x.r.checkInput(at, ref)
		if t := sc.resolve(ref); t != nil && x.r.readable(at, ref, t, block) {
			x.r.checkPath(at, ref, t)
		}
	}
	text, reads := canonical(src, refs, sc, block)
	x.reads = append(x.reads, reads...)
	return text
}

// checkInput reports a reference to an input that the document does not have.
func (r *reader) checkInput(at place, ref expr.Ref) {
	if ref.Var != expr.VarInput || len(ref.Path) == 0 || len(r.inputs) == 0 || slices.Contains(r.inputs, ref.Path[0]) {
		return
	}
	d := r.diags.Errorf(at.span(ref.Offset, ref.Length), at.path, expr.CodeBadReference,
		"%sthe document has no input %q", at.title, ref.Path[0])
	d.Hint = diag.DidYouMeanOr(ref.Path[0], "the inputs are", r.inputs)
}

// condition returns the condition of `if`, or nil if there is none.
func (x *textReader) condition(f field) *workflow.Condition {
	if f.value == nil {
		return nil
	}
	return x.ask(f, false)
}

// filter returns the condition of `filter`, or nil if there is none.
func (x *textReader) filter(f field) *workflow.Condition {
	if f.value == nil {
		return nil
	}
	return x.ask(f, true)
}

func (x *textReader) ask(f field, ofSignal bool) *workflow.Condition {
	src := x.r.condition(f)
	if strings.TrimSpace(src) == "" {
		if f.value.IsScalar() {
			x.r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: the condition is empty",
				x.s.title()).Hint = "leave `" + f.key + "` out, or write a condition"
		}
		return nil
	}
	sc := scope{r: x.r, at: x.s}
	opts := sc.options(src)
	if ofSignal {
		opts.Vars = withSignal(opts.Vars)
	}
	cond, problems := celexpr.ParseCondition(src, opts)
	at := place{value: f.value, path: f.path, title: x.s.title() + ": "}
	for _, p := range problems {
		x.r.problem(at, p, x.r.outputOrigin(sc, cond, p))
	}
	if v, ok := cond.Constant(); ok && f.key == "filter" && len(problems) == 0 {
		x.r.diags.Warnf(at.span(0, len(src)), at.path, codeConstant, "%sthe filter is always %t", at.title,
			v).Hint = "read the value, for example {{ $signal.amount > 100 }}"
	}
	return &workflow.Condition{Language: workflow.LangExpr, Text: x.canonical(at, src, cond.Refs(), sc)}
}

// done returns the sorted nodes that the strings read, including others.
func (x *textReader) done(others []string) []string {
	all := slices.Concat(others, x.reads)
	slices.Sort(all)
	return slices.Compact(all)
}

// readable reports whether a reference, seen from inside the parallel step in, reads something that
// the step t has; it adds a diagnostic if not. A nil in means outside all parallel steps.
func (r *reader) readable(at place, ref expr.Ref, t, in *step) bool {
	if r.noOutput(at, ref, t) {
		return false
	}
	what, hint := "", ""
	if m := t.enclosingMap(in); m != nil {
		r.diags.Errorf(at.span(ref.Offset, ref.Length), at.path, expr.CodeBadReference,
			"%s%q can be read inside of its map alone", at.title, t.id).Hint = "read $steps." + m.id +
			".output, the list of what its items gave"
		return false
	}
	b := t.block()
	outside := b != nil && in != b && (in == nil || !in.inside(b))
	switch ref.Field {
	case expr.FieldError:
		if !t.continuesOnError() {
			what, hint = "the run ends where it fails, so there is no error to read", "write on_error at that step"
		} else if outside {
			what, hint = "its error can be read inside of its parallel step alone",
				"read its output, which on_error may give a default"
		}
	case expr.FieldDecision, expr.FieldNote:
		if t.kind != approvalStep {
			what, hint = "only an approval has a decision and a note", ""
		} else if w := t.more.onError.word; outside && (w == wordContinue || w == wordGoto) {
			what, hint = "a rejection that on_error handles can be read inside of its parallel step alone",
				"write reject in place of on_error, or give on_error a default"
		}
	case expr.FieldStopReason:
		if t.kind != agentStep {
			what, hint = "only an agent has a stop_reason", ""
		}
	default:
		return true
	}
	if what == "" {
		return true
	}
	r.diags.Errorf(at.span(ref.Offset, ref.Length), at.path, expr.CodeBadReference, "%s%q: %s", at.title, t.id,
		what).Hint = hint
	return false
}

// enclosingMap returns the innermost map that encloses s but not the inside of the block in, or nil
// if there is none.
func (s *step) enclosingMap(in *step) *step {
	for b := s.block(); b != nil; b = b.block() {
		if b.kind == mapStep && in != b && (in == nil || !in.inside(b)) {
			return b
		}
	}
	return nil
}

// jsonSchema returns the schema of the answers to a question: the explicit schema, or one built
// from the options. Nil allows any answer.
func (x *textReader) jsonSchema() json.RawMessage {
	e := &x.s.more
	if e.schema.value != nil {
		return x.r.json(e.schema)
	}
	if len(e.options) > 0 {
		return encode(map[string]any{"enum": e.options})
	}
	return nil
}
