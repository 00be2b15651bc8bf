package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// field is one word of a command as far as it is known.
type field struct {
	text string
	// splittable reports whether it may become several words, or none; open whether these may start
	// with any text, and not as the field does, as file names that match a pattern.
	splittable, open bool
}

func (f field) known() bool { return !strings.Contains(f.text, Unknown) }

// mayBeMissing reports whether nothing of a field is known, so that the word may not exist.
func (f field) mayBeMissing() bool { return f.splittable && strings.Trim(f.text, Unknown) == "" }

func joined(fields []field) string {
	texts := make([]string, 0, len(fields))
	for _, f := range fields {
		texts = append(texts, f.text)
	}
	return strings.Join(texts, " ")
}

// fields builds the fields of one word.
type fields struct {
	done  []field
	now   strings.Builder
	loose bool
	open  bool
	// class reports whether a character class has started, after which the rest of the word is
	// unknown.
	class bool
}

func (b *fields) text(s string) {
	if !b.class {
		b.now.WriteString(s)
	}
}

func (b *fields) hole(loose bool) {
	b.now.WriteString(Unknown)
	b.loose = b.loose || loose
}

// expansion is hole for the value of an expansion.
func (b *fields) expansion(loose bool) {
	b.hole(loose)
	b.open = b.open || loose
}

// split ends the current field.
func (b *fields) split() {
	if b.now.Len() > 0 {
		b.done = append(b.done, field{b.now.String(), b.loose, b.open})
	}
	b.now.Reset()
	b.loose, b.open, b.class = false, false, false
}

// word expands a word.
func (r *reader) word(w *syntax.Word, lang syntax.LangVariant) []field {
	if lang == syntax.LangBash {
		split := *w
		if syntax.SplitBraces(&split) {
			return r.braces(&split)
		}
	}
	return r.parts(w.Parts)
}

// parts expands the parts of a word without braces. It returns at least one field, which may be
// empty.
func (r *reader) parts(parts []syntax.WordPart) []field {
	if len(parts) == 1 {
		if l, ok := parts[0].(*syntax.Lit); ok && (l.Value == "[" || l.Value == "[[") {
			return []field{{text: l.Value}}
		}
	}
	var b fields
	for i, p := range parts {
		r.part(&b, p, i == 0)
	}
	if b.now.Len() > 0 || len(b.done) == 0 {
		b.done = append(b.done, field{b.now.String(), b.loose, b.open})
	}
	return b.done
}

func (r *reader) part(b *fields, p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		literal(b, p.Value, first)
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.text(p.Value)
			return
		}
		text, _, err := expand.Format(nil, p.Value, nil)
		if err != nil || strings.Contains(p.Value, "%") || strings.Contains(p.Value, `\c`) {
			b.hole(false)
			return
		}
		text, _, _ = strings.Cut(text, Unknown) // as in Bash, a NUL ends the string
		b.text(text)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				quoted(b, l.Value)
			} else {
				b.expansion(isList(q)) // "$@" may yield no word
			}
		}
	case *syntax.ParamExp:
		if p.Param != nil && p.Param.Value == "IFS" && !r.ifs && p.Exp == nil && p.Slice == nil && p.Repl == nil &&
			p.Index == nil && !p.Length && !p.Excl && p.Names == 0 {
			b.split()
			return
		}
		b.expansion(true)
	default:
		b.expansion(true)
	}
}

// isList reports whether a quoted expansion may yield several words or none.
func isList(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	return ok && (e.Param == nil || e.Param.Value == "@" || e.Index != nil || e.Excl)
}

// literal adds unquoted text: backslashes quote, and file name patterns are unknown.
func literal(b *fields, s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		b.hole(false)
		if i := strings.IndexByte(s, '/'); i >= 0 {
			s = s[i:]
		} else {
			return
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				b.text(s[i : i+1])
			}
		case c == '*' || c == '?':
			b.hole(true)
		case c == '[':
			b.hole(true)
			b.class = true
			return
		default:
			b.text(s[i : i+1])
		}
	}
}

// quoted adds text between double quotes.
func quoted(b *fields, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.text(s[i : i+1])
	}
}

// heredoc expands a here-document, which follows the rules of double quotes.
func heredoc(w *syntax.Word) string {
	var b fields
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.text(l.Value)
		} else {
			b.hole(true)
		}
	}
	return b.now.String()
}

// braces expands a word with braces; more than maxBraces words, and sequences, are unknown.
func (r *reader) braces(w *syntax.Word) []field {
	words := [][]syntax.WordPart{nil}
	for _, p := range w.Parts {
		e, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range words {
				words[i] = append(slices.Clip(words[i]), p)
			}
			continue
		}
		if e.Sequence || len(words)*len(e.Elems) > maxBraces {
			return []field{{Unknown, true, true}}
		}
		var more [][]syntax.WordPart
		for _, head := range words {
			for _, elem := range e.Elems {
				more = append(more, append(slices.Clip(head), elem.Parts...))
			}
		}
		words = more
	}
	var out []field
	for _, parts := range words {
		inner := &syntax.Word{Parts: parts}
		nested := false
		for _, p := range parts {
			_, is := p.(*syntax.BraceExp)
			nested = nested || is
		}
		switch {
		case nested && len(out) < maxBraces:
			out = append(out, r.braces(inner)...)
		case nested:
			return []field{{Unknown, true, true}}
		default:
			out = append(out, r.parts(parts)...)
		}
	}
	return out
}
