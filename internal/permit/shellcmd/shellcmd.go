package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Unknown marks text of a command that is not known before the command runs: any string, including
// blanks and the empty string.
const Unknown = "\x00"

// Outside is the prefix of a command that is known but not in the table: it may start any other.
const Outside = "\x01"

// Limits. Anything that exceeds one of them is an unknown command.
const (
	maxScript   = 16 << 10 // bytes of a script
	maxNested   = 8        // nested scripts, as in sh -c
	maxCommands = 4000
	maxText     = 512 << 10 // total bytes of all commands
	maxRead     = 512 << 10 // total bytes of all scripts
	maxBraces   = 64        // words that one word with braces expands to
)

// Script returns the commands that a shell may run for a script, each once, with words joined by
// single spaces and without quotes. A command whose program is a path is also returned with only
// the last element of that path. A command that is not in [Table], or has an option that is not, is
// also returned with the prefix [Outside]. A script that cannot be read, or that runs commands it
// does not contain, has the command [Unknown].
func Script(text string) []string {
	r := &reader{}
	r.script(text)
	return r.out
}

// Argv returns the commands that a program and its arguments may run, in the form of Script.
func Argv(words []string) []string {
	r := &reader{}
	fields := make([]field, 0, len(words))
	for _, w := range words {
		fields = append(fields, field{text: w})
	}
	r.command(fields, nil)
	return r.out
}

// reader collects commands.
type reader struct {
	out   []string
	seen  map[string]bool
	bytes int
	read  int // bytes of scripts so far
	depth int
	full  bool
	// ifs reports whether the script sets the variable IFS, so that its value is unknown.
	ifs bool
	// quiet reports whether unknown commands are left out, because they were added before.
	quiet bool
	// input is what the command that is read now gets as its standard input.
	input []string
	// defined are the functions that the script defined before the command that is read now, and
	// numbers the variables of the script that hold numbers only.
	defined, numbers map[string]bool
}

func (r *reader) add(text string) {
	text = strings.TrimSpace(text)
	if text == "" || r.seen[text] {
		return
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if len(r.out) >= maxCommands || r.bytes+len(text) > maxText {
		if r.full {
			return
		}
		r.full, text = true, Unknown
	}
	r.seen[text] = true
	r.out = append(r.out, text)
	r.bytes += len(text)
}

func (r *reader) unknown() {
	if !r.quiet {
		r.add(Unknown)
	}
}

// script parses one script in both dialects.
func (r *reader) script(text string) {
	if strings.ContainsAny(text, Unknown+"\r") {
		r.unknown() // a carriage return is part of a word in a shell, and a blank for the parser
	}
	if r.read += len(text); len(text) > maxScript || r.read > maxRead || r.depth >= maxNested || r.full {
		r.unknown()
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if setsIFS(text) {
		was := r.ifs
		r.ifs = true
		defer func() { r.ifs = was }()
	}
	for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		r.dialect(text, lang)
	}
}

// setsIFS reports whether text names IFS other than as $IFS or ${IFS}.
func setsIFS(text string) bool {
	return strings.Count(text, "IFS") != strings.Count(text, "$IFS")+strings.Count(text, "${IFS}")
}

// dialect parses a script as one shell does. A shell runs a script statement by statement, so
// statements before an error have already run when the error is found.
func (r *reader) dialect(text string, lang syntax.LangVariant) {
	defer func() {
		if recover() != nil { // a bug in the parser makes the script unreadable
			r.unknown()
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.unknown()
	}
	if file == nil {
		return
	}
	defined, numbers := r.defined, r.numbers
	defer func() { r.defined, r.numbers = defined, numbers }()
	r.defined, r.numbers = map[string]bool{}, numericVariables(file)
	for i := range file.Last {
		r.node(&file.Last[i], lang)
	}
	for _, s := range file.Stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			r.node(n, lang)
			return true
		})
		// A function that is always defined from here on.
		if f, ok := s.Cmd.(*syntax.FuncDecl); ok && len(s.Redirs) == 0 && !s.Background && !s.Coprocess &&
			f.Name != nil && r.numbers != nil && rows[f.Name.Value].kind == "" {
			r.defined[f.Name.Value] = true
		}
	}
}

func (r *reader) node(n syntax.Node, lang syntax.LangVariant) {
	switch n := n.(type) {
	case *syntax.Stmt:
		if c, ok := n.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			var fields []field
			for _, w := range c.Args {
				fields = append(fields, r.word(w, lang)...)
			}
			r.command(fields, r.given(n.Redirs, lang))
			for _, a := range c.Assigns {
				if a.Name != nil {
					r.assigned(a.Name.Value, r.valueOf(a, lang), true)
				}
			}
		}
	case *syntax.Assign:
		if n.Name != nil && n.Index == nil && n.Array == nil {
			r.assigned(n.Name.Value, r.valueOf(n, lang), false)
		} else if n.Index != nil || n.Array != nil && !isLocalVariable(n.Name.Value) {
			r.unknown() // a subscript is evaluated
		}
	case *syntax.DeclClause:
		r.declared(n, lang)
	case *syntax.Word:
		if text := joined(r.word(n, lang)); strings.Contains(text, "[$(") || strings.Contains(text, "[`") {
			r.unknown() // a subscript, which builtins evaluate even if it is quoted
		}
	case *syntax.Comment:
		if strings.HasSuffix(n.Text, "\\\n") {
			r.unknown() // the next line is a command, which the parser joins with the one before
		}
	case *syntax.DblQuoted:
		r.defaults(n, false)
	case *syntax.LetClause, *syntax.CoprocClause:
		r.unknown()
	case *syntax.WordIter:
		r.assigned(n.Name.Value, "", false)
	case *syntax.Redirect:
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			r.unknown() // it sets a variable
		}
		if n.Hdoc != nil {
			r.defaults(n.Hdoc, true)
		}
	case *syntax.ParamExp:
		r.expansion(n)
	case *syntax.ArithmExp:
		r.arithmetic(n.X)
	case *syntax.ArithmCmd:
		r.arithmetic(n.X)
	case *syntax.CStyleLoop:
		r.arithmetic(n.Init)
		r.arithmetic(n.Cond)
		r.arithmetic(n.Post)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.unknown()
		}
	case *syntax.BinaryTest:
		r.compared(n)
	}
}

// expansion checks an expansion of a variable, such as ${x:-y}.
func (r *reader) expansion(n *syntax.ParamExp) {
	if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
		r.assigned(n.Param.Value, "", false)
	}
	// ${!x} and ${x@P} evaluate the contents of a variable
	if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
		r.unknown()
	}
	r.arithmetic(n.Index)
	if n.Slice != nil {
		r.arithmetic(n.Slice.Offset)
		r.arithmetic(n.Slice.Length)
	}
}

// defaults checks the words of expansions in double quotes or a here-document, such as y in
// "${x:-y}": single quotes there quote nothing for shells, but do for the parser, and in a
// here-document shells disagree about all quotes.
func (r *reader) defaults(quoted syntax.Node, heredoc bool) {
	inWord := 0
	var open []bool // by enclosing node: whether it is an expansion with such a word
	syntax.Walk(quoted, func(n syntax.Node) bool {
		isWord := false
		switch n := n.(type) {
		case nil:
			if open[len(open)-1] {
				inWord--
			}
			open = open[:len(open)-1]
			return true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // quotes start afresh
		case *syntax.ParamExp:
			isWord = n.Exp != nil && (heredoc || isDefault(n.Exp.Op))
		case *syntax.SglQuoted:
			if inWord > 0 {
				r.unknown()
			}
		case *syntax.DblQuoted:
			if inWord > 0 && heredoc {
				r.unknown()
			}
		}
		if isWord {
			inWord++
		}
		open = append(open, isWord)
		return true
	})
}

// isDefault reports whether the word of an expansion is used instead of the variable.
func isDefault(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	}
	return false
}

// declared checks a declaration of variables.
func (r *reader) declared(d *syntax.DeclClause, lang syntax.LangVariant) {
	line := rows[d.Variant.Value]
	for _, a := range d.Args {
		switch {
		case a.Name == nil: // an option, or a word that is known only when it runs
			text := joined(r.word(a.Value, lang))
			if _, ok := line.option(text); !strings.HasPrefix(text, "-") || !ok {
				r.unknown()
			}
		case d.Variant.Value == "export":
			r.assigned(a.Name.Value, r.valueOf(a, lang), true)
		}
	}
}

// valueOf returns the text that a variable is set to.
func (r *reader) valueOf(a *syntax.Assign, lang syntax.LangVariant) string {
	if a.Value == nil {
		return ""
	}
	return joined(r.word(a.Value, lang))
}

// assigned checks the assignment of a variable, which may be the name of a program, or be run.
// exported reports whether programs get it.
func (r *reader) assigned(name, value string, exported bool) {
	if !harmlessVariable(name, value) && (exported || !isLocalVariable(name)) {
		r.script(value)
		r.unknown()
	}
}

// given returns the input that a statement receives from here-documents and here-strings; each is
// one string.
func (r *reader) given(redirs []*syntax.Redirect, lang syntax.LangVariant) []string {
	var out []string
	for _, d := range redirs {
		switch {
		case d.Hdoc != nil:
			out = append(out, heredoc(d.Hdoc))
		case d.Op == syntax.WordHdoc:
			out = append(out, joined(r.word(d.Word, lang)))
		}
	}
	return out
}
