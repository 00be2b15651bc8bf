package nodes

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// maxFullSearches is the maximum number of texts with an unknown name that are compared with all
// nodes, to suggest what was meant.
const maxFullSearches = 50

// checker checks the texts of one graph.
type checker struct {
	w       *workflow.Workflow
	d       *Document
	diags   *diag.List
	unclear bool // not all nodes are known
	byID    map[string]*workflow.Node
	lengths []int // of ids, without duplicates
	every   []expr.Step
	schemas map[string]*schema.Schema // of agents' outputs
	hints   int
}

// Check reports problems with the expressions of the graph w, and sets what its nodes read. unclear
// means that the document has nodes that were not understood: an unknown id is then not an error.
func (d *Document) Check(w *workflow.Workflow, all []*Texts, unclear bool, diags *diag.List) {
	c := &checker{w: w, d: d, diags: diags, unclear: unclear, byID: map[string]*workflow.Node{},
		schemas: map[string]*schema.Schema{}}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Hidden {
			continue
		}
		c.byID[n.ID] = n
		if !slices.Contains(c.lengths, len(n.ID)) {
			c.lengths = append(c.lengths, len(n.ID))
		}
	}
	slices.Sort(c.lengths)
	for _, t := range append([]*Texts{d.texts}, all...) {
		var reads []string
		for _, p := range t.parts {
			reads = append(reads, c.checkStretch(t, p, p.at)...)
		}
		if n := c.byID[t.node]; n != nil && len(reads) > 0 {
			reads = append(reads, n.Reads...) // of its other texts
			slices.Sort(reads)
			n.Reads = slices.Compact(reads)
		}
	}
}

// checkStretch checks the texts of a value, and returns the nodes that they read.
func (c *checker) checkStretch(t *Texts, p stretch, at *source.Node) (reads []string) {
	for _, item := range at.Items {
		reads = append(reads, c.checkStretch(t, p, item)...)
	}
	for _, e := range at.Entries {
		reads = append(reads, c.checkStretch(t, p, e.Value)...)
	}
	if p.read != asCondition && at.Kind != source.String {
		return reads
	}
	title, opts := prefix(t.node), c.options(at.Text)
	var refs []expr.Ref
	var problems []expr.Problem
	switch p.read {
	case asPlain:
		c.warnPlain(title, at)
		return reads
	case asCondition:
		cond, found := celexpr.ParseCondition(at.Text, opts)
		refs, problems = cond.Refs(), found
		if v, ok := cond.Constant(); ok && len(found) == 0 {
			c.diags.Warnf(at.Span, at.Path(), codeConstant, "%sthe condition is always %t", title,
				v).Hint = "read a step's output, for example {{ $steps.ID.output.approved }}"
		}
	case asTemplate:
		tmpl, found := expr.ParseTemplate(at.Text, opts)
		refs, problems = tmpl.Refs(), found
	default:
		text, found := celexpr.ParseInterpolation(at.Text, opts)
		refs, problems = text.Refs(), found
	}
	for _, q := range problems {
		c.diags.Add(diag.Diagnostic{Code: q.Code, Severity: q.Severity, Span: at.SpanAt(q.Offset, q.Length),
			Path: at.Path(), Message: title + q.Message, Hint: q.Hint})
	}
	for _, ref := range refs {
		if id := c.reference(title, at, ref); id != "" {
			reads = append(reads, id)
		}
	}
	return reads
}

// warnPlain warns of a prompt that looks as if it had expressions in a document whose prompts have
// none.
func (c *checker) warnPlain(title string, at *source.Node) {
	if v := PlainReference(at.Text); v != "" {
		c.diags.Warnf(at.Span, at.Path(), codePlain, "%s{{ %s … }} is sent as it is", title,
			v).Hint = `add "inputs" to the document, {} where it has none: prompts then hold expressions`
	}
}

// reference reports a reference to something that does not exist, and returns the id of the node
// that it reads, or "" if there is none.
func (c *checker) reference(title string, at *source.Node, ref expr.Ref) string {
	bad := func(hint, format string, args ...any) {
		d := c.diags.Errorf(at.SpanAt(ref.Offset, ref.Length), at.Path(), expr.CodeBadReference, format, args...)
		d.Message, d.Hint = title+d.Message, hint
	}
	if ref.Var == expr.VarInput && len(ref.Path) > 0 && len(c.d.names) > 0 && !slices.Contains(c.d.names, ref.Path[0]) {
		bad(diag.DidYouMeanOr(ref.Path[0], "the inputs are", c.d.names), "the document has no input %q", ref.Path[0])
	}
	n := c.byID[ref.Step()]
	if ref.Var != "" || n == nil {
		return ""
	}
	switch {
	case ref.Field == expr.FieldError && n.Catch == nil:
		bad("write on_error at that node, or draw a connection from its handle error",
			"%q: the run ends where it fails, so there is no error to read", n.ID)
	case (ref.Field == expr.FieldDecision || ref.Field == expr.FieldNote) &&
		(n.Wait == nil || n.Wait.Kind != workflow.WaitApproval):
		bad("", "%q: only an approval has a decision and a note", n.ID)
	case ref.Field == expr.FieldStopReason && n.Kind != workflow.KindAgent:
		bad("", "%q: only an agent has a stop_reason", n.ID)
	case !n.Kind.HasOutput():
		bad("", "%q is of type %s, which has no output", n.ID, n.Kind.In(c.w.Format))
	default:
		c.path(title, at, ref, n)
	}
	return n.ID
}

// path reports a path that the declared output of an agent does not have (S4-17).
func (c *checker) path(title string, at *source.Node, ref expr.Ref, n *workflow.Node) {
	s := c.declared(n)
	if s == nil || ref.Field != expr.FieldOutput || len(ref.Path) == 0 {
		return
	}
	if _, known := s.PathType(ref.Path); !known {
		c.diags.Errorf(at.SpanAt(ref.Offset, ref.Length), at.Path(), "unknown-path",
			"%sthe structured output of %q has no %q", title, n.ID, strings.Join(ref.Path, "."))
	}
}

// declared returns the schema of the output of an agent's node, or nil if there is none.
func (c *checker) declared(n *workflow.Node) *schema.Schema {
	if n.Agent == nil {
		return nil
	}
	id := n.Agent.Agent
	if s, ok := c.schemas[id]; ok {
		return s
	}
	var s *schema.Schema
	if a := c.w.Agent(id); a != nil && a.Output != nil {
		s, _ = schema.Compile(a.Output.Schema) // the reader of agents has reported its problems
	}
	c.schemas[id] = s
	return s
}

// types returns, for package expr, the types that the document declares for a reference (S4-17).
func (c *checker) types(ref expr.Ref) []string {
	if ref.Var == expr.VarInput && len(ref.Path) == 1 {
		return inputs.Types(c.w, ref.Path[0])
	}
	n := c.byID[ref.Step()]
	if ref.Var != "" || n == nil || n.Agent == nil {
		return nil
	}
	if s := c.declared(n); s != nil {
		allowed, _ := s.PathType(ref.Path)
		return allowed
	}
	if a := c.w.Agent(n.Agent.Agent); a != nil && a.Output == nil && len(ref.Path) == 0 {
		return []string{"string"}
	}
	return nil
}

func (c *checker) options(text string) expr.Options {
	return expr.Options{Steps: c.candidates(text), Vars: []string{expr.VarInput}, Types: c.types}
}

// candidates returns the nodes that the references of a text may mean: those whose id follows a
// `$steps`. If one of the references matches no node, it returns all nodes, to suggest what was
// meant. It returns nil if not all nodes are known.
func (c *checker) candidates(text string) []expr.Step {
	if c.unclear {
		return nil
	}
	const root = "$steps"
	found := []expr.Step{}
	unknown := false
	for rest := text; ; {
		i := strings.Index(rest, root)
		if i < 0 {
			break
		}
		rest = strings.TrimLeft(rest[i+len(root):], ".[ \t\r\n'\"")
		known := false
		for _, n := range c.lengths {
			if n <= len(rest) && c.byID[rest[:n]] != nil {
				found, known = append(found, expr.Step{ID: rest[:n]}), true
			}
		}
		unknown = unknown || !known
	}
	if unknown && c.hints < maxFullSearches {
		c.hints++
		return c.all()
	}
	return found
}

func (c *checker) all() []expr.Step {
	if c.every == nil {
		c.every = []expr.Step{}
		for i := range c.w.Nodes {
			if n := &c.w.Nodes[i]; !n.Hidden {
				c.every = append(c.every, expr.Step{ID: n.ID})
			}
		}
	}
	return c.every
}
