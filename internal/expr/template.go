package expr

import (
	"fmt"
	"strings"
)

// Template is a text with references in it, parsed once and expanded any number of times. It is
// safe for concurrent use.
type Template struct {
	src   string
	parts []part
}

// part is literal text, followed by a reference unless it is the last part.
type part struct {
	text string
	ref  *Ref
}

// ParseTemplate parses src. `{{ $steps… }}` is a reference, with optional white space inside the
// braces; a `{{ … }}` without `$steps` or `$input` that does not start with `$` is literal text
// (D9), and so are single braces. There is no escape: text that contains a literal `{{ $…` cannot
// be written.
//
// The template is never nil: anything with a problem remains in it as literal text. Problems are in
// the order of the text: an unclosed `{{ $`, or a reference that is malformed, names an unknown
// step (S4-15), or shares its braces with something else.
func ParseTemplate(src string, opts Options) (*Template, []Problem) {
	t := &Template{src: src}
	var problems []Problem
	literal := 0 // start of the text that is not yet in parts
	for i := 0; i < len(src); {
		open := strings.Index(src[i:], "{{")
		if open < 0 {
			break
		}
		open += i
		dollar := skipSpace(src, open+2)
		if dollar == len(src) || src[dollar] != '$' {
			if n := embedded(src[dollar:]); n > 0 {
				problems = append(problems, ErrorAt(dollar, n, CodeBadReference, loneHint,
					"%q is not allowed in a template", src[dollar:dollar+n]))
			}
			i = open + 1 // not open+2: `{{{ $x` opens at the second brace
			continue
		}
		l := &lexer{src: src, pos: dollar, opts: opts}
		ref, problem := l.ref()
		end := skipSpace(src, l.pos)
		if problem == nil && strings.HasPrefix(src[end:], "}}") {
			t.parts = append(t.parts, part{text: src[literal:open], ref: &ref})
			i = end + 2
			literal = i
			continue
		}
		rest := src[end:]
		if next := strings.Index(rest, "{{"); next >= 0 {
			rest = rest[:next]
		}
		closing := strings.Index(rest, "}}")
		switch {
		case closing < 0:
			problems = append(problems, ErrorAt(open, l.pos-open, CodeUnclosed, "write }} after the reference",
				"{{ is never closed"))
			i = max(l.pos, open+2)
		case problem != nil:
			i = end + closing + 2
		default:
			problems = append(problems,
				ErrorAt(end, closing, CodeBadReference, loneHint,
					"%q is not allowed in a template", strings.TrimSpace(src[end:end+closing])))
			i = end + closing + 2
		}
		if problem != nil {
			problems = append(problems, *problem)
		}
	}
	t.parts = append(t.parts, part{text: src[literal:]})
	return t, finish(problems)
}

const loneHint = "keep only the reference between {{ and }}"

// embedded returns the length of the text before the next `}}` if a reference is part of it and no
// brace, or 0. src follows `{{` and blanks.
func embedded(src string) int {
	end := strings.IndexAny(src, "{}")
	if end < 0 || !strings.HasPrefix(src[end:], "}}") {
		return 0
	}
	text := src[:end]
	if !strings.Contains(text, "$steps.") && !strings.Contains(text, "$"+VarInput) {
		return 0
	}
	return len(strings.TrimRight(text, " \t\r\n"))
}

// ParseTokens parses src, in which only the tokens of [Template.WithTokens] stand for values.
func ParseTokens(src string) *Template {
	return (&Template{src: src, parts: []part{{text: src}}}).WithTokens()
}

// WithTokens returns a template in which `{{PREVIOUS_OUTPUT}}` and `{{APPROVAL_NOTE}}` in the
// literal text of t, exactly as spelled here, stand for variables (S0-11).
func (t *Template) WithTokens() *Template {
	out := &Template{src: t.src}
	for _, p := range t.parts {
		for at := 0; ; {
			open := strings.Index(p.text[at:], "{{")
			if open < 0 {
				break
			}
			at += open
			name := tokenAt(p.text[at+2:])
			if name == "" {
				at++
				continue
			}
			out.parts = append(out.parts, part{text: p.text[:at], ref: &Ref{Var: tokens[name], Text: name}})
			p.text, at = p.text[at+len("{{"+name+"}}"):], 0
		}
		out.parts = append(out.parts, p)
	}
	return out
}

// tokenAt returns the name of the token whose text after the first two braces src begins with, or
// "".
func tokenAt(src string) string {
	for name := range tokens {
		if strings.HasPrefix(src, name+"}}") {
			return name
		}
	}
	return ""
}

// Source returns the text that was parsed.
func (t *Template) Source() string { return t.src }

// Refs returns the references in the order of the text. The caller owns the slice.
func (t *Template) Refs() []Ref {
	var refs []Ref
	for _, p := range t.parts {
		if p.ref != nil {
			refs = append(refs, *p.ref)
		}
	}
	return refs
}

// Expand inserts the values, each as formatted by [Text] and literally: whatever an inserted value
// looks like, it is not expanded again (S4-16, SEC3). The error names the first reference without a
// value: its step has not run or has no output, or there is no such path (S4-15).
func (t *Template) Expand(env Env) (string, error) {
	if len(t.parts) == 1 {
		return t.parts[0].text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.ref == nil {
			continue
		}
		v, ok := p.ref.Resolve(env)
		if !ok {
			return "", fmt.Errorf("{{ %s }}: %s", p.ref.Text, Missing(*p.ref))
		}
		b.WriteString(Text(v))
	}
	return b.String(), nil
}

// Size returns the length of the result of Expand, or some number above most if the length exceeds
// most.
func (t *Template) Size(env Env, most int64) int64 {
	var n int64
	for _, p := range t.parts {
		if n += int64(len(p.text)); n > most {
			break
		}
		if p.ref == nil {
			continue
		}
		if v, ok := p.ref.Resolve(env); ok {
			n += int64(len(Text(v)))
		}
	}
	return n
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}
