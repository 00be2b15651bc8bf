package permit

import "slices"

// Unmatched is a pattern that applies to no call. List and Index identify it as in [Problem]; Tool
// is the tool or, if the pattern names none, the toolset that it names.
type Unmatched struct {
	List  string
	Index int
	Text  string
	Tool  string
}

// Unmatched returns the patterns that apply to no call of the given tools, whatever its arguments,
// in the order of [Rules.Problems]. A tool without Own stands for all tools of its toolset, which
// are not known, and one without Toolset, too, for any tool. Patterns that cannot be read are left
// out.
func (r Rules) Unmatched(tools []Call) []Unmatched {
	var out []Unmatched
	for _, l := range r.lists() {
		broad := l.name == "deny" || l.name == "ask"
		for i, text := range l.patterns {
			p, err := parse(text)
			if err != nil || p.appliesToAny(tools, broad) {
				continue
			}
			name := p.tool
			if name == "*" {
				name = p.toolset
			}
			out = append(out, Unmatched{List: l.name, Index: i, Text: text, Tool: name})
		}
	}
	return out
}

func (p *pattern) appliesToAny(tools []Call, broad bool) bool {
	for _, c := range tools {
		if c.Own == "" && (c.Toolset == "" || p.toolset == "") {
			return true
		}
		if c.Own == "" {
			c.Own, c.Offered = p.tool, p.tool
			if of := (pattern{toolset: p.toolset, tool: "*"}); of.names(c, broad) {
				return true
			}
			continue
		}
		if p.names(c, broad) {
			return true
		}
	}
	return false
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
