package permit

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/permit/shellcmd"
)

// Resource is one thing that a call would reach, as named by one item of an argument.
type Resource struct {
	// Argument is the name of the argument. It need not be among the call's arguments.
	Argument string `json:"argument"`
	// Names are the resolved names of the item. There is one list for each thing that is reached:
	// for a path, the file below the root of its toolset, and the file to which links lead; the
	// names in a list are spellings of one thing, such as the path below the root and the absolute
	// path. Empty means that it could not be resolved.
	Names [][]string `json:"names"`
	// Also are other things that the item may stand for. They count only for deny rules.
	Also []string `json:"also,omitempty"`
	// Below reports whether everything below a folder is also reached.
	Below bool `json:"below,omitempty"`
	// As are names by which rules that deny or ask mean the item in addition to the name of its
	// argument: `path` and `url`.
	As []string `json:"as,omitempty"`
	// Guess reports whether it is unknown how the tool interprets the item: for allow rules, the
	// string of the argument must match too.
	Guess bool `json:"guess,omitempty"`
}

// reading is a call with the possible interpretations of its arguments.
type reading struct {
	Call
	args map[string]json.RawMessage
	// all are the arguments at any depth: by their last name and by their path, as in `file.path`.
	all   []item
	texts map[int][]string // strings of all, by index
	lines map[int][]string // commands of all, by index
	// truncated reports whether there are more arguments than are read.
	truncated bool
}

type item struct {
	name, path string
	raw        json.RawMessage
}

// Limits for reading nested arguments. If a limit is exceeded, a deny rule asks.
const (
	maxDepth = 16
	maxItems = 10_000
)

func read(c Call) *reading {
	r := &reading{Call: c, texts: map[int][]string{}, lines: map[int][]string{}}
	_ = json.Unmarshal(c.Arguments, &r.args) // a value that is not an object has no arguments to compare
	r.nested(r.args, "", 0)
	return r
}

func (r *reading) nested(args map[string]json.RawMessage, above string, depth int) {
	for name, raw := range args {
		if len(r.all) >= maxItems {
			r.truncated = true
			return
		}
		r.all = append(r.all, item{name, above + name, raw})
		r.value(raw, above+name+".", depth+1)
	}
}

// value collects the objects in a value, including those in lists and in a string that holds JSON.
func (r *reading) value(raw json.RawMessage, above string, depth int) {
	if depth > maxDepth || len(raw) == 0 {
		r.truncated = r.truncated || len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
		return
	}
	switch raw[0] {
	case '{':
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil {
			r.nested(inner, above, depth)
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil {
			for _, one := range items {
				r.value(one, above, depth+1)
			}
		}
	case '"':
		if text := strings.TrimSpace(textOf(raw)); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			r.value(json.RawMessage(text), above, depth+1)
		}
	}
}

// match is the certainty that a pattern matches a call. A greater value is more certain.
type match int

const (
	no match = iota
	maybe
	sure
)

// matchesBroadly returns how certainly the pattern matches a call, read broadly: for deny and ask
// rules. allow are the rules that allow: a command that may run any other one is not judged if one
// of them names it.
func (p *pattern) matchesBroadly(r *reading, allow []pattern) match {
	if !p.names(r.Call, true) {
		return no
	}
	worst := sure
	for _, a := range p.args {
		if worst = min(worst, r.matchesAny(a, allow)); worst == no {
			return no
		}
	}
	return worst
}

// matchesAny returns how certainly some interpretation of an argument matches. Many JSON decoders
// ignore the case of names, so a deny rule does too.
func (r *reading) matchesAny(a argument, allow []pattern) match {
	folded, best := fold(a.glob), no
	if r.truncated {
		best = maybe
	}
	fits := func(v string) bool { return glob(folded, fold(v)) || glob(a.glob, v) }
	for i, arg := range r.all {
		named := slices.ContainsFunc(aliases(a.name), func(n string) bool {
			return strings.EqualFold(n, arg.name) || strings.EqualFold(n, arg.path)
		})
		if !named && !isOfKind(a.name, arg.name) {
			continue
		}
		if slices.ContainsFunc(r.textsOf(i), func(v string) bool {
			return fits(v) && (named || !strings.HasPrefix(v, "{") && !strings.HasPrefix(v, "["))
		}) {
			return sure
		}
		for _, line := range r.linesOf(i) {
			command, outside := strings.CutPrefix(line, shellcmd.Outside)
			switch {
			case outside && r.allowsCommand(command, allow):
			case outside:
				best = maybe
			case fits(line):
				return sure
			case best == no && mayMatch(folded, fold(line)):
				best = maybe
			}
		}
	}
	for _, res := range r.Resources {
		if (strings.EqualFold(res.Argument, a.name) || isOfKind(a.name, res.Argument) ||
			slices.ContainsFunc(res.As, func(kind string) bool { return isOfKind(a.name, kind) })) &&
			res.matches(folded) {
			return sure
		}
	}
	return best
}

// matches reports whether some name of a resource, or something below it, matches a folded glob.
func (res *Resource) matches(folded string) bool {
	for _, names := range append(slices.Clone(res.Names), res.Also) {
		for _, n := range names {
			for _, v := range []string{n, plainName(n)} {
				if g := strings.TrimPrefix(folded, "./"); glob(g, fold(v)) || res.Below &&
					mayMatch(g, fold(folderPrefix(v)+shellcmd.Unknown)) {
					return true
				}
			}
		}
	}
	return false
}

// folderPrefix returns the prefix of the names of things in a folder, or "" for the root itself.
func folderPrefix(folder string) string {
	if folder == "." {
		return ""
	}
	return strings.TrimSuffix(folder, "/") + "/"
}

// plainName returns a name without the parts that Windows ignores: dots and spaces at the end of an
// element, and the name of a stream.
func plainName(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		if i > 0 || !strings.HasSuffix(p, ":") {
			p, _, _ = strings.Cut(p, ":")
		}
		if t := strings.TrimRight(p, ". "); t != "" {
			parts[i] = t
		}
	}
	return strings.Join(parts, "/")
}

// matchesNarrowly reports whether the pattern matches a call, read narrowly: for allow rules. of
// reports whether it at least matches its tool.
func (p *pattern) matchesNarrowly(r *reading) (fits, of bool) {
	if !p.names(r.Call, false) {
		return false, false
	}
	for _, a := range p.args {
		if !r.matchesAll(a) {
			return false, true
		}
	}
	return true, true
}

// matchesAll reports whether everything that an argument reaches matches. An argument that a
// toolset resolves is judged by its resources; any other argument by its string.
func (r *reading) matchesAll(a argument) bool {
	raw, ok := r.at(a.name)
	if ok && spelledTwice(a.name, r.args) {
		return false
	}
	resolved := false
	for _, res := range r.Resources {
		if res.Argument != a.name {
			continue
		}
		resolved = resolved || !res.Guess
		if a.glob != "*" && len(res.Names) == 0 && !res.Guess ||
			slices.ContainsFunc(res.Names, func(names []string) bool {
				return !slices.ContainsFunc(names, func(n string) bool {
					return glob(strings.TrimPrefix(a.glob, "./"), n)
				})
			}) {
			return false
		}
	}
	switch {
	case resolved || r.Unresolved && ok:
		return true
	case !ok || a.glob == "*":
		return ok
	}
	return a.allows(textOf(raw))
}

// allows reports whether the glob matches a text, read narrowly. A glob without wildcards names
// exactly one command, whatever is in it.
func (a argument) allows(v string) bool {
	if text, ok := literal(a.glob); ok && isLine(a.name) {
		return text == v
	}
	return ((!isCommand(a.name) || !strings.ContainsAny(v, meta)) && !hasDotDot(v)) && glob(a.glob, v)
}

// namesCommand reports whether the pattern explicitly names a command: not `*`.
func (p *pattern) namesCommand() bool {
	return slices.ContainsFunc(p.args, func(a argument) bool {
		return isLine(a.name) && strings.Trim(a.glob, "*") != ""
	})
}

// allowsCommand reports whether one of the rules explicitly allows a command, which may be one of
// several in a script.
func (r *reading) allowsCommand(command string, allow []pattern) bool {
	return slices.ContainsFunc(allow, func(p pattern) bool {
		return p.names(r.Call, false) && p.namesCommand() && !slices.ContainsFunc(p.args, func(a argument) bool {
			if isLine(a.name) {
				return !a.allows(command)
			}
			return !r.matchesAll(a)
		})
	})
}

// at returns an argument by its name, or by its path through objects.
func (r *reading) at(name string) (json.RawMessage, bool) {
	if raw, ok := r.args[name]; ok {
		return raw, true
	}
	args := r.args
	for {
		head, rest, more := strings.Cut(name, ".")
		raw, ok := args[head]
		if !ok || !more || spelledTwice(head, args) {
			return raw, ok && !more
		}
		args, name = nil, rest
		if json.Unmarshal(raw, &args) != nil {
			return nil, false
		}
	}
}

// spelledTwice reports whether args also has the argument under its name in another case: it is
// unknown which of them a tool reads.
func spelledTwice(name string, args map[string]json.RawMessage) bool {
	for other := range args {
		if other != name && strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// commands are the arguments that hold shell input.
var commands = []string{"cmd", "command", "script"}

func isCommand(argument string) bool { return slices.Contains(commands, strings.ToLower(argument)) }

// isLine reports whether an argument holds a command, either as a line or as separate words.
func isLine(argument string) bool { return isCommand(argument) || strings.EqualFold(argument, "argv") }

// exactly returns the arguments of a pattern that matches only the commands of the call.
func (r *reading) exactly() string {
	var out []string
	for _, a := range r.all {
		if isLine(a.name) {
			out = append(out, ":"+a.path+"="+quote(textOf(a.raw)))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// aliases returns the arguments that a deny rule for an argument also applies to: a command is the
// same however it is passed.
func aliases(argument string) []string {
	if isCommand(argument) {
		return append(slices.Clone(commands), "argv", argument)
	}
	return []string{argument}
}

// pathNames and addressNames match the names of arguments that hold paths or addresses.
var (
	pathNames = regexp.MustCompile(
		`(?i)path|file|folder|directory|directories|dirs?$|^dir|source|src|dest|dst|target|cwd`)
	addressNames = regexp.MustCompile(`(?i)ur[il]s?$|^ur[il]|href|link|address|endpoint`)
)

// isOfKind reports whether a deny rule for an argument also applies to another argument because
// both hold paths or both hold addresses. The rule must use the general name: `source` means only
// the source of a move.
func isOfKind(rule, argument string) bool {
	argument = argument[strings.LastIndexByte(argument, '.')+1:]
	switch strings.ToLower(rule) {
	case "path", "paths":
		return pathNames.MatchString(argument)
	case "url", "urls":
		return addressNames.MatchString(argument)
	}
	return false
}

// meta are the characters with which one shell command becomes several.
const meta = ";|&$`<>(){}\n\r"

// hasDotDot reports whether a value contains the path element `..`.
func hasDotDot(v string) bool {
	return slices.Contains(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) }),
		"..")
}

// textOf returns an argument as globs see it: a string verbatim, any other value as JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s
	}
	return string(raw)
}

// wordsOf returns the items of a list as strings, or nil if it is not a list.
func wordsOf(raw json.RawMessage) []string {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || items == nil {
		return nil
	}
	words := []string{}
	for _, item := range items {
		words = append(words, textOf(item))
	}
	return words
}

// textsOf returns all possible interpretations of an argument.
func (r *reading) textsOf(i int) []string {
	if out, ok := r.texts[i]; ok {
		return out
	}
	raw := r.all[i].raw
	out := []string{textOf(raw)}
	if words := wordsOf(raw); words != nil {
		out = append(append(out, words...), strings.Join(words, " "))
	}
	for _, v := range slices.Clone(out) {
		out = append(out, strings.Join(strings.Fields(v), " "))
		if strings.Contains(v, "/") {
			out = append(out, path.Clean(v))
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil { // 1e3 and 1000.0 are 1000
			out = append(out, strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	r.texts[i] = out
	return out
}

// linesOf returns the commands that an argument may run; none for an argument that holds no
// command. The commands of an unreadable line are also found by splitting at command separators, so
// that a deny rule that clearly matches one of them does more than ask.
func (r *reading) linesOf(i int) []string {
	if out, ok := r.lines[i]; ok || !isLine(r.all[i].name) {
		return out
	}
	raw := r.all[i].raw
	var out []string
	words := wordsOf(raw)
	if words != nil {
		out = shellcmd.Argv(words)
	}
	if words == nil || isCommand(r.all[i].name) {
		line := textOf(raw)
		if words != nil {
			line = strings.Join(words, " ")
		}
		found := shellcmd.Script(line)
		if slices.Contains(found, shellcmd.Unknown) {
			for piece := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(meta, r) }) {
				found = append(found, strings.Join(strings.Fields(piece), " "))
			}
		}
		out = append(out, found...)
	}
	r.lines[i] = out
	return out
}
