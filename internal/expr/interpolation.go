package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Interpolation is a text with expressions between `{{` and `}}`, parsed once and evaluated any
// number of times. It is safe for concurrent use.
type Interpolation struct {
	src   string
	parts []insertion
}

// insertion is literal text, followed by an expression unless it is the last part.
type insertion struct {
	text string
	ref  *Ref    // a lone reference or a token
	prog Program // any other expression
	refs []Ref   // of prog
	src  string  // source of the expression, for errors
	at   int     // offset of the expression
}

// tokens are the names that stand for variables between braces, as in agents' prompts.
var tokens = map[string]string{"PREVIOUS_OUTPUT": VarPrevious, "APPROVAL_NOTE": VarNote}

// ParseInterpolation parses src. The content between `{{` and `}}` is a reference, one of the
// tokens PREVIOUS_OUTPUT and APPROVAL_NOTE, or an expression as in conditions, with a result of any
// type. Braces in its string literals do not end it, so `{{ "{{" }}` is the way to write two
// braces.
//
// The result is never nil. If a problem is an error, Eval always fails. Problems are in the order
// of the text.
func ParseInterpolation(src string, opts Options) (*Interpolation, []Problem) {
	t := &Interpolation{src: src}
	var problems []Problem
	literal := 0
	for {
		open := strings.Index(src[literal:], "{{")
		if open < 0 {
			break
		}
		open += literal
		end := expressionEnd(src, open+2)
		if end < 0 {
			problems = append(problems, ErrorAt(open, 2, CodeUnclosed, "write }} after the expression",
				"{{ is never closed"))
			break
		}
		part, found := parseInserted(src[open+2:end], opts)
		for _, p := range found {
			p.Offset += open + 2
			problems = append(problems, p)
		}
		part.text, part.at = src[literal:open], open+2
		t.parts = append(t.parts, part)
		literal = end + 2
	}
	t.parts = append(t.parts, insertion{text: src[literal:]})
	return t, finish(problems)
}

// expressionEnd returns the offset of the braces that close an expression that starts at i, or -1
// if there are none.
func expressionEnd(src string, i int) int {
	for i < len(src) {
		switch {
		case src[i] == '"' || src[i] == '\'':
			i = literalEnd(src, i)
		case strings.HasPrefix(src[i:], "}}"):
			return i
		default:
			i++
		}
	}
	return -1
}

func parseInserted(src string, opts Options) (insertion, []Problem) {
	out := insertion{src: strings.TrimSpace(src)}
	if name, ok := tokens[out.src]; ok {
		out.ref = &Ref{Var: name, Offset: strings.Index(src, out.src), Length: len(out.src), Text: out.src}
		return out, nil
	}
	switch {
	case out.src == "":
		return out, []Problem{ErrorAt(0, len(src), CodeEmpty, "", "there is no expression between {{ and }}")}
	case len(src) > MaxConditionBytes:
		return out,
			[]Problem{ErrorAt(MaxConditionBytes, 0, CodeTooLong, "",
				"the expression has %d bytes; at most %d are allowed", len(src), MaxConditionBytes)}
	}
	s := scan(src, opts)
	if hasErrors(s.problems) {
		return out, s.problems
	}
	if s.isLone() {
		out.ref = &s.refs[0]
		return out, s.problems
	}
	prog, problems := s.compile(opts, false)
	problems = append(s.problems, problems...)
	if !hasErrors(problems) {
		out.prog, out.refs = prog, s.refs
	}
	return out, problems
}

// Refs returns the references in the order of the text, including repetitions but not tokens.
// Offsets count from the start of the text.
func (t *Interpolation) Refs() []Ref {
	var refs []Ref
	for _, p := range t.parts {
		switch {
		case p.ref != nil && tokens[p.ref.Text] == "":
			refs = append(refs, shifted(*p.ref, p.at))
		case p.prog != nil:
			for _, r := range p.refs {
				refs = append(refs, shifted(r, p.at))
			}
		}
	}
	return refs
}

func shifted(r Ref, by int) Ref {
	r.Offset += by
	return r
}

// Source returns the text that was parsed.
func (t *Interpolation) Source() string { return t.src }

// Literal returns the text if it contains nothing to insert.
func (t *Interpolation) Literal() (string, bool) { return t.parts[0].text, len(t.parts) == 1 }

// Eval returns the value. If the text is one expression and nothing else, that is the expression's
// value with its type; otherwise it is a string that contains the values as formatted by [Text].
// Inserted values are not parsed again (S4-16). A reference without a value and an expression that
// fails are an error.
func (t *Interpolation) Eval(env Env) (json.RawMessage, error) {
	return t.EvalWithin(env, math.MaxInt64)
}

// EvalWithin is Eval for a value of at most most bytes; a larger one is ErrTooLarge.
func (t *Interpolation) EvalWithin(env Env, most int64) (json.RawMessage, error) {
	if len(t.parts) == 2 && t.parts[0].text == "" && t.parts[1].text == "" {
		v, err := t.parts[0].eval(env)
		if int64(len(v)) > most {
			return nil, ErrTooLarge
		}
		return v, err
	}
	var b strings.Builder
	for i, p := range t.parts {
		b.WriteString(p.text)
		if i == len(t.parts)-1 {
			break
		}
		v, err := p.eval(env)
		if err != nil {
			return nil, err
		}
		b.WriteString(Text(v))
		if int64(b.Len()) > most {
			return nil, ErrTooLarge
		}
	}
	return quote(b.String()), nil
}

// Insert passes on the text piece by piece, in order: literal is called with literal text and with
// values as formatted by [Text]. For each lone reference and token, whole is called first; if it
// returns true, it has handled the value. Errors: as Eval.
func (t *Interpolation) Insert(env Env, literal func(string), whole func(Ref) bool) error {
	for i, p := range t.parts {
		literal(p.text)
		if i == len(t.parts)-1 || p.ref != nil && whole(*p.ref) {
			continue
		}
		v, err := p.eval(env)
		if err != nil {
			return err
		}
		literal(Text(v))
	}
	return nil
}

// Size returns at least the length of the references' values that Eval inserts, up to most; the
// results of expressions are limited by their cost.
func (t *Interpolation) Size(env Env, most int64) int64 {
	n := int64(0)
	for _, p := range t.parts {
		n += int64(len(p.text))
		if p.ref == nil || n > most {
			continue
		}
		if v, ok := p.ref.Resolve(env); ok {
			n += int64(len(v))
		}
	}
	return n
}

func (p *insertion) eval(env Env) (json.RawMessage, error) {
	reason := "the expression is not valid"
	switch {
	case p.ref != nil:
		if v, ok := p.ref.Resolve(env); ok {
			return v, nil
		}
		reason = Missing(*p.ref)
	case p.prog != nil:
		v, why := p.prog.Value(env)
		if reason = why; why == "" {
			return v, nil
		}
	}
	return nil, fmt.Errorf("{{ %s }}: %s", p.src, reason)
}

// ParseInputText parses a text with expressions that may only use `$input`. Its results are those
// of [ParseInterpolation].
func ParseInputText(src string, c Compiler) (*Interpolation, []Problem) {
	return ParseInterpolation(src, Options{Steps: []Step{}, Vars: []string{VarInput}, Compiler: c})
}

// InputEnv returns the Env for expressions over `$input`.
func InputEnv(input json.RawMessage) Env { return EnvMap{"$" + VarInput: Entry{Output: input}} }
