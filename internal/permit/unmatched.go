package permit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Unmatched is a pattern that applies to no call. List and Index identify it as in [Problem]; Tool
// is the tool or, if the pattern names none, the toolset that it names. Argument is set if the
// pattern names a tool, but an argument that no such tool has; Takes are those that they have.
type Unmatched struct {
	List     string
	Index    int
	Text     string
	Tool     string
	Argument string
	Takes    []string
}

// What returns what the pattern names, for a message: no tool, or an argument of no tool.
func (u Unmatched) What() string {
	if u.Argument != "" {
		return fmt.Sprintf("the argument %q of no tool", u.Argument)
	}
	return "no tool"
}

// Wrong returns the name that nothing has, and the names among which it was perhaps meant to be.
func (u Unmatched) Wrong(known []Call) (name string, among []string) {
	if u.Argument != "" {
		return u.Argument, u.Takes
	}
	return u.Tool, Names(known)
}

// Unmatched returns the patterns that apply to no call of the given tools, whatever the values of
// its arguments, in the order of [Rules.Problems]. A tool without Own stands for all tools of its
// toolset, which are not known, and one without Toolset, too, for any tool. Patterns that cannot be
// read are left out.
func (r Rules) Unmatched(tools []Call) []Unmatched { return NewTools(tools).Unmatched(r) }

// Tools are tools that many rules are compared with.
type Tools struct {
	calls  []Call
	byName map[string][]int // indices of calls by the folded names of tools and toolsets
	open   []Call           // one that stands for any tool, if there is one
	server []Call           // one that stands for all tools of its toolset, if there is one
}

// NewTools returns the given tools, each once, for [Tools.Unmatched].
func NewTools(calls []Call) *Tools {
	t := &Tools{byName: map[string][]int{}}
	seen := map[[4]string]bool{}
	for _, c := range calls {
		id := [4]string{c.Own, c.Offered, c.Toolset, c.Type}
		if seen[id] {
			continue
		}
		seen[id] = true
		switch {
		case c.Own == "" && c.Toolset == "":
			t.open = []Call{c}
		case c.Own == "":
			t.server = []Call{c}
		}
		at := len(t.calls)
		t.calls = append(t.calls, c)
		names := []string{fold(c.Own), fold(c.Offered), fold(c.Toolset), fold(c.Type)}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name != "" {
				t.byName[name] = append(t.byName[name], at)
			}
		}
	}
	return t
}

// Compared returns how many comparisons of a pattern and a tool [Tools.Unmatched] makes at most for
// the patterns with wildcards. Others are looked up.
func (t *Tools) Compared(r Rules) (n int) {
	for _, l := range r.lists() {
		for _, text := range l.patterns {
			if p, err := parse(text); err == nil && isWild(cmp.Or(p.toolset, p.tool)) {
				n += len(t.of(&p))
			}
		}
	}
	return n
}

// of returns the tools to which a pattern may apply.
func (t *Tools) of(p *pattern) []Call {
	name := cmp.Or(p.toolset, p.tool)
	switch {
	case t.open != nil:
		return t.open
	case p.toolset == "" && t.server != nil:
		return t.server
	case isWild(name):
		return t.calls
	}
	var out []Call
	for _, i := range t.byName[fold(name)] {
		out = append(out, t.calls[i])
	}
	return out
}

// isWild reports whether a glob may match several names.
func isWild(glob string) bool { return strings.ContainsAny(glob, `*?[\`) }

// Unmatched is [Rules.Unmatched].
func (t *Tools) Unmatched(r Rules) []Unmatched {
	var out []Unmatched
	for _, l := range r.lists() {
		broad := l.name == "deny" || l.name == "ask"
		for i, text := range l.patterns {
			p, err := parse(text)
			if err != nil {
				continue
			}
			applies, named := p.appliesToAny(t.of(&p), broad)
			if applies {
				continue
			}
			u := Unmatched{List: l.name, Index: i, Text: text, Tool: p.tool}
			if u.Tool == "*" {
				u.Tool = p.toolset
			}
			for _, c := range named {
				u.Takes = append(u.Takes, c.Takes...)
				if at := slices.IndexFunc(p.args, func(a argument) bool { return !a.isOf(c) }); at >= 0 {
					u.Argument = p.args[at].name
				}
			}
			slices.Sort(u.Takes)
			u.Takes = slices.Compact(u.Takes)
			out = append(out, u)
		}
	}
	return out
}

// appliesToAny reports whether the pattern applies to a call of one of the tools. If it does not,
// named are those that it names.
func (p *pattern) appliesToAny(tools []Call, broad bool) (applies bool, named []Call) {
	for _, c := range tools {
		if c.Own == "" && (c.Toolset == "" || p.toolset == "") {
			return true, nil
		}
		if c.Own == "" {
			c.Own, c.Offered = p.tool, p.tool
			if of := (pattern{toolset: p.toolset, tool: "*"}); of.names(c, broad) {
				return true, nil
			}
			continue
		}
		if !p.names(c, broad) {
			continue
		}
		if c.Takes == nil || !slices.ContainsFunc(p.args, func(a argument) bool { return !a.isOf(c) }) {
			return true, nil
		}
		named = append(named, c)
	}
	return false, named
}

// isOf reports whether a rule may mean an argument of a tool by this name, or by this path through
// objects.
func (a argument) isOf(c Call) bool {
	last := a.name[strings.LastIndexByte(a.name, '.')+1:]
	return slices.ContainsFunc(c.Takes, func(takes string) bool {
		return isOfKind(a.name, takes) || slices.ContainsFunc(append(aliases(a.name), last), func(n string) bool {
			return strings.EqualFold(n, takes)
		})
	})
}

// Names returns the names of tools and toolsets, sorted, for suggestions.
func Names(tools []Call) []string {
	var out []string
	for _, c := range tools {
		for _, name := range []string{c.Own, c.Toolset} {
			if name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Denies returns the patterns with which the rules deny every call of a tool.
func (r Rules) Denies(c Call) []string {
	var out []string
	for _, text := range r.Deny {
		if p, err := parse(text); err == nil && len(p.args) == 0 && p.names(c, true) {
			out = append(out, text)
		}
	}
	return out
}
