package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable matches names that shells accept for a variable; scriptName matches names that providers
// accept for a tool.
var (
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	scriptName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	// word matches a word of argv that stands for an argument.
	word = regexp.MustCompile(`^\{([^{}]*)\}$`)
)

// Names of variables that change how a shell or a program works, beyond passing it data: no
// argument may have such a name.
var (
	reservedNames = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "IFS", "ENV", "PS1",
		"PS2", "PS4", "CDPATH", "PWD", "OLDPWD", "SHELLOPTS",
		"BASHOPTS", "GLOBIGNORE", "EDITOR", "VISUAL", "PAGER", "BROWSER", "PATHEXT", "COMSPEC", "SYSTEMROOT", "WINDIR",
		"APPDATA", "USERPROFILE", "HOSTALIASES", "NLSPATH",
	}
	reservedPrefixes = []string{
		"LD_", "DYLD_", "LC_", "BASH_", "MALLOC_", "GLIBC_", "GCONV_", "GIT_", "SSH_", "PYTHON", "PERL", "RUBY",
		"NODE_", "NPM_", "JAVA_", "JDK_", "GO", "HOCKET_", "LESS", "DOCKER_",
	}
)

// argumentProblem returns why a name cannot be the name of a script's argument, or "" if it can.
// Lower-case names are allowed where variables are case-sensitive; with foldCase, as on Windows,
// reserved names are rejected in any case.
func argumentProblem(name string, foldCase bool) string {
	if foldCase {
		name = strings.ToUpper(name)
	}
	switch {
	case !variable.MatchString(name):
		return fmt.Sprintf("argument %q cannot be the name of a variable: it has letters, digits and _, and does not "+
			"begin with a digit", name)
	case slices.Contains(reservedNames, name) ||
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		return fmt.Sprintf("argument %q has the name of a variable that changes how programs behave; rename it", name)
	}
	return ""
}

// Problems returns what is wrong with a declared command of that name, in a fixed order. foldCase
// is set if names of variables are case-insensitive here.
func (s Script) Problems(name string, foldCase bool) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !scriptName.MatchString(name) {
		add("script %q: the name has letters, digits, _ and -, at most 64, and begins with a letter or _", name)
	}
	switch {
	case strings.TrimSpace(s.Cmd) == "" && len(s.Argv) == 0:
		add("script %q needs a cmd or an argv", name)
	case s.Cmd != "" && len(s.Argv) > 0:
		add("script %q has both cmd and argv; one of them is the command", name)
	}
	for _, arg := range slices.Sorted(maps.Keys(s.Args)) {
		if p := argumentProblem(arg, foldCase); p != "" {
			add("script %q: %s", name, p)
		}
		if _, ok := s.Env[arg]; ok {
			add("script %q: %q is both an argument and a variable of env", name, arg)
		}
		var property map[string]any
		if json.Unmarshal(s.Args[arg], &property) != nil || property == nil {
			add("script %q: argument %q must be a map, such as {type: string, description: ...}", name, arg)
		}
	}
	for _, arg := range s.Required {
		if _, ok := s.Args[arg]; !ok {
			add("script %q requires %q, which is not among its args", name, arg)
		}
	}
	for i, w := range s.Argv {
		m := word.FindStringSubmatch(w)
		_, known := s.Args[first(m)]
		switch {
		case m != nil && i == 0:
			add("script %q: the program itself cannot be an argument", name)
		case m != nil && !known:
			add("script %q: argv names %s, which is not among its args", name, w)
		case m == nil && s.mentions(w):
			add("script %q: %q contains an argument within a word; an argument must be a separate word, such as "+
				"\"{name}\"", name, w)
		}
	}
	if s.Output != "" && s.Output != OutputText && s.Output != OutputJSON {
		add("script %q: output must be text or json, got %q", name, s.Output)
	}
	if s.Policy != "" && !s.Policy.Valid() {
		add("script %q: policy must be retry, ask, skip or fail, got %q", name, s.Policy)
	}
	return out
}

// mentions reports whether a word contains an argument in braces.
func (s Script) mentions(w string) bool {
	for arg := range s.Args {
		if strings.Contains(w, "{"+arg+"}") {
			return true
		}
	}
	return false
}

// Words returns the words of Argv with arguments substituted, each as a single word whatever it
// contains. An argument without a value leaves no word. The error names a rejected value: one that
// a program would interpret as an option, unless the word -- precedes it.
func (s Script) Words(values map[string]string) ([]string, error) {
	var out []string
	options := true
	for _, w := range s.Argv {
		m := word.FindStringSubmatch(w)
		if m == nil {
			options = options && w != "--"
			out = append(out, w)
			continue
		}
		value, ok := values[m[1]]
		if !ok {
			continue
		}
		if options && strings.HasPrefix(value, "-") {
			return nil, fmt.Errorf("argument %q begins with a dash, and the program would read it as an option", m[1])
		}
		out = append(out, value)
	}
	return out, nil
}

func first(m []string) string {
	if m == nil {
		return ""
	}
	return m[1]
}
