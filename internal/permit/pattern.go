package permit

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// pattern is one rule.
type pattern struct {
	text    string
	toolset string // "" if none is named
	tool    string
	args    []argument
}

type argument struct{ name, glob string }

// argumentStart matches the start of an argument: a colon, a name, an equals sign. Other colons
// belong to the surrounding text, as in addresses.
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
		return pattern{}, errors.New("the pattern is empty")
	case len(parts) == 3 && parts[0] == "mcp" && parts[1] != "":
		p.toolset, p.tool = parts[1], parts[2]
	case len(parts) == 2 && parts[0] != "" && parts[1] == "*":
		p.toolset, p.tool = parts[0], "*"
	case len(parts) > 1:
		return pattern{}, fmt.Errorf("%q: expected an argument after the colon, as in tool:arg=glob", text)
	default:
		p.tool = name
		if set, tool, ok := strings.Cut(name, "/"); ok {
			if p.toolset, p.tool = set, tool; set == "" {
				return pattern{}, fmt.Errorf("%q: no toolset before the slash", text)
			}
		}
	}
	if p.tool == "" || strings.TrimSpace(p.tool) != p.tool {
		return pattern{}, fmt.Errorf("%q: the name of the tool is empty or has surrounding spaces", text)
	}
	globs := []string{p.toolset, p.tool}
	for _, a := range p.args {
		globs = append(globs, a.glob)
	}
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return pattern{}, fmt.Errorf("%q: the glob %q is malformed", text, g)
		}
	}
	return p, nil
}

// names reports whether the pattern matches the tool of a call.
func (p *pattern) names(c Call, broad bool) bool {
	fits := func(g, v string) bool { return v != "" && (glob(g, v) || broad && glob(fold(g), fold(v))) }
	switch {
	case p.toolset != "":
		return (fits(p.toolset, c.Toolset) || broad && fits(p.toolset, c.Type)) &&
			(fits(p.tool, c.Own) || broad && fits(p.tool, c.Offered))
	case broad && (fits(p.tool, c.Own) || fits(p.tool, c.Toolset) || fits(p.tool, c.Type)):
		return true
	}
	return fits(p.tool, c.Offered)
}
