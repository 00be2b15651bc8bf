package permit

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pattern is one rule.
type pattern struct {
	text    string
	toolset string // "" where none is named
	tool    string
	args    []argument
}

type argument struct{ name, glob string }

// argumentStart finds where an argument begins: a colon, a name, an equals sign. Other colons belong to the text around them, as in addresses.
var argumentStart = regexp.MustCompile(`:([A-Za-z_][A-Za-z0-9_.-]*)=`)

func parse(text string) (pattern, error) {
	p := pattern{text: text}
	name := text
	if starts := argumentStart.FindAllStringSubmatchIndex(text, -1); len(starts) > 0 {
		name = text[:starts[0][0]]
		for i, s := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			p.args = append(p.args, argument{text[s[2]:s[3]], text[s[1]:end]})
		}
	}
	switch parts := strings.Split(name, ":"); {
	case strings.TrimSpace(text) == "":
		return pattern{}, errors.New("an empty pattern names no tool")
	case len(parts) == 3 && parts[0] == "mcp" && parts[1] != "":
		p.toolset, p.tool = parts[1], parts[2]
	case len(parts) == 2 && parts[0] != "" && parts[1] == "*":
		p.toolset, p.tool = parts[0], "*"
	case len(parts) > 1:
		return pattern{}, fmt.Errorf("%q: after a colon comes an argument as in tool:arg=glob", text)
	default:
		p.tool = name
		if set, tool, ok := strings.Cut(name, "/"); ok {
			if p.toolset, p.tool = set, tool; set == "" {
				return pattern{}, fmt.Errorf("%q: no toolset stands before the slash", text)
			}
		}
	}
	if p.tool == "" || strings.TrimSpace(p.tool) != p.tool {
		return pattern{}, fmt.Errorf("%q: the name of the tool is empty or has blanks around it", text)
	}
	globs := []string{p.toolset, p.tool}
	for _, a := range p.args {
		globs = append(globs, a.glob)
	}
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return pattern{}, fmt.Errorf("%q: the glob %q is not closed", text, g)
		}
	}
	return p, nil
}

// catches tells whether the pattern means a call, read broadly: for rules that forbid.
func (p *pattern) catches(c Call, args map[string]json.RawMessage) bool {
	if !p.names(c, true) {
		return false
	}
	for _, a := range p.args {
		if !holds(a, args) {
			return false
		}
	}
	return true
}

// holds tells whether some reading of an argument fits. Many readers of JSON take names in any case for the same, so a rule that forbids does too.
func holds(a argument, args map[string]json.RawMessage) bool {
	pattern := fold(a.glob)
	for name, raw := range args {
		if slices.ContainsFunc(meant(a.name), func(n string) bool { return strings.EqualFold(n, name) }) &&
			slices.ContainsFunc(readings(name, raw), func(v string) bool { return glob(pattern, fold(v)) }) {
			return true
		}
	}
	return false
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

// admits tells whether the pattern means a call, read narrowly: for rules that allow. of tells whether it means its tool at least.
func (p *pattern) admits(c Call, args map[string]json.RawMessage) (fits, of bool) {
	if !p.names(c, false) {
		return false, false
	}
	for _, a := range p.args {
		raw, ok := args[a.name]
		if !ok || spelledTwice(a.name, args) {
			return false, true
		}
		v := textOf(raw)
		if a.glob != "*" && (isCommand(a.name) && strings.ContainsAny(v, meta) || climbs(v)) || !glob(a.glob, v) {
			return false, true
		}
	}
	return true, true
}

// names tells whether the pattern means the tool of a call.
func (p *pattern) names(c Call, broad bool) bool {
	fits := func(g, v string) bool { return v != "" && (glob(g, v) || broad && glob(fold(g), fold(v))) }
	switch {
	case p.toolset != "":
		return fits(p.toolset, c.Toolset) && (fits(p.tool, c.Own) || broad && fits(p.tool, c.Offered))
	case broad && (fits(p.tool, c.Own) || fits(p.tool, c.Toolset)):
		return true
	}
	return fits(p.tool, c.Offered)
}

func fold(s string) string { return strings.ToLower(s) }

// commands are the arguments that hold what a shell reads.
var commands = []string{"cmd", "command", "script"}

func isCommand(argument string) bool { return slices.Contains(commands, strings.ToLower(argument)) }

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

// readings gives everything that an argument can be taken for.
func readings(name string, raw json.RawMessage) []string {
	out := []string{textOf(raw)}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) == nil && items != nil {
		var words []string
		for _, item := range items {
			words = append(words, textOf(item))
		}
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
		if isCommand(name) {
			for piece := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune(meta, r) }) {
				out = append(out, strings.Join(strings.Fields(piece), " "))
			}
		}
	}
	return out
}

// glob tells whether the whole of s fits the pattern g. It takes time in proportion to the product of both lengths at most.
func glob(g, s string) bool {
	// The last star and where its text began are all that has to be tried again.
	star, mark, i, j := -1, 0, 0, 0
	for j < len(s) {
		if i < len(g) && g[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if gi, sj, ok := one(g, s, i, j); ok {
			i, j = gi, sj
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[mark:])
		mark += size
		i, j = star+1, mark
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}

// one fits one character of s at j to what stands in g at i, and gives where both go on.
func one(g, s string, i, j int) (int, int, bool) {
	if i >= len(g) {
		return 0, 0, false
	}
	c, size := utf8.DecodeRuneInString(s[j:])
	switch g[i] {
	case '?':
		return i + 1, j + size, true
	case '[':
		end := closing(g, i)
		if end < 0 {
			return 0, 0, false
		}
		// path.Match reads classes; none of them takes a slash for itself.
		if ok, err := path.Match(g[i:end+1], string(c)); err != nil || !ok {
			return 0, 0, false
		}
		return end + 1, j + size, true
	case '\\':
		if i++; i >= len(g) {
			return 0, 0, false
		}
	}
	w, n := utf8.DecodeRuneInString(g[i:])
	return i + n, j + size, w == c
}

// closing finds the end of a class.
func closing(g string, i int) int {
	for k := i + 1; k < len(g); k++ {
		switch {
		case g[k] == '\\':
			k++
		case g[k] == ']' && k > i+1 && (k != i+2 || g[i+1] != '^'):
			return k
		}
	}
	return -1
}
