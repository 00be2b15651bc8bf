package show

import (
	"fmt"
	"html"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// DOT returns a digraph in the Graphviz language. IDs are n0, n1, …; everything that comes from the
// document is in HTML-like labels with all special HTML characters escaped.
func DOT(w *workflow.Workflow) string {
	d := dot{picture: newPicture(w)}
	d.linef(0, "digraph workflow {")
	d.linef(1, `graph [rankdir=TB, nodesep=0.45, ranksep=0.45, pad=0.3, bgcolor="white", `+
		`fontname="Helvetica,Arial,sans-serif", fontsize=11, fontcolor="%s"];`, inkDetail)
	d.linef(1, `node [shape=box, style="rounded,filled", fontname="Helvetica,Arial,sans-serif", fontsize=12, `+
		`fontcolor="%s", margin="0.2,0.1", penwidth=1.3];`, inkText)
	d.linef(1, `edge [fontname="Helvetica,Arial,sans-serif", fontsize=10, fontcolor="%s", color="%s", arrowsize=0.8];`,
		inkDetail, inkArrow)
	if d.title != "" {
		d.linef(1, "label=%s; labelloc=t;", dotText(d.title))
	}
	d.boxes(-1, 1)
	for _, a := range d.arrows {
		attrs := []string{}
		if a.label != "" {
			attrs = append(attrs, "label="+dotText(a.label))
		}
		if a.ink() != inkArrow {
			attrs = append(attrs, fmt.Sprintf(`color="%s"`, a.ink()))
		}
		if a.asks {
			attrs = append(attrs, "style=dashed")
		}
		if a.back {
			attrs = append(attrs, "constraint=false") // the target is below
		}
		if d.picture.boxes[a.to].style == stylePoint {
			attrs = append(attrs, "arrowhead=none")
		}
		list := ""
		if len(attrs) > 0 {
			list = " [" + strings.Join(attrs, ", ") + "]"
		}
		d.linef(1, "n%d -> n%d%s;", a.from, a.to, list)
	}
	d.linef(0, "}")
	return d.b.String()
}

type dot struct {
	*picture
	b strings.Builder
}

func (d *dot) linef(depth int, format string, args ...any) {
	d.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

// boxes writes the boxes of a group, then the groups in it.
func (d *dot) boxes(group, depth int) {
	for i, b := range d.picture.boxes {
		if b.group != group {
			continue
		}
		if b.style == stylePoint {
			d.linef(depth, `n%d [shape=point, width=0.09, color="%s", tooltip=%s];`, i, paintOf(b.style).stroke,
				dotQuote(b.title))
			continue
		}
		c := paintOf(b.style)
		label := "<B>" + dotLines(b.title, 30) + "</B>"
		if b.detail != "" {
			label += fmt.Sprintf(`<BR/><FONT POINT-SIZE="10" COLOR="%s">%s</FONT>`, inkDetail, dotLines(b.detail, 36))
		}
		d.linef(depth, `n%d [label=<%s>, fillcolor="%s", color="%s"%s];`, i, label, c.fill, c.stroke, dotShape(b.style))
	}
	for i, g := range d.groups {
		if g.outer == group {
			d.linef(depth, "subgraph cluster_%d {", i)
			d.linef(depth+1, `style="rounded,filled"; fillcolor="%s"; color="%s"; margin=14;`, fillFrame, inkFrame)
			if g.title == "" {
				d.linef(depth+1, `label="";`)
			} else {
				d.linef(depth+1, "label=%s;", dotText(g.title))
			}
			d.boxes(i, depth+1)
			d.linef(depth, "}")
		}
	}
}

func dotShape(s style) string {
	switch s {
	case styleStart, styleEnd:
		return `, shape=box, style="rounded,filled", margin="0.3,0.08"`
	case styleDecide:
		return `, shape=hexagon, style="filled", margin="0.08,0.05"`
	case styleSub:
		return `, style="rounded,filled,dashed"`
	case styleSubflow:
		return `, style="filled", peripheries=2`
	case styleTool, styleFunc:
		return `, style="filled"`
	}
	return ""
}

// dotText returns an HTML-like label of one line.
func dotText(s string) string {
	if s == "" {
		return `""`
	}
	return "<" + dotLines(s, 40) + ">"
}

func dotLines(s string, width int) string {
	lines := wrap(s, width, 4)
	for i, line := range lines {
		lines[i] = html.EscapeString(line)
	}
	return strings.Join(lines, "<BR/>")
}

// dotQuote returns a plain quoted string, in which a backslash would start an escape such as \N.
func dotQuote(s string) string {
	s = strings.ReplaceAll(s, `\`, "/")
	return `"` + strings.ReplaceAll(s, `"`, "'") + `"`
}
