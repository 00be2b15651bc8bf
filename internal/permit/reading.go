package permit

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/permit/shellcmd"
)

// Resource is one thing that a call would reach, as one item of an argument names it.
type Resource struct {
	// Argument is the name of the argument. It need not be among the call's arguments.
	Argument string `json:"argument"`
	// Names are what the item comes to. There is one list for each thing that is reached: for a path the file below the root of its toolset, and the one to
	// which links lead; the names in a list are spellings of one thing, such as the path below the root and the absolute one. None: it could not be found out.
	Names [][]string `json:"names"`
	// Also are other things that the item may stand for. They count for rules that forbid alone.
	Also []string `json:"also,omitempty"`
	// Below tells that everything below a folder is reached with it.
	Below bool `json:"below,omitempty"`
	// Guess tells that what the tool makes of the item is not known: for rules that allow, the text of the argument must fit too.
	Guess bool `json:"guess,omitempty"`
}

// reading is a call with what its arguments can be taken for.
type reading struct {
	Call
	args map[string]json.RawMessage
	// all are the arguments at any depth: by their last name and by their path, as in `file.path`.
	all   []item
	texts map[int][]string // of all, by index
	lines map[int][]string // the commands of all, by index
	// over tells that there are more arguments than are read.
	over bool
}

type item struct {
	name, path string
	raw        json.RawMessage
}

// Bounds of what is read of nested arguments. Where there is more, a rule that forbids asks.
const (
	maxDepth = 16
	maxItems = 10_000
)

func read(c Call) *reading {
	r := &reading{Call: c, texts: map[int][]string{}, lines: map[int][]string{}}
	_ = json.Unmarshal(c.Arguments, &r.args) // what is no object has no arguments to compare
	r.nested(r.args, "", 0)
	return r
}

func (r *reading) nested(args map[string]json.RawMessage, above string, depth int) {
	for name, raw := range args {
		if len(r.all) >= maxItems {
			r.over = true
			return
		}
		r.all = append(r.all, item{name, above + name, raw})
		r.value(raw, above+name+".", depth+1)
	}
}

// value looks for objects in a value: in lists too, and in a text that is one.
func (r *reading) value(raw json.RawMessage, above string, depth int) {
	if depth > maxDepth || len(raw) == 0 {
		r.over = r.over || len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
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

// match is how sure it is that a pattern means a call. The greater is the surer.
type match int

const (
	no match = iota
	maybe
	sure
)

// catches tells whether the pattern means a call, read broadly: for rules that forbid.
func (p *pattern) catches(r *reading) match {
	if !p.names(r.Call, true) {
		return no
	}
	worst := sure
	for _, a := range p.args {
		if worst = min(worst, r.holds(a)); worst == no {
			return no
		}
	}
	return worst
}

// holds tells whether some reading of an argument fits. Many readers of JSON take names in any case for the same, so a rule that forbids does too.
func (r *reading) holds(a argument) match {
	folded, best := fold(a.glob), no
	if r.over {
		best = maybe
	}
	fits := func(v string) bool { return glob(folded, fold(v)) || glob(a.glob, v) }
	for i, arg := range r.all {
		if !slices.ContainsFunc(meant(a.name), func(n string) bool { return strings.EqualFold(n, arg.name) || strings.EqualFold(n, arg.path) }) {
			continue
		}
		if slices.ContainsFunc(r.textsOf(i), fits) {
			return sure
		}
		for _, line := range r.linesOf(i) {
			line, perhaps := strings.CutPrefix(line, shellcmd.Perhaps)
			switch {
			case !perhaps && fits(line):
				return sure
			case best == no && could(folded, fold(line)):
				best = maybe
			}
		}
	}
	for _, res := range r.Resources {
		if strings.EqualFold(res.Argument, a.name) && res.caught(folded) {
			return sure
		}
	}
	return best
}

// caught tells whether some name of a resource fits a folded glob, or something below it does.
func (res *Resource) caught(folded string) bool {
	for _, names := range append(slices.Clone(res.Names), res.Also) {
		for _, n := range names {
			for _, v := range []string{n, plainName(n)} {
				if g := strings.TrimPrefix(folded, "./"); glob(g, fold(v)) || res.Below && could(g, fold(below(v)+shellcmd.Unknown)) {
					return true
				}
			}
		}
	}
	return false
}

// below gives what the names of things in a folder begin with; "" for the root itself.
func below(folder string) string {
	if folder == "." {
		return ""
	}
	return strings.TrimSuffix(folder, "/") + "/"
}

// plainName is a name without what Windows leaves out of names: dots and blanks at the end of an element, and the name of a stream.
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

// admits tells whether the pattern means a call, read narrowly: for rules that allow. of tells whether it means its tool at least.
func (p *pattern) admits(r *reading) (fits, of bool) {
	if !p.names(r.Call, false) {
		return false, false
	}
	for _, a := range p.args {
		if !r.meets(a) {
			return false, true
		}
	}
	return true, true
}

// meets tells whether all that an argument reaches fits. An argument that a toolset resolves is what it comes to; another one is its text.
func (r *reading) meets(a argument) bool {
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
		if a.glob != "*" && len(res.Names) == 0 && !res.Guess || slices.ContainsFunc(res.Names, func(names []string) bool {
			return !slices.ContainsFunc(names, func(n string) bool { return glob(strings.TrimPrefix(a.glob, "./"), n) })
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
	v := textOf(raw)
	return ((!isCommand(a.name) || !strings.ContainsAny(v, meta)) && !climbs(v)) && glob(a.glob, v)
}

// at gives an argument by its name, or by its path through objects.
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

// spelledTwice tells whether args has the argument under another case of its name: which of them a tool reads cannot be known.
func spelledTwice(name string, args map[string]json.RawMessage) bool {
	for other := range args {
		if other != name && strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// commands are the arguments that hold what a shell reads.
var commands = []string{"cmd", "command", "script"}

func isCommand(argument string) bool { return slices.Contains(commands, strings.ToLower(argument)) }

// isLine tells whether an argument is a command as a line or as words.
func isLine(argument string) bool { return isCommand(argument) || strings.EqualFold(argument, "argv") }

// meant gives the arguments that a rule which forbids means by a name: a command is one however it is handed over.
func meant(argument string) []string {
	if isCommand(argument) {
		return append(slices.Clone(commands), "argv", argument)
	}
	return []string{argument}
}

// meta are the characters with which one command of a shell becomes several.
const meta = ";|&$`<>(){}\n\r"

// climbs tells whether a value names what lies above a folder.
func climbs(v string) bool {
	return slices.Contains(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) }), "..")
}

// textOf gives an argument as globs see it: a text as it is, all else as JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s
	}
	return string(raw)
}

// wordsOf gives the items of a list as texts; nil for what is no list.
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

// textsOf gives everything that an argument can be taken for.
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

// linesOf gives the commands that an argument may run; none for an argument that holds no command. Those of a line that cannot be read are found by the
// characters that part commands too, so that a rule which clearly means one of them does more than ask.
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
