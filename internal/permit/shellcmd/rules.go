package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// ownRule judges the arguments of a command of kind own.
func (r *reader) ownRule(name string, line row, args []field) bool {
	switch name {
	case "eval":
		r.script(joined(args))
		return true
	case "sh", "bash", "dash":
		r.shell(args, r.input)
		return true
	case "trap":
		f := trapped(args)
		if f != nil && f.text != "-" {
			r.script(f.text)
		}
		return f != nil
	case "[[":
		return true // in a shell without [[; otherwise it is read as a condition
	case "[", "test":
		return plainTest(args)
	case "set":
		return plainSet(line, args)
	case "command":
		if len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
			return true
		}
		return len(args) == 0 || r.harmless(args, nil)
	case "find":
		return r.plainFind(args)
	case "xargs":
		return r.plainXargs(line, args)
	case "sed":
		return plainSed(line, args)
	case "awk", "gawk", "mawk", "nawk":
		return plainAwk(args)
	case "git config":
		return plainConfig(args)
	}
	return false
}

// trapped returns the action of `trap`, or nil if it is not clear which word it is.
func trapped(args []field) *field {
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || slices.ContainsFunc(args, func(f field) bool { return !f.known() }) ||
		strings.HasPrefix(args[0].text, "-") && args[0].text != "-" {
		return nil
	}
	return &args[0]
}

// testOperators are those of `test` that evaluate nothing. -v and -R evaluate subscripts.
var testOperators = set("! ( ) ] = == != < > -a -o -eq -ne -lt -le -gt -ge -nt -ot -ef " +
	"-b -c -d -e -f -g -G -h -k -L -n -N -O -p -r -s -S -t -u -w -x -z")

// plainTest reports whether no word of `test` can be an operator that evaluates its operand.
func plainTest(args []field) bool {
	for i, f := range args {
		if strings.HasPrefix(f.text, "-") && f.known() && !testOperators[f.text] && !isNumber(f.text) {
			return false
		}
		if f.known() || startsPlain(f.text) && !f.open {
			continue
		}
		// An unknown word is an operand if an operator is before it, or a binary one after it.
		before := i > 0 && testOperators[args[i-1].text]
		after := i+1 < len(args) && testOperators[args[i+1].text]
		if f.splittable || !before && !after && len(args) > 2 {
			return false
		}
	}
	return true
}

// setOptions are named options that do not change what commands are.
var setOptions = set("pipefail errexit nounset xtrace noglob verbose noclobber errtrace")

// plainSet reports whether `set` changes no option that changes what commands are.
func plainSet(line row, args []field) bool {
	for i := 0; i < len(args); i++ {
		f := args[i]
		sign := strings.TrimLeft(f.text, "-+")
		switch {
		case f.text == "--" || f.known() && f.text == sign && f.text != "":
			return true
		case !f.known() || sign == "" || len(f.text)-len(sign) != 1:
			return false
		}
		letters, named := strings.CutSuffix(sign, "o")
		if letters != "" {
			if _, ok := line.option("-" + letters); !ok {
				return false
			}
		}
		if named {
			if i++; i >= len(args) || !setOptions[args[i].text] {
				return false
			}
		}
	}
	return true
}

// findTests are the expressions of find that start nothing, and whether they take a value.
var (
	findTests = set("-name -iname -path -ipath -wholename -regex -iregex -type -xtype -size -mtime -atime -ctime " +
		"-mmin " +
		"-amin -cmin -newer -maxdepth -mindepth -perm -user -group -links -inum -printf -regextype -samefile -lname")
	findWords = set("-print -print0 -ls -delete -prune -empty -not ! -a -and -o -or ( ) , -depth -mount -xdev " +
		"-follow " +
		"-readable -writable -executable -true -false -quit -nouser -nogroup -daystart -L -H -P -E")
)

// plainFind reports whether find starts only commands that are harmless.
func (r *reader) plainFind(args []field) bool {
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case isFindAction(f) && f.known():
			end := 0
			for end < len(args)-i-1 && args[i+1+end].text != ";" &&
				(args[i+1+end].text != "+" || args[i+end].text != "{}") {
				end++
			}
			if end == 0 || end == len(args)-i-1 {
				return false
			}
			if !r.harmless(substituted(args[i+1:i+1+end], "{}", false), nil) {
				return false
			}
			i += end + 1
		case findTests[f.text]:
			i++
			if i < len(args) && args[i].splittable {
				return false
			}
		case findWords[f.text]:
		case !f.known() && (f.open || !startsPlain(f.text)), strings.HasPrefix(f.text, "-"):
			return false
		}
	}
	return true
}

// substituted returns words in which each placeholder is unknown text; if more is set, more unknown
// words follow.
func substituted(words []field, placeholder string, more bool) []field {
	words = slices.Clone(words)
	for i := range words {
		if placeholder != "" && strings.Contains(words[i].text, placeholder) {
			// find and xargs put one name in place of it, which starts with the folder or any text
			words[i].text = strings.ReplaceAll(words[i].text, placeholder, Unknown)
		}
	}
	if more {
		words = append(words, field{Unknown, true, true})
	}
	return words
}

// plainXargs reports whether the command of xargs is harmless with any further arguments.
func (r *reader) plainXargs(line row, args []field) bool {
	n, ok := line.takeOptions(args, false)
	if !ok {
		return false
	}
	placeholder, more := "", true
	for i, f := range args[:n] {
		if _, value, ok := strings.Cut(f.text, "I"); ok && strings.HasPrefix(f.text, "-") && f.text[1] != '-' {
			more = false
			if placeholder = value; value == "" && i+1 < n {
				placeholder = args[i+1].text
			}
		}
	}
	return n == len(args) || r.harmless(substituted(args[n:], placeholder, more), nil)
}

// plainKeys reports whether the options -c of git set nothing that names a program.
func plainKeys(options []field) bool {
	for i, f := range options {
		if f.text != "-c" {
			continue
		}
		if i+1 == len(options) {
			return false
		}
		key, _, _ := strings.Cut(options[i+1].text, "=")
		if _, ok := keys[strings.ToLower(key)]; !ok {
			return false
		}
	}
	return true
}

// plainConfig reports whether `git config` sets nothing that names a program.
func plainConfig(args []field) bool {
	for len(args) > 0 && slices.Contains([]string{"--global", "--local", "--system", "--worktree", "--add", "--bool",
		"--int", "--replace-all"}, args[0].text) {
		args = args[1:]
	}
	if len(args) > 0 && args[0].text == "set" {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].known() {
		return false
	}
	if slices.Contains([]string{"--get", "--get-all", "--get-regexp", "--list", "-l", "--unset", "--unset-all", "get",
		"list", "unset"}, args[0].text) {
		return !slices.ContainsFunc(args[1:], func(f field) bool { return !f.known() })
	}
	if strings.HasPrefix(args[0].text, "-") || slices.ContainsFunc(args, func(f field) bool { return f.open }) {
		return false
	}
	_, ok := keys[strings.ToLower(args[0].text)]
	return ok || len(args) == 1
}

// plainAwk reports whether an awk program starts nothing: awk starts commands only with the
// function system and with pipes, and calls functions by other names only with @.
func plainAwk(args []field) bool {
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case !f.known():
			return false
		case f.text == "-F" || f.text == "-v":
			i++
			if i < len(args) && args[i].splittable {
				return false
			}
		case strings.HasPrefix(f.text, "-F"), strings.HasPrefix(f.text, "-v"), f.text == "--":
		case strings.HasPrefix(f.text, "-"):
			return false
		default:
			program := strings.ReplaceAll(f.text, "||", "")
			return !strings.Contains(program, "system") && !strings.ContainsAny(program, "|@`") &&
				!strings.Contains(program, "\\\n")
		}
	}
	return true
}

// plainSed reports whether the scripts of sed start nothing and read no script.
func plainSed(line row, args []field) bool {
	taken := false
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case !f.known() && (f.open || !startsPlain(f.text)):
			return false
		case f.text == "-e" || f.text == "--expression":
			i++
			if taken = true; i >= len(args) || !plainScript(args[i]) {
				return false
			}
		case f.text == "-i" || strings.HasPrefix(f.text, "-i.") || f.text == "--in-place":
		case strings.HasPrefix(f.text, "-") && f.text != "-":
			if _, ok := line.option(f.text); !ok ||
				strings.ContainsAny(f.text, "ei") && !strings.HasPrefix(f.text, "--") {
				return false
			}
		case !taken:
			if taken = true; !plainScript(f) {
				return false
			}
		}
	}
	return true
}

// plainScript reports whether a script of sed has only commands that print and change lines.
func plainScript(f field) bool {
	if !f.known() {
		return false
	}
	for s := f.text; ; {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		s = afterAddress(s)
		if s == "" {
			return false
		}
		command := s[0]
		s = s[1:]
		switch command {
		case 'p', 'd', 'q', 'n', 'N', 'h', 'H', 'g', 'G', 'x', 'D', 'P', 'l', '=', '{', '}':
			if s != "" && !strings.ContainsAny(s[:1], " \t\n;}") && command != '{' && command != '}' {
				return false
			}
		case 's', 'y':
			var ok bool
			if s, ok = afterSubstitution(s, command == 's'); !ok {
				return false
			}
		default:
			return false
		}
	}
}

// addressPattern matches an address of sed, without the patterns that s can contain.
var addressPattern = regexp.MustCompile(
	`^(([0-9]+(~[0-9]+)?|\$|/([^/\\\n]|\\.)*/I?)(,[+~]?([0-9]+|\$|/([^/\\\n]|\\.)*/I?))?)?[ \t]*!?[ \t]*`)

func afterAddress(s string) string { return s[len(addressPattern.FindString(s)):] }

// afterSubstitution returns what follows the two parts, and the flags, of a substitution.
func afterSubstitution(s string, flags bool) (rest string, ok bool) {
	if s == "" || s[0] == '\\' || s[0] == '\n' || s[0] >= 0x80 {
		return "", false
	}
	end, i := s[0], 1
	for range 2 {
		for class := false; ; i++ {
			if i >= len(s) {
				return "", false
			}
			if s[i] == '[' || s[i] == ']' { // it is not the same in all programs where a class ends
				class = s[i] == '['
			}
			if s[i] == '\\' {
				if i++; i >= len(s) || s[i] == '\n' {
					return "", false
				}
			} else if s[i] == end {
				if class {
					return "", false
				}
				break
			}
		}
		i++
	}
	rest = s[i:]
	if flags {
		rest = strings.TrimLeft(rest, "gpIi0123456789")
	}
	if rest != "" && !strings.ContainsAny(rest[:1], " \t\n;}") {
		return "", false
	}
	return rest, true
}

func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(text, "0123456789") == ""
}
