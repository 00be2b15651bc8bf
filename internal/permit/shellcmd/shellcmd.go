package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Unknown marks text of a command that is not known before the command runs: any string, including
// blanks and the empty string.
const Unknown = "\x00"

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
// the last element of that path. A script that cannot be read, or that runs commands it does not
// contain, has the command [Unknown].
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

func (r *reader) unknown() { r.add(Unknown) }

// script parses one script in both dialects.
func (r *reader) script(text string) {
	if strings.Contains(text, Unknown) {
		r.unknown()
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
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.unknown()
	}
	if file == nil {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		r.node(n, lang)
		return true
	})
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
		}
	case *syntax.Assign:
		if n.Name != nil && n.Value != nil {
			r.assigned(n.Name.Value, joined(r.word(n.Value, lang)))
		}
	case *syntax.DeclClause:
		if n.Variant.Value == "alias" {
			r.unknown()
		}
	case *syntax.Word:
		if text := joined(r.word(n, lang)); strings.Contains(text, "[$(") || strings.Contains(text, "[`") {
			r.unknown() // a subscript, which builtins evaluate even if it is quoted
		}
	case *syntax.ParamExp:
		// ${!x} and ${x@P} evaluate the contents of a variable
		if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
			r.unknown()
		}
	}
}

// evaluated are the variables whose values shells, or the programs that they start, run as commands
// or read commands from.
var evaluated = []string{"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELLOPTS", "BASHOPTS",
	"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "LD_PRELOAD", "LD_AUDIT",
	"LD_LIBRARY_PATH", "PERL5OPT", "PYTHONSTARTUP", "RUBYOPT", "NODE_OPTIONS", "MAKEFLAGS", "RSYNC_RSH", "SHELL"}

// assigned checks the value of a variable, which may be run later.
func (r *reader) assigned(name, value string) {
	switch {
	case slices.Contains(evaluated, name), strings.HasPrefix(name, "GIT_"), strings.HasPrefix(name, "BASH_FUNC_"):
		r.script(value)
		r.unknown()
	case strings.Contains(value, "$(") || strings.Contains(value, "`") || strings.Contains(value, "${"):
		r.unknown() // arithmetic and prompts evaluate the contents of variables
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
