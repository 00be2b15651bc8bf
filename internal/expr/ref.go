package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
)

// Options tells the parsers what the document declares. The zero Options accepts any step and knows
// no types.
type Options struct {
	// Steps are the steps that may be referenced, the outermost list; nil means that they are
	// unknown, so that no id is an error. Ids are matched literally, longest first, so an id may
	// contain dashes, dots and spaces.
	Steps []Step

	// Types returns the JSON types (`boolean`, `string`, `number`, `integer`, `object`, `array`,
	// `null`) that the value of a reference may have according to the document, or an empty slice
	// if the document does not declare them. It is called only for references to an output. May be
	// nil.
	Types func(Ref) []string

	// Vars are the variables that may be referenced in addition to `$steps`, without the dollar
	// sign.
	Vars []string

	// Compiler compiles anything more than a reference. If nil, such an expression has a problem
	// that is an error.
	Compiler Compiler
}

// Step declares one step. A step with Children is a parallel block, its children in declared order.
type Step struct {
	ID       string
	Children []Step
}

// Field is the part of a step that a reference reads.
type Field int

// The fields of a step.
const (
	FieldOutput     Field = iota // `.output`: the last output, or the object of S4-34 for a parallel step
	FieldOutputs                 // `.outputs`: the children's entries by id
	FieldOrder                   // `.order`: the children's ids in declared order
	FieldAgent                   // `.agent`: the agent's name
	FieldEntry                   // nothing: a child's whole entry, `$steps.par.outputs[0]`
	FieldError                   // `.error`: the failure of the latest execution, if the run continued
	FieldDecision                // `.decision`: the answer to an approval
	FieldNote                    // `.note`: the note of that answer
	FieldStopReason              // `.stop_reason`: why the agent's reply ended: stop, length or refusal
)

var (
	fieldNames = []string{"output", "outputs", "order", "agent"} // indexed by Field
	// moreFields are fields of extensions; a child of a block with the same name takes precedence.
	moreFields = map[string]Field{"error": FieldError, "decision": FieldDecision, "note": FieldNote,
		"stop_reason": FieldStopReason}
)

// Hop is one step on the path to the referenced step. ID is empty only if a child was named by
// Index and the document's steps were unknown. Index is -1 if the step was named by id.
type Hop struct {
	ID    string
	Index int
}

// Ref is one reference to a step or a variable. Var is the name of the variable, or "" for a step;
// then Steps is not empty.
//
// Steps has at least one element, the outermost step first; Path continues from the field, with
// list indexes as decimal strings. Offset and Length are in bytes of the parsed text and cover
// `$steps…` without braces; Text is that range as it was written.
type Ref struct {
	Var    string
	Steps  []Hop
	Field  Field
	Path   []string
	Offset int
	Length int
	Text   string
}

// Step returns the id of the outermost step.
func (r Ref) Step() string {
	if len(r.Steps) == 0 {
		return ""
	}
	return r.Steps[0].ID
}

// lexer parses references in a text. In an expression `name(` is a method call and `[i]` an index
// by value, so both end the reference.
type lexer struct {
	src  string
	pos  int
	expr bool
	opts Options
}

const refForm = "write $steps.<id>.output, $steps.<id>.output.<path> or $steps.<parallel id>.outputs.<child id>.output"

// ref parses the reference that starts with the `$` at l.pos. After an error it still reads to the
// end of the reference, so that what follows is checked separately.
func (l *lexer) ref() (Ref, *Problem) {
	start := l.pos
	l.pos++
	var r Ref
	if name := l.segment(); slices.Contains(l.opts.Vars, name) {
		r.Var = name
		problem := l.path(&r)
		r.Offset, r.Length, r.Text = start, l.pos-start, l.src[start:l.pos]
		return r, problem
	} else if name != "steps" {
		known := strings.Join(append([]string{"only $steps"}, l.opts.Vars...), " and $")
		return Ref{}, l.bad(start, refForm, "unknown reference $%s; %s can be referenced", name, known)
	}
	hop, ok := l.hop(l.opts.Steps)
	if !ok || hop.ID == "" { // the outermost list has no order to index
		return Ref{}, l.bad(start, refForm, "the reference names no step")
	}
	r.Steps = append(r.Steps, hop)
	scope, problem := l.enter(l.opts.Steps, "", hop, l.opts.Steps != nil)

	for done := false; !done; {
		var p *Problem
		scope, done, p = l.selector(&r, scope, start)
		if problem == nil {
			problem = p
		}
	}
	r.Offset, r.Length, r.Text = start, l.pos-start, l.src[start:l.pos]
	return r, problem
}

// scope is what is known about the step at which the lexer is.
type scope struct {
	known bool
	step  Step
}

// selector parses what follows a step's id and reports whether the reference ends there.
func (l *lexer) selector(r *Ref, at scope, start int) (scope, bool, *Problem) {
	nested := len(r.Steps) > 1
	before := l.pos
	if !l.dot() {
		r.Field = FieldEntry
		if !nested {
			return at, true, l.bad(start, "write "+l.src[start:before]+".output",
				"the reference does not say what to read from the step")
		}
		return at, true, nil
	}
	name, isField := l.name(at.step.Children, fieldNames)
	more, isMore := moreFields[name]
	switch {
	case isMore && !isField && !has(at.step.Children, name) && (!l.expr || !l.call()):
		r.Field = more
		return at, true, l.path(r)
	case name == "":
		return at, true, l.bad(start, refForm, "a name is missing after the dot")
	case !isField && l.expr && l.call():
		l.pos = before
		r.Field = FieldEntry
		return at, true, nil
	case !isField && nested && (!at.known || len(at.step.Children) > 0):
		// S4-36: outputs.inner.researcher.output is short for
		// outputs.inner.outputs.researcher.output.
		return l.into(r, at, Hop{ID: name, Index: -1})
	case !isField:
		hint := "write " + l.src[start:before] + ".output." + name
		l.path(r)
		return at, true, l.bad(start, hint, "a step has no %q; it has output, outputs, order and agent", name)
	}
	for i, f := range fieldNames {
		if f == name {
			r.Field = Field(i)
		}
	}
	if at.known && len(at.step.Children) == 0 && (r.Field == FieldOutputs || r.Field == FieldOrder) {
		l.path(r)
		return at, true, l.bad(start, "write "+l.src[start:before]+".output",
			"step %q is not parallel, so it has no %s", at.step.ID, name)
	}
	if r.Field == FieldOutputs {
		after := l.pos
		hop, ok := l.hop(at.step.Children)
		if !ok || (hop.Index < 0 && l.expr && l.call() && !has(at.step.Children, hop.ID)) {
			l.pos = after
			return at, true, nil
		}
		return l.into(r, at, hop)
	}
	return at, true, l.path(r)
}

// into appends a hop to a child.
func (l *lexer) into(r *Ref, at scope, hop Hop) (scope, bool, *Problem) {
	var p *Problem
	next := scope{}
	if at.known && hop.ID == "" {
		if hop.Index >= len(at.step.Children) {
			problem := ErrorAt(l.pos, 0, CodeUnknownStep, "",
				"parallel step %q has %d children, so there is no index %d",
				at.step.ID, len(at.step.Children), hop.Index)
			p = &problem
		} else {
			hop.ID = at.step.Children[hop.Index].ID
		}
	}
	if p == nil {
		next, p = l.enter(at.step.Children, at.step.ID, hop, at.known)
	}
	r.Steps = append(r.Steps, hop)
	return next, false, p
}

// enter looks hop up among steps; parent is empty for the outermost list.
func (l *lexer) enter(steps []Step, parent string, hop Hop, known bool) (scope, *Problem) {
	if !known {
		return scope{}, nil
	}
	ids := make([]string, len(steps))
	for i, s := range steps {
		if s.ID == hop.ID {
			return scope{known: true, step: s}, nil
		}
		ids[i] = s.ID
	}
	msg := fmt.Sprintf("step %q not found", hop.ID)
	if parent != "" {
		msg = fmt.Sprintf("parallel step %q has no child %q", parent, hop.ID)
	}
	hint := diag.DidYouMean(hop.ID, ids)
	if hint == "" && len(ids) > 0 && len(ids) <= 8 {
		hint = "steps here: " + strings.Join(ids, ", ")
	}
	p := ErrorAt(max(l.pos-len(hop.ID), 0), len(hop.ID), CodeUnknownStep, hint, "%s", msg)
	return scope{}, &p
}

// hop parses `.id`, `['id']` or `[0]`.
func (l *lexer) hop(ids []Step) (Hop, bool) {
	if l.dot() {
		name, _ := l.name(ids, nil)
		return Hop{ID: name, Index: -1}, name != ""
	}
	key, isIndex, ok := l.bracket()
	if !ok {
		return Hop{}, false
	}
	if !isIndex {
		return Hop{ID: key, Index: -1}, key != ""
	}
	i, err := strconv.Atoi(key)
	return Hop{Index: i}, err == nil
}

// path parses the segments after a field into r.
func (l *lexer) path(r *Ref) *Problem {
	for {
		before := l.pos
		if l.dot() {
			seg := l.segment()
			if seg == "" {
				p := ErrorAt(before, 1, CodeBadReference, "", "a name is missing after the dot")
				return &p
			}
			if l.expr && l.call() {
				l.pos = before
				return nil
			}
			r.Path = append(r.Path, seg)
			continue
		}
		key, _, ok := l.bracket()
		if !ok {
			return nil
		}
		r.Path = append(r.Path, key)
	}
}

func (l *lexer) dot() bool {
	if l.pos < len(l.src) && l.src[l.pos] == '.' {
		l.pos++
		return true
	}
	return false
}

// call reports whether a parenthesis follows, which makes the name before it a method.
func (l *lexer) call() bool {
	return strings.HasPrefix(strings.TrimLeft(l.src[l.pos:], " \t\r\n"), "(")
}

// name reads the longest known id or field name, else one plain segment. A field name takes
// precedence over an equal id.
func (l *lexer) name(ids []Step, fields []string) (name string, isField bool) {
	rest := l.src[l.pos:]
	for _, f := range fields {
		if strings.HasPrefix(rest, f) && l.ends(rest[len(f):], true) && len(f) > len(name) {
			name, isField = f, true
		}
	}
	for _, s := range ids {
		if strings.HasPrefix(rest, s.ID) && l.ends(rest[len(s.ID):], false) && len(s.ID) > len(name) {
			name, isField = s.ID, false
		}
	}
	if name == "" {
		return l.segment(), false
	}
	l.pos += len(name)
	return name, isField
}

// ends reports whether a name may end where rest starts. In an expression a field may be followed
// by a minus: `$steps.a.output-1`.
func (l *lexer) ends(rest string, field bool) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !isSegmentRune(r) || (field && l.expr && r == '-')
}

// segment reads letters, digits, `_` and inner `-`; it returns "" if there are none.
func (l *lexer) segment() string {
	rest := l.src[l.pos:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !isSegmentRune(r) })
	if n < 0 {
		n = len(rest)
	}
	seg := strings.TrimRight(rest[:n], "-")
	if strings.HasPrefix(seg, "-") {
		return ""
	}
	l.pos += len(seg)
	return seg
}

func isSegmentRune(r rune) bool {
	return r == '_' || r == '-' || (r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)))
}

// bracket parses `[12]` or `['any text']`, white space allowed inside; it does not advance if
// something else follows.
func (l *lexer) bracket() (key string, isIndex, ok bool) {
	rest := l.src[l.pos:]
	if !strings.HasPrefix(rest, "[") {
		return "", false, false
	}
	inner := strings.TrimLeft(rest[1:], " \t\r\n")
	used := len(rest) - len(inner)
	if inner == "" {
		return "", false, false
	}
	n := 0
	if q := inner[0]; q == '\'' || q == '"' {
		var b strings.Builder
		for n = 1; n < len(inner) && inner[n] != q; n++ {
			if inner[n] == '\\' && n+1 < len(inner) {
				n++
			}
			b.WriteByte(inner[n])
		}
		n++ // the closing quote
		key = b.String()
	} else {
		for n < len(inner) && inner[n] >= '0' && inner[n] <= '9' && n < 9 {
			n++
		}
		key, isIndex = inner[:n], true
	}
	if n == 0 || n > len(inner) {
		return "", false, false
	}
	tail := strings.TrimLeft(inner[n:], " \t\r\n")
	if !strings.HasPrefix(tail, "]") {
		return "", false, false
	}
	l.pos += used + len(inner) - len(tail) + 1
	return key, isIndex, true
}

func (l *lexer) bad(start int, hint, format string, args ...any) *Problem {
	p := ErrorAt(start, max(l.pos-start, 1), CodeBadReference, hint, format, args...)
	return &p
}

func has(steps []Step, id string) bool {
	for _, s := range steps {
		if s.ID == id {
			return true
		}
	}
	return false
}
