package show

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/show/layout"
	"github.com/hocket-run/hocket/workflow"
)

// maxBoxes is the maximum number of boxes in an SVG picture; Tree, Mermaid and DOT have no such
// limit.
const maxBoxes = 2000

// ErrTooLarge is returned when a workflow is too large for a readable picture; its text formats
// still work.
var ErrTooLarge = errors.New("workflow is too large for a picture")

// SVG returns a self-contained picture: no scripts, style sheets, links, or external fonts or
// images, so that it works under a strict content security policy (SEC15). All text of the document
// is escaped. Each box is a group of class `node KIND` with a title.
//
// The error is ErrTooLarge, or nil.
func SVG(w *workflow.Workflow) ([]byte, error) {
	l, err := planOf(w)
	if err != nil {
		return nil, err
	}
	s := svg{plan: l}
	s.document()
	return s.b.Bytes(), nil
}

// planOf returns the picture of w with a position for everything. The error is ErrTooLarge, or nil.
func planOf(w *workflow.Workflow) (*plan, error) {
	p := newPicture(w)
	tooLarge := fmt.Errorf("%w: %d boxes, %d arrows", ErrTooLarge, len(p.boxes), len(p.arrows))
	if len(p.boxes) > maxBoxes || len(p.arrows) > 4*maxBoxes {
		return nil, tooLarge
	}
	l, err := arrange(p)
	if errors.Is(err, layout.ErrTooLarge) {
		return nil, tooLarge
	}
	return l, err
}

type svg struct {
	*plan
	b bytes.Buffer
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

func (s *svg) document() {
	head := 0.0
	width := s.w
	if s.title != "" {
		head = 30
		width = max(width, spare*textWidth(s.title, 15, true)+2*framePad)
	}
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" `+
		`font-family="Helvetica, Arial, 'Liberation Sans', sans-serif">`+"\n",
		num(width), num(s.h+head))
	title := s.title
	if title == "" {
		title = "workflow"
	}
	s.printf("<title>%s</title>\n", escapeXML(title))
	s.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
	if s.title != "" {
		s.printf(`<text x="%s" y="25" font-size="15" font-weight="bold" fill="%s">%s</text>`+"\n", num(framePad),
			inkText, escapeXML(s.title))
	}
	s.printf(`<g transform="translate(%s %s)">`+"\n", num((width-s.w)/2), num(head))
	for g := range s.groups {
		s.frame(g)
	}
	for i := range s.arrows {
		s.arrow(i)
	}
	for i := range s.boxes {
		s.box(i)
	}
	for i := range s.arrows {
		s.label(i) // on top of everything, each in its own space
	}
	s.printf("</g>\n</svg>\n")
}

func (s *svg) frame(g int) {
	at := s.groupAt[g]
	s.printf(`<g class="frame"><rect x="%s" y="%s" width="%s" height="%s" rx="12" fill="%s" stroke="%s"/>`,
		num(at.x-at.w/2), num(at.top()), num(at.w), num(at.h), fillFrame, inkFrame)
	if title := s.groups[g].title; title != "" {
		s.printf(`<text x="%s" y="%s" font-size="%d" font-weight="bold" fill="%s">%s</text>`,
			num(at.x-at.w/2+framePad), num(at.top()+20), labelSize, inkDetail, escapeXML(title))
	}
	s.printf("</g>\n")
}

func (s *svg) box(i int) {
	b, at, c := s.boxes[i], s.boxAt[i], paintOf(s.boxes[i].style)
	s.printf(`<g class="node %s"><title>%s</title>`, b.style, escapeXML(b.title))
	s.shape(b.style, at, c)
	if b.style != stylePoint {
		y := at.top() + padY
		for _, line := range s.titles[i] {
			s.line(at.x, &y, line, titleSize, ` font-weight="bold" fill="`+inkText+`"`)
		}
		for _, line := range s.details[i] {
			s.line(at.x, &y, line, detailSize, ` fill="`+inkDetail+`"`)
		}
	}
	s.printf("</g>\n")
}

// line writes a line of text with its upper edge at y, and advances y to its lower edge.
func (s *svg) line(x float64, y *float64, line string, size float64, attrs string) {
	s.printf(`<text x="%s" y="%s" text-anchor="middle" font-size="%s"%s>%s</text>`, num(x), num(*y+size), num(size),
		attrs, escapeXML(line))
	*y += size * lineHeight
}

func (s *svg) shape(st style, at placed, c paint) {
	rx := 9.0
	extra := ""
	switch st {
	case stylePoint:
		s.printf(`<circle cx="%s" cy="%s" r="%s" fill="%s"/>`, num(at.x), num(at.y), num(pointSize/2), c.fill)
		return
	case styleDecide:
		cut := at.h * 0.3
		s.printf(`<polygon points="%s,%s %s,%s %s,%s %s,%s %s,%s %s,%s" fill="%s" stroke="%s" stroke-width="1.4" `+
			`stroke-linejoin="round"/>`,
			num(at.x-at.w/2), num(at.y), num(at.x-at.w/2+cut), num(at.top()), num(at.x+at.w/2-cut), num(at.top()),
			num(at.x+at.w/2), num(at.y), num(at.x+at.w/2-cut), num(at.bottom()), num(at.x-at.w/2+cut), num(at.bottom()),
			c.fill, c.stroke)
		return
	case styleStart, styleEnd:
		rx = at.h / 2
	case styleTool, styleFunc:
		rx = 2
	case styleSub:
		extra = ` stroke-dasharray="5 3"`
	}
	s.rect(at, rx, c, extra)
	if st == styleSubflow {
		s.rect(placed{at.x, at.y, at.w - 6, at.h - 6}, rx-3, paint{fill: "none", stroke: c.stroke}, "")
	}
	if st == styleWait {
		// Draw a bar on the left: a person must act here.
		s.printf(`<rect x="%s" y="%s" width="4" height="%s" rx="2" fill="%s"/>`, num(at.x-at.w/2+5), num(at.top()+6),
			num(at.h-12), c.stroke)
	}
}

func (s *svg) rect(at placed, rx float64, c paint, extra string) {
	s.printf(`<rect x="%s" y="%s" width="%s" height="%s" rx="%s" fill="%s" stroke="%s" stroke-width="1.4"%s/>`,
		num(at.x-at.w/2), num(at.top()), num(at.w), num(at.h), num(rx), c.fill, c.stroke, extra)
}

// num formats a coordinate with at most one decimal place.
func num(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	if s == "-0.0" {
		s = "0.0"
	}
	if n := len(s); s[n-2:] == ".0" {
		return s[:n-2]
	}
	return s
}

// escapeXML escapes s for XML; clean has removed the characters that XML does not allow.
func escapeXML(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
