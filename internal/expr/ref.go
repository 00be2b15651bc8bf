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

// Options tells the parsers what the document declares. The zero Options accepts any step and knows no types.
type Options struct {
	// Steps are the steps that may be referenced, the outermost list; nil means that they are not known, so that no id is an error.
	// Ids are matched as they stand, the longest first, so an id may hold dashes, dots and spaces.
	Steps []Step

	// Types gives the JSON types (`boolean`, `string`, `number`, `integer`, `object`, `array`, `null`) that the value of a reference may have
	// as far as the document declares them, empty where it does not. It is asked only for references to an output. May be nil.
	Types func(Ref) []string

	// Vars are the variables that may be referenced beside `$steps`, without the dollar sign.
	Vars []string

	// Compiler compiles what is more than a reference. Nil: such an expression has a problem that is an error.
	Compiler Compiler
}

// Step declares one step. A step with Children is a parallel block, its children in declared order.
type Step struct {
	ID       string
	Children []Step
}

// Field says what of a step a reference reads.
type Field int

const (
	FieldOutput   Field = iota // `.output`: the last output, or the object of S4-34 for a parallel step
	FieldOutputs               // `.outputs`: the children's entries by id
	FieldOrder                 // `.order`: the children's ids in declared order
	FieldAgent                 // `.agent`: the agent's name
	FieldEntry                 // nothing: a child's whole entry, `$steps.par.outputs[0]`
	FieldError                 // `.error`: the failure of the latest execution, where the run went on
	FieldDecision              // `.decision`: what was answered to an approval
	FieldNote                  // `.note`: the note of that answer
)

var (
	fieldNames = []string{"output", "outputs", "order", "agent"} // index is the Field
	// moreFields are fields of extensions; a child of a block that has the name of one is meant instead.
	moreFields = map[string]Field{"error": FieldError, "decision": FieldDecision, "note": FieldNote}
)

// Hop is one step on the way to the referenced one. ID is empty only where a child was named by Index and the document's steps were not known.
// Index is -1 where the step was named by id.
type Hop struct {
	ID    string
	Index int
}

// Ref is one reference to a step or a variable. Var is the name of the variable, "" for a step; then Steps is not empty.
//
// Steps has at least one element, the outermost step first; Path goes on from the field, list indexes as decimal text. Offset and Length are bytes
// into the parsed text and cover `$steps…` without braces; Text is that stretch as it was written.
type Ref struct {
	Var    string
	Steps  []Hop
	Field  Field
	Path   []string
	Offset int
	Length int
	Text   string
}

// Step gives the id of the outermost step.
func (r Ref) Step() string {
	if len(r.Steps) == 0 {
		return ""
	}
	return r.Steps[0].ID
}

// lexer reads references out of a text. In an expression `name(` is a method call and `[i]` an index by value, so both end the reference.
type lexer struct {
	src  string
	pos  int
	expr bool
	opts Options
}

const refForm = "write $steps.<id>.output, $steps.<id>.output.<path> or $steps.<parallel id>.outputs.<child id>.output"

// ref reads the reference that begins at l.pos, where a `$` stands. Where something is wrong it still reads on to the reference's end, so that
// what follows is judged on its own.
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
	if !ok || hop.ID == "" { // the outermost list has no order to index by
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

// scope is what is known of the step at which the lexer is.
type scope struct {
	known bool
	step  Step
}

// selector reads what follows a step's id and tells whether the reference ends there.
func (l *lexer) selector(r *Ref, at scope, start int) (scope, bool, *Problem) {
	nested := len(r.Steps) > 1
	before := l.pos
	if !l.dot() {
		r.Field = FieldEntry
		if !nested {
			return at, true, l.bad(start, "write "+l.src[start:before]+".output", "the reference does not say what to read from the step")
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
		// S4-36: outputs.inner.researcher.output for outputs.inner.outputs.researcher.output.
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
		return at, true, l.bad(start, "write "+l.src[start:before]+".output", "step %q is not parallel, so it has no %s", at.step.ID, name)
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

// into adds a hop to a child.
func (l *lexer) into(r *Ref, at scope, hop Hop) (scope, bool, *Problem) {
	var p *Problem
	next := scope{}
	if at.known && hop.ID == "" {
		if hop.Index >= len(at.step.Children) {
			problem := ErrorAt(l.pos, 0, CodeUnknownStep, "", "parallel step %q has %d children, so there is no index %d",
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

// hop reads `.id`, `['id']` or `[0]`.
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

// path reads the segments behind a field into r.
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

// call tells whether a parenthesis follows, which makes the name before it a method.
func (l *lexer) call() bool {
	return strings.HasPrefix(strings.TrimLeft(l.src[l.pos:], " \t\r\n"), "(")
}

// name reads the longest known id or field name, else one plain segment. A field name wins over an equal id.
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

// ends tells whether a name may end where rest begins. In an expression a field may be followed by a minus: `$steps.a.output-1`.
func (l *lexer) ends(rest string, field bool) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !isSegmentRune(r) || (field && l.expr && r == '-')
}

// segment reads letters, digits, `_` and inner `-`; "" where none stand here.
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

// bracket reads `[12]` or `['any text']`, white space allowed inside; it stays where it is when something else is there.
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
