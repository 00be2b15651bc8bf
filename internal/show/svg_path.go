package show

import (
	"strings"

	"github.com/hocket-run/hocket/internal/show/layout"
)

// headLength is the length of an arrow's head.
const headLength = 7.0

// arrow draws the line and the head of an arrow.
func (s *svg) arrow(i int) {
	a, path := s.arrows[i], s.paths[i]
	if len(path) < 2 {
		return
	}
	dash, width := "", "1.3"
	if a.asks {
		dash = ` stroke-dasharray="5 4"`
	}
	hasHead := s.boxes[a.to].style != stylePoint
	tip := path[len(path)-1]
	before := path[len(path)-2]
	dx, dy := 0.0, 1.0 // where the arrow points
	switch {
	case a.from == a.to:
		dx, dy = -1, 0
	case tip.Y < before.Y:
		dy = -1
	}
	line := path
	if hasHead {
		line = append(append([]layout.Point{}, path[:len(path)-1]...),
			layout.Point{X: tip.X - dx*headLength, Y: tip.Y - dy*headLength})
	}
	s.printf(`<g class="edge"><path d="%s" fill="none" stroke="%s" stroke-width="%s"%s/>`, curve(line, a.from == a.to),
		a.ink(), width, dash)
	if hasHead {
		const half = 3.6
		bx, by := tip.X-dx*headLength, tip.Y-dy*headLength
		s.printf(`<polygon points="%s,%s %s,%s %s,%s" fill="%s"/>`,
			num(tip.X), num(tip.Y), num(bx-dy*half), num(by+dx*half), num(bx+dy*half), num(by-dx*half), a.ink())
	}
	s.printf("</g>\n")
}

// curve returns the path data of a line through points, vertical at each of them.
func curve(points []layout.Point, loop bool) string {
	var b strings.Builder
	b.WriteString("M" + num(points[0].X) + " " + num(points[0].Y))
	if loop && len(points) == 4 {
		b.WriteString("C" + num(points[1].X) + " " + num(points[1].Y) + " " + num(points[2].X) + " " +
			num(points[2].Y) + " " + num(points[3].X) + " " + num(points[3].Y))
		return b.String()
	}
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		if p.X == q.X {
			b.WriteString("V" + num(q.Y))
			continue
		}
		mid := num((p.Y + q.Y) / 2)
		b.WriteString("C" + num(p.X) + " " + mid + " " + num(q.X) + " " + mid + " " + num(q.X) + " " + num(q.Y))
	}
	return b.String()
}

// label writes the label of an arrow, on a background of its own so that lines underneath do not
// run through it.
func (s *svg) label(i int) {
	at, a := s.labelAt[i], s.arrows[i]
	if len(s.labels[i]) == 0 {
		return
	}
	s.printf(`<g class="label"><rect x="%s" y="%s" width="%s" height="%s" rx="4" fill="#ffffff" fill-opacity="0.92"/>`,
		num(at.x-at.w/2), num(at.top()), num(at.w), num(at.h))
	y := at.top() + 1
	for _, line := range s.labels[i] {
		s.line(at.x, &y, line, labelSize, ` fill="`+a.ink()+`"`)
	}
	s.printf("</g>\n")
}
