package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/source"
)

// checked is a parsed condition: its source with every reference naming a node, and the nodes that
// it reads.
type checked struct {
	text  string
	reads []string
}

// readBy returns the steps that the condition s names, before anything is checked.
func (r *reader) readBy(s *step) []*step {
	sc, text := scope{r: r, at: s}, s.only().text
	cond, _ := celexpr.ParseCondition(text, expr.Options{Steps: sc.candidates(text), Vars: sc.variables()})
	var out []*step
	for _, ref := range cond.Refs() {
		if t := sc.find(ref.Step()); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// checkCondition reports errors in the condition of the case c of s (S4-11, S4-17).
func (r *reader) checkCondition(s *step, c *choice) {
	sc := scope{r: r, at: s}
	cond, problems := celexpr.ParseCondition(c.text, sc.options(c.text))
	at := place{value: c.value, path: c.path, title: s.title() + ": "}
	for _, p := range problems {
		r.problem(at, p, r.outputOrigin(sc, cond, p))
	}
	for _, ref := range cond.Refs() {
		r.checkInput(at, ref)
		t := sc.resolve(ref)
		if t == nil || !r.readable(at, ref, t, s.block()) {
			continue
		}
		r.checkPath(at, ref, t)
		if !earlier(t, s) {
			d := r.diags.Warnf(at.span(ref.Offset, ref.Length), at.path, codeReadsLater,
				"%s%s has not run when this condition is first asked, which fails then", at.title, t.title())
			d.Hint = "put that step before the condition, or into the same list"
		}
	}
	if v, ok := cond.Constant(); ok {
		d := r.diags.Warnf(at.span(0, len(c.text)), at.path, codeConstant, "%sthe condition is always %t", at.title, v)
		d.Hint = "read a step's output, for example {{ $steps.<id>.output.approved }}"
	}
	c.cond.text, c.cond.reads = canonical(c.text, cond.Refs(), sc, s.block())
}

// checkInstructions checks the templates of all instructions (S4-15) and sets the nodes that their
// steps read.
func (r *reader) checkInstructions() {
	users := map[string][]*step{}
	r.root.walk(func(s *step) {
		if s.kind == agentStep && !s.broken {
			users[s.name] = append(users[s.name], s)
		}
	})
	sc := scope{r: r}
	for i := range r.w.Agents {
		a := &r.w.Agents[i]
		info := r.agents[a.ID]
		common := commonBlock(users[a.ID])
		t, problems := expr.ParseTemplate(a.System, expr.Options{Steps: sc.candidates(a.System), Vars: common.items()})
		at := place{value: info.system, path: info.system.Path(), title: "agent " + strconv.Quote(a.ID) + ": ",
			fallback: info.span}
		for _, p := range problems {
			r.problem(at, p, "")
		}
		r.tokens(at, a.System, false)
		for _, ref := range t.Refs() {
			r.checkInput(at, ref)
			if s := sc.resolve(ref); s != nil && r.readable(at, ref, s, common) {
				r.checkPath(at, ref, s)
			}
		}
		a.System, r.agentReads[a.ID] = canonical(a.System, t.Refs(), sc, common)
	}
}

// commonBlock returns the innermost parallel block that has all steps in one of its branches, or
// nil if there is none.
func commonBlock(steps []*step) *step {
	var common *step
	for i, s := range steps {
		if i == 0 {
			common = s.block()
			continue
		}
		for common != nil && !s.inside(common) {
			common = common.block()
		}
	}
	return common
}

// inside reports whether s is in a branch of the parallel block b.
func (s *step) inside(b *step) bool {
	for at := s.block(); at != nil; at = at.block() {
		if at == b {
			return true
		}
	}
	return false
}

// place is the location of a string in the document.
type place struct {
	value    *source.Node // nil if the string is not from this document
	path     string
	title    string
	fallback diag.Span
}

func (p place) span(offset, length int) diag.Span {
	if p.value == nil {
		return p.fallback
	}
	return p.value.SpanAt(offset, length)
}

// problem reports a problem with a string; why is appended to the message.
func (r *reader) problem(at place, p expr.Problem, why string) {
	r.diags.Add(diag.Diagnostic{
		Code: p.Code, Severity: p.Severity, Span: at.span(p.Offset, p.Length), Path: at.path,
		Message: at.title + p.Message + why, Hint: p.Hint,
	})
}

// outputOrigin returns a message suffix naming the agent and the step whose declared output makes a
// lone reference non-boolean (S4-17), or "".
func (r *reader) outputOrigin(sc scope, cond *expr.Condition, p expr.Problem) string {
	refs := cond.Refs()
	if p.Code != expr.CodeNotBoolean || len(refs) != 1 {
		return ""
	}
	t := sc.resolve(refs[0])
	if t == nil || t.kind != agentStep || refs[0].Field != expr.FieldOutput || r.answerSchema(t.name) == nil {
		return ""
	}
	return fmt.Sprintf(" (structured_output of agent %q, step %q, path %q)", t.name, t.id,
		strings.Join(refs[0].Path, "."))
}

func (r *reader) noOutput(at place, ref expr.Ref, t *step) bool {
	word := map[kind]string{conditionStep: "a condition", switchStep: "a switch", endStep: "an end step",
		sleepStep: "a sleep step"}[t.kind]
	if word == "" {
		return false
	}
	d := r.diags.Errorf(at.span(ref.Offset, ref.Length), at.path, expr.CodeBadReference,
		"%s%q is %s, which has no output", at.title, t.id, word)
	d.Related = []diag.Related{
		{Span: t.span(), Message: strings.Replace(strings.Replace(word, "an ", "the ", 1), "a ", "the ", 1)},
	}
	return true
}

// types returns the types that the document declares for a reference (S4-17), for use by expr.
func (r *reader) types(sc scope, ref expr.Ref) []string {
	t := sc.resolve(ref)
	switch {
	case ref.Var == expr.VarInput && len(ref.Path) == 1:
		return inputs.Types(r.w, ref.Path[0])
	case t == nil:
		return nil
	case t.kind == parallelStep && len(ref.Path) == 0:
		return []string{"object"}
	case t.kind == mapStep && len(ref.Path) == 0 && !t.continuesOnError():
		return []string{"array"}
	case t.kind != agentStep:
		return nil
	}
	a := r.agentOf(t.name)
	switch {
	case a == nil:
		return nil
	case a.Output == nil && len(ref.Path) == 0:
		return []string{"string"}
	}
	if s := r.answerSchema(t.name); s != nil {
		allowed, _ := s.PathType(ref.Path)
		return allowed
	}
	return nil
}

// checkPath checks the path of a reference to an agent's output against the schema that the agent
// declares (S4-17).
func (r *reader) checkPath(at place, ref expr.Ref, t *step) {
	if t.kind != agentStep || ref.Field != expr.FieldOutput || len(ref.Path) == 0 || r.agents[t.name] == nil {
		return
	}
	span, path := at.span(ref.Offset, ref.Length), strings.Join(ref.Path, ".")
	a := r.agentOf(t.name)
	if a.Output == nil {
		d := r.diags.Warnf(span, at.path, codeNoSchema,
			"%s%q is read of step %q, but its agent %q declares no structured_output", at.title, path, t.id, t.name)
		d.Hint = "declare it, so that the reply is checked; the path is now looked up in a reply that is JSON"
		return
	}
	s := r.answerSchema(t.name)
	if s == nil {
		return
	}
	if _, known := s.PathType(ref.Path); known {
		return
	}
	d := r.diags.Errorf(span, at.path, codeUnknownPath, "%sthe structured_output of agent %q (step %q) has no %q",
		at.title, t.name, t.id, path)
	if r.diags.errors > maxProblems {
		return // d is not shown, and its hint would be costly
	}
	missing, have := properties(a.Output.Schema, ref.Path)
	d.Hint = diag.DidYouMean(missing, have)
	if d.Hint == "" && len(have) > 0 && len(have) <= 8 {
		d.Hint = "it has " + strings.Join(have, ", ")
	}
}

// canonical returns text with the first steps of its references in the form that the engine looks
// up, and the sorted ids of the nodes that it reads.
//
// A step is named by its node's id. A step in a parallel block that does not enclose the text is
// reached through the block, whose branches are not visible from outside before it has ended.
func canonical(text string, refs []expr.Ref, sc scope, block *step) (string, []string) {
	var b strings.Builder
	var reads []string
	last := 0
	for _, ref := range refs {
		s := sc.find(ref.Step())
		if s == nil {
			continue
		}
		if t := sc.resolve(ref); t != nil {
			reads = append(reads, t.node)
		}
		name := s.seenFrom(block)
		const root = "$steps"
		head := strings.Index(ref.Text[len(root):], ref.Step()) + len(root)
		if name == ref.Step() || head < len(root) {
			continue
		}
		tail := head + len(ref.Step())
		if ref.Text[len(root)] == '[' { // $steps['id']
			tail += strings.IndexByte(ref.Text[tail:], ']') + 1
		}
		b.WriteString(text[last:ref.Offset] + root + "." + name)
		last = ref.Offset + tail
	}
	b.WriteString(text[last:])
	slices.Sort(reads)
	return b.String(), slices.Compact(reads)
}

// seenFrom returns what follows `$steps.` in a reference to s from inside block; a nil block means
// outside all blocks.
func (s *step) seenFrom(block *step) string {
	outer := s.block()
	for at := block; at != nil && outer != nil; at = at.block() {
		if at == outer {
			return s.node
		}
	}
	if outer == nil {
		return s.node
	}
	return outer.seenFrom(block) + ".outputs." + s.id
}
