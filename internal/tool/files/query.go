package files

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Limits of a regular expression. The time that a match takes grows with the size of the expression
// times the length of the line.
const (
	maxProgram = 10_000  // instructions of the compiled expression
	maxAtOnce  = 1 << 20 // instructions times bytes of a line, matched between checks of the context
)

// query is a search query. It is safe for concurrent use.
type query struct {
	text []byte         // literal; used if re is nil
	re   *regexp.Regexp // nil means text is used
	size int            // instructions of re
}

// newQuery parses a query. Errors are of type *refusal.
func newQuery(text string, isRegex bool) (query, error) {
	if !isRegex {
		return query{text: []byte(text)}, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return query{}, refuse("query is not a valid regular expression (RE2): %v", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return query{}, refuse("query is not a valid regular expression (RE2): %v", err)
	}
	if len(prog.Inst) > maxProgram {
		return query{},
			refuse("the regular expression compiles to %d instructions, more than the limit of %d; repeat less in it",
				len(prog.Inst), maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return query{}, refuse("query is not a valid regular expression (RE2): %v", err)
	}
	return query{re: re, size: len(prog.Inst)}, nil
}

// find returns the location of the first match in a line, or nil if there is none. The only error
// is that of ctx; a match in progress stops within a few thousand characters.
func (q query) find(ctx context.Context, line []byte) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.re == nil {
		if i := bytes.Index(line, q.text); i >= 0 {
			return []int{i, i + len(q.text)}, nil
		}
		return nil, nil
	}
	if len(line)*q.size <= maxAtOnce {
		return q.re.FindIndex(line), nil
	}
	r := &runes{ctx: ctx, text: line, every: max(1, maxAtOnce/q.size)}
	at := q.re.FindReaderIndex(r)
	return at, r.err
}

// runes reads the characters of a string until ctx is done, which it checks periodically.
type runes struct {
	ctx   context.Context
	text  []byte
	every int // characters between two checks
	n     int
	err   error // error of ctx
}

// ReadRune implements io.RuneReader.
func (r *runes) ReadRune() (c rune, size int, err error) {
	if r.n++; r.n%r.every == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil || len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRune(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
