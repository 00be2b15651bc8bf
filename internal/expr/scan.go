package expr

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Source is an expression split up for a [Compiler]. It must not be modified.
type Source struct {
	// Written is the expression as it was written, Text what is compiled: references are replaced
	// with variables, and double braces with parentheses.
	Written, Text string
	// Vars are the distinct references; Vars[i] is the variable Name(i).
	Vars []Ref

	at       []int // the offset in Written of each byte of Text, and of its end
	refs     []Ref
	index    map[string]int // Ref.Text to its index in Vars
	names    map[string]int // Name(i) to i
	prefix   string
	problems []Problem
}

// Name returns the variable of Vars[i]. It is VariableName unless the expression contains such
// text.
func (s *Source) Name(i int) string { return fmt.Sprintf("%s%d_", s.prefix, i) }

const variablePrefix = "ref_"

// VariableName returns the usual name of variable i of an expression.
func VariableName(i int) string { return fmt.Sprintf("%s%d_", variablePrefix, i) }

// Index returns the index in Vars of the variable with that name, or false if there is none.
func (s *Source) Index(name string) (int, bool) {
	i, ok := s.names[name]
	return i, ok
}

// At returns the offset in Written of the byte of Text at i, which may be its end.
func (s *Source) At(i int) int { return s.at[i] }

// Unname replaces variables with their references.
func (s *Source) Unname(text string) string {
	for i, r := range s.Vars {
		text = strings.ReplaceAll(text, s.Name(i), r.Text)
	}
	return text
}

// compile compiles the source to a program.
func (s *Source) compile(opts Options, test bool) (Program, []Problem) {
	if opts.Compiler == nil {
		return nil, []Problem{ErrorAt(0, len(s.Written), CodeBadCondition, "", "%s", NoCompiler)}
	}
	return opts.Compiler.Compile(s, opts, test)
}

// isLone reports whether the source is one reference, bare or in braces, and nothing else.
func (s *Source) isLone() bool {
	if len(s.refs) != 1 {
		return false
	}
	text := strings.TrimSpace(s.Written)
	if strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}") {
		text = strings.TrimSpace(text[2 : len(text)-2])
	}
	return text == s.refs[0].Text
}

// scan separates references, braces and string literals. It does not know CEL's grammar beyond
// that.
func scan(src string, opts Options) *Source {
	s := &Source{Written: src, index: map[string]int{}, names: map[string]int{}, prefix: variablePrefix}
	for strings.Contains(src, s.prefix) {
		s.prefix += "x_"
	}
	var b strings.Builder
	emit := func(text string, from int, inSource bool) {
		for i := range len(text) {
			if inSource {
				s.at = append(s.at, from+i)
			} else {
				s.at = append(s.at, from)
			}
		}
		b.WriteString(text)
	}
	open := -1
	for i := 0; i < len(src); {
		rest := src[i:]
		switch {
		case rest[0] == '$':
			l := &lexer{src: src, pos: i, expr: true, opts: opts}
			ref, problem := l.ref()
			if problem != nil {
				s.problems = append(s.problems, *problem)
			} else {
				emit(s.variable(ref), i, false)
			}
			i = l.pos
		case rest[0] == '"' || rest[0] == '\'':
			n := literalEnd(src, i)
			if at := strings.Index(src[i:n], "$steps"); at >= 0 {
				s.problems = append(s.problems, Problem{
					Code: CodeQuotedReference, Severity: diag.Warning, Offset: i + at, Length: len("$steps"),
					Message: "this reference is inside quotes, where it is plain text",
					Hint:    "remove the quotes around the reference",
				})
			}
			emit(src[i:n], i, true)
			i = n
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			emit(rest[:n], i, true)
			i += n
		case strings.HasPrefix(rest, "{{"):
			if open >= 0 {
				s.problems = append(s.problems, ErrorAt(i, 2, CodeUnclosed,
					"close the outer {{ first, or leave the inner one out", "{{ inside {{"))
			}
			open = i
			emit("( ", i, true)
			i += 2
		case strings.HasPrefix(rest, "}}"):
			if open < 0 {
				s.problems = append(s.problems, ErrorAt(i, 2, CodeUnclosed, "", "}} without its {{"))
			}
			open = -1
			emit(" )", i, true)
			i += 2
		default:
			emit(rest[:1], i, true)
			i++
		}
	}
	if open >= 0 {
		s.problems = append(s.problems, ErrorAt(open, 2, CodeUnclosed, "write }} at the end", "{{ is never closed"))
	}
	s.Text = b.String()
	s.at = append(s.at, len(src))
	return s
}

func (s *Source) variable(r Ref) string {
	s.refs = append(s.refs, r)
	i, known := s.index[r.Text]
	if !known {
		i = len(s.Vars)
		s.index[r.Text] = i
		s.names[s.Name(i)] = i
		s.Vars = append(s.Vars, r)
	}
	return s.Name(i)
}

// literalEnd returns the offset after the CEL string literal whose first quote is at i: one quote
// or three, with backslash escapes unless preceded by r. An unclosed literal extends to the end;
// CEL then reports it.
func literalEnd(src string, i int) int {
	quote := src[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(src[i:], triple) {
		quote = triple
	}
	prefix := src[max(i-2, 0):i]
	raw := strings.HasSuffix(prefix, "r") || strings.HasSuffix(prefix, "R") ||
		(len(prefix) == 2 && strings.EqualFold(prefix, "rb"))
	for j := i + len(quote); j < len(src); j++ {
		switch {
		case src[j] == '\\' && !raw:
			j++
		case strings.HasPrefix(src[j:], quote):
			return j + len(quote)
		}
	}
	return len(src)
}
