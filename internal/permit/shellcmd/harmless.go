package shellcmd

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

// Table is the list of commands and options that are judged by their words, as it is printed in the
// docs. Its head describes its form.
//
//go:embed harmless.txt
var Table string

// row is a line of the table.
type row struct {
	kind string
	// options are the options without the sign of their value, and that sign: "", "=" or "?".
	options map[string]string
	exact   bool
}

// rows are the lines of the table by command, including its subcommands.
var rows = parseTable(Table)

// variables and keys are the harmless environment variables, and the harmless keys of git config.
var variables, keys = rows["variables"].options, rows["keys"].options

// kinds are the kinds of a line, as the docs show them.
var kinds = map[string]string{"any": "any", "options": "any", "ends": "any, after the options",
	"names": "names of variables", "sub": "a subcommand", "file": "a file of the project, any", "starts": "a command",
	"starts1": "one, then a command", "own": "see above"}

// lineOf splits a line of the table into the name of a command and the rest; a comment has no name.
func lineOf(line string) (name string, rest []string) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return "", nil
	}
	i := 1
	for i < len(words) && kinds[words[i]] == "" && words[0] != "variables" && words[0] != "keys" {
		i++
	}
	return strings.Join(words[:i], " "), words[i:]
}

func parseTable(text string) map[string]row {
	out := map[string]row{}
	for line := range strings.Lines(text) {
		name, words := lineOf(line)
		if name == "" {
			continue
		}
		r := row{options: map[string]string{}}
		if name != "variables" && name != "keys" {
			r.kind, words = words[0], words[1:]
		}
		for _, w := range words {
			if w == "exact" {
				r.exact = true
			} else if letters, ok := strings.CutPrefix(w, "-{"); ok {
				for _, c := range strings.TrimSuffix(letters, "}") {
					r.options["-"+string(c)] = ""
				}
			} else {
				option := strings.TrimRight(w, "=?")
				r.options[option] = w[len(option):]
			}
		}
		out[name] = r
	}
	return out
}

// harmless reports whether the words of a command, the first of which is known, show every program
// that it starts, apart from what files of the project or the machine name. defined are functions
// of the script.
func (r *reader) harmless(words []field, defined map[string]bool) bool {
	for len(words) > 0 && assignment.MatchString(words[0].text) && len(words) > 1 { // of env
		if n, v, _ := strings.Cut(words[0].text, "="); !harmlessVariable(n, v) {
			return false
		}
		words = words[1:]
	}
	if !words[0].known() || words[0].splittable {
		return false
	}
	name := words[0].text
	if defined[name] {
		return true
	}
	if dir := name[:strings.LastIndexByte(name, '/')+1]; dir != "" && !slices.Contains(programDirs, dir) {
		return false // a copy under another name
	}
	name = base(name)
	if plain := version.ReplaceAllString(name, ""); rows[plain].kind == "file" || plain == "pip" {
		name = plain
	}
	line, ok := rows[name]
	return ok && line.kind != "" && r.fits(name, line, words[1:])
}

// programDirs are the folders whose programs have the names that they should have.
var programDirs = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"}

// assignment matches an assignment before a command.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// shellSyntax are the characters that make or a shell would interpret in a value or a target.
const shellSyntax = "$`;|&<>(){}'\"\\\n\r"

// harmlessVariable reports whether a variable of the environment names no program.
func harmlessVariable(name, value string) bool {
	_, ok := variables[name]
	return ok && !strings.ContainsAny(value, shellSyntax)
}

// shellVariable matches the variables of a script that are not passed on, unless they were before.
var shellVariable = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// isLocalVariable reports whether assigning a variable without exporting it changes nothing that a
// program or a shell reads.
func isLocalVariable(name string) bool {
	return shellVariable.MatchString(name) && name != "path" && !strings.HasPrefix(name, "npm_")
}

// fits reports whether the arguments of a command are covered by its line of the table.
func (r *reader) fits(name string, line row, args []field) bool {
	if line.kind == "any" {
		return true
	}
	if line.kind == "own" {
		return r.ownRule(name, line, args)
	}
	if name == "tar" && len(args) > 0 && !strings.HasPrefix(args[0].text, "-") { // as in tar czf
		args = slices.Clone(args)
		args[0].text = "-" + args[0].text
	}
	i, ok := line.takeOptions(args, line.kind == "options" || line.kind == "names")
	if !ok {
		return false
	}
	switch program, _, _ := strings.Cut(name, " "); program {
	case "git", "npm", "yarn", "pnpm", "pip":
		if slices.ContainsFunc(args, func(f field) bool { return isRemoteHelper(f.text) }) {
			return false
		}
	}
	rest := args[i:]
	if name == "git" && !plainKeys(args[:i]) {
		return false
	}
	switch line.kind {
	case "sub":
		if len(rest) == 0 {
			return len(args) > 0
		}
		sub := name + " " + rest[0].text
		next, ok := rows[sub]
		return ok && r.fits(sub, next, rest[1:])
	case "file":
		if i > 0 && args[i-1].text == "-m" && line.options["MODULE"] == "=" {
			return len(rest) > 0 && r.harmless(rest, nil)
		}
		if len(rest) == 0 {
			return len(args) > 0 && slices.Contains([]string{"--version", "-v", "-V", "--test"}, args[0].text)
		}
		last := base(rest[0].text)
		return rest[0].known() && (last == "." || strings.Contains(strings.Trim(last, "."), "."))
	case "starts1":
		if len(rest) < 1 || !rest[0].known() {
			return false
		}
		rest = rest[1:]
		fallthrough
	case "starts":
		return len(rest) == 0 || assigns(rest) || r.harmless(rest, nil)
	case "names":
		return !slices.ContainsFunc(rest, func(f field) bool { return !harmlessName(name, f) })
	}
	switch name {
	case "make", "cmake":
		return !slices.ContainsFunc(args, func(f field) bool {
			n, v, ok := strings.Cut(f.text, "=")
			return strings.ContainsAny(f.text, shellSyntax) ||
				ok && !strings.HasPrefix(f.text, "-") && !harmlessVariable(n, v)
		})
	case "go run": // not a program of another module
		return len(rest) > 0 && rest[0].known() &&
			(strings.HasPrefix(rest[0].text, ".") || strings.HasSuffix(rest[0].text, ".go"))
	case "tar":
		return !slices.ContainsFunc(args, func(f field) bool { return strings.Contains(f.text, ":") })
	}
	return true
}

// assigns reports whether words are only harmless assignments, as in `env A=1`.
func assigns(words []field) bool {
	return !slices.ContainsFunc(words, func(f field) bool {
		n, v, ok := strings.Cut(f.text, "=")
		return !ok || !harmlessVariable(n, v)
	})
}

// isRemoteHelper reports whether git and programs that call it would start a program for an
// address.
func isRemoteHelper(word string) bool {
	return strings.Contains(word, "::") || strings.Contains(word, "://-") || strings.Contains(word, "@-")
}

// takeOptions returns the number of words that are options and their values. It reports whether all
// of them are in the line. If mixed is set, options may follow operands, and the number is that of
// the words before the first operand.
func (line row) takeOptions(args []field, mixed bool) (n int, ok bool) {
	n = -1
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case f.text == "--" && f.known():
			if _, ends := line.options["--"]; ends {
				if n < 0 {
					n = i + 1
				}
				return n, true
			}
		case strings.HasPrefix(f.text, "-") && f.text != "-":
			if f.text == "-m" && line.options["MODULE"] == "=" {
				return i + 1, true
			}
			takes, ok := line.option(f.text)
			if !ok || f.open {
				return 0, false
			}
			if i+1 < len(args) && takes && !args[i+1].splittable &&
				(!args[i+1].known() || !strings.HasPrefix(args[i+1].text, "-")) {
				i++
			}
		default:
			if n < 0 {
				n = i
			}
			if !mixed && f.known() {
				return n, true
			}
			if !f.known() && (f.open || !startsPlain(f.text)) {
				return 0, false
			}
		}
	}
	if n < 0 {
		n = len(args)
	}
	return n, true
}

// startsPlain reports whether a word is no option, whatever its unknown parts are.
func startsPlain(text string) bool {
	return !strings.HasPrefix(text, Unknown) && !strings.HasPrefix(text, "-")
}

// option reports whether a word is an option of the line, and whether the next word is its value.
func (line row) option(word string) (takes, ok bool) {
	if strings.Contains(strings.SplitN(word, "=", 2)[0], Unknown) {
		return false, false
	}
	name, _, attached := strings.Cut(word, "=")
	if sign, ok := line.options[name]; ok {
		return sign == "=" && !attached, !attached || sign != ""
	}
	if strings.HasPrefix(word, "--") || line.exact {
		return false, false
	}
	digits := strings.Trim(word[1:], "0123456789") == ""
	if _, ok := line.options["-#"]; ok && digits {
		return false, true
	}
	for i := 1; i < len(word); i++ {
		sign, ok := line.options["-"+word[i:i+1]]
		switch {
		case !ok:
			return false, false
		case sign != "":
			return sign == "=" && i == len(word)-1, true
		}
	}
	return false, true
}

// plainName matches the name of a variable without a subscript, which shells evaluate.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\+?=|$)`)

// harmlessName reports whether a builtin may set or export the variable that f names.
func harmlessName(builtin string, f field) bool {
	name, value, _ := strings.Cut(f.text, "=")
	if !plainName.MatchString(f.text) || strings.Contains(name, Unknown) {
		return false
	}
	name = strings.TrimSuffix(name, "+")
	if builtin == "export" {
		return harmlessVariable(name, value)
	}
	return isLocalVariable(name) || harmlessVariable(name, value)
}

// Markdown returns the table for the docs, with lines of at most 150 characters.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| command | arguments | options |\n| --- | --- | --- |\n")
	write := func(name, kind string, words []string) {
		for {
			line := "| " + name + " | " + kind + " | "
			n := 0
			for n < len(words) && len(line)+len(words[n]) < 150 {
				line += words[n] + " "
				n++
			}
			b.WriteString(strings.TrimRight(line, " ") + " |\n")
			if words = words[n:]; len(words) == 0 {
				return
			}
			name, kind = "", ""
		}
	}
	var anything, harmlessVariables, harmlessKeys []string
	for line := range strings.Lines(Table) {
		name, words := lineOf(line)
		switch {
		case name == "":
		case name == "variables":
			harmlessVariables = words
		case name == "keys":
			harmlessKeys = words
		case words[0] == "any":
			anything = append(anything, "`"+name+"`")
		default:
			write("`"+name+"`", kinds[words[0]], words[1:])
		}
	}
	write("all of these", "any", anything)
	write("variables", "", harmlessVariables)
	write("keys of `git config`", "", harmlessKeys)
	return b.String()
}
