package show

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// Mermaid returns a flowchart in the Mermaid language (version 10 and later). IDs are n0, n1, …;
// everything that comes from the document is in quoted labels, with every character that Mermaid or
// HTML could interpret written as a character code.
func Mermaid(w *workflow.Workflow) string {
	p := newPicture(w)
	m := mermaid{picture: p}
	m.linef(0, "flowchart TD")
	m.boxes(-1, 1)
	for i, a := range p.arrows {
		op := "-->"
		if a.asks {
			op = "-.->"
		}
		if a.label != "" {
			op += `|"` + mermaidText(a.label) + `"|`
		}
		m.linef(1, "n%d %s n%d", a.from, op, a.to)
		if a.ink() != inkArrow {
			m.styles = append(m.styles, fmt.Sprintf("linkStyle %d stroke:%s", i, a.ink()))
		}
	}
	for _, s := range m.styles {
		m.linef(1, "%s", s)
	}
	for _, c := range palette {
		dash := ""
		if c.style == styleSub {
			dash = ",stroke-dasharray:4 3"
		}
		m.linef(1, "classDef %s fill:%s,stroke:%s,color:%s%s", mermaidClass(c.style), c.fill, c.stroke, inkText, dash)
	}
	return m.b.String()
}

type mermaid struct {
	*picture
	b      strings.Builder
	styles []string
}

func (m *mermaid) linef(depth int, format string, args ...any) {
	m.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&m.b, format, args...)
	m.b.WriteByte('\n')
}

// boxes writes the boxes of a group, then the groups in it.
func (m *mermaid) boxes(group, depth int) {
	for i, b := range m.picture.boxes {
		if b.group == group {
			opening, closing := mermaidShape(b.style)
			label := mermaidText(b.title)
			if b.detail != "" {
				label += "<br/><small>" + mermaidText(b.detail) + "</small>"
			}
			if b.style == stylePoint {
				label = " "
			}
			m.linef(depth, `n%d%s"%s"%s:::%s`, i, opening, label, closing, mermaidClass(b.style))
		}
	}
	for i, g := range m.groups {
		if g.outer == group {
			title := " "
			if g.title != "" {
				title = mermaidText(g.title)
			}
			m.linef(depth, `subgraph g%d["%s"]`, i, title)
			m.boxes(i, depth+1)
			m.linef(depth, "end")
			m.styles = append(m.styles, fmt.Sprintf("style g%d fill:%s,stroke:%s", i, fillFrame, inkFrame))
		}
	}
}

// mermaidClass avoids Mermaid's reserved words, such as `end`.
func mermaidClass(s style) string { return "kind-" + string(s) }

func mermaidShape(s style) (opening, closing string) {
	switch s {
	case styleStart, styleEnd:
		return "([", "])"
	case styleDecide:
		return "{{", "}}"
	case styleWait:
		return "[/", "/]"
	case styleTool, styleSubflow:
		return "[[", "]]"
	case styleFunc:
		return "[", "]"
	case stylePoint:
		return "((", "))"
	}
	return "(", ")"
}

// mermaidText writes every ASCII character that is not plain text as its code: quotes end a label,
// backticks start Markdown, `%%{` starts a directive anywhere, `<` starts HTML.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127 ||
			strings.ContainsRune(" .,:?!=+/-_()$", r)
		if plain {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
