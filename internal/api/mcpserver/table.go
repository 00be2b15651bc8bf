package mcpserver

import (
	"fmt"
	"strings"
)

// Names returns the names of all fixed tools in table order, separated by spaces.
func Names() string {
	var out []string
	for _, t := range table() {
		out = append(out, t.name)
	}
	return strings.Join(out, " ")
}

// Table returns the table of tools for the documentation, in Markdown: each tool with the role that
// it needs and its arguments, required ones in bold.
func Table() string {
	var b strings.Builder
	b.WriteString("\n| tool | role | arguments |\n| --- | --- | --- |\n")
	for _, t := range table() {
		var args []string
		for _, p := range t.takes {
			if strings.HasPrefix(p.about, "Alias of ") {
				continue
			}
			if name := "`" + p.name + "`"; p.must || strings.HasSuffix(p.about, " Required.") {
				args = append(args, "**"+name+"**")
			} else {
				args = append(args, name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", t.name, t.role, strings.Join(args, ", "))
	}
	b.WriteString("\n")
	return b.String()
}
