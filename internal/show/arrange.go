package show

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/show/layout"
)

// Sizes of the SVG picture, in points.
const (
	titleSize  = 13
	detailSize = 11
	labelSize  = 11
	lineHeight = 1.28
	padX       = 14.0
	padY       = 9.0
	framePad   = 18.0
	frameHead  = 20.0
	pointSize  = 8.0
	minWidth   = 64.0
	titleWidth = 28 // in characters
	noteWidth  = 34
	labelWidth = 30
	maxLines   = 4
	spare      = 1.2 // extra width for titles, since the fonts of some machines are wider than Helvetica
)

// placed is a rectangle given by its center.
type placed struct{ x, y, w, h float64 }

func (p placed) top() float64    { return p.y - p.h/2 }
func (p placed) bottom() float64 { return p.y + p.h/2 }

// plan is a picture with a position for everything.
type plan struct {
	*picture
	titles, details [][]string // lines by box
	labels          [][]string // lines by arrow
	boxAt           []placed
	groupAt         []placed
	paths           [][]layout.Point
	labelAt         []placed
	w, h            float64

	depth   []int // of groups
	members map[int][]item
	levels  map[int][]int // arrows by the innermost group that holds both ends
	rooms   map[int]*groupLayout
}

// item is a box or a group, as a member of a group.
type item struct {
	box   int
	group int // -1 for a box
}

// groupLayout is a laid-out group.
type groupLayout struct {
	result *layout.Result
	items  []item
	index  map[item]int
	w, h   float64
	head   float64 // height of the title
}

// arrange computes all positions, the inner groups first: each is then one box of the group around
// it.
func arrange(p *picture) (*plan, error) {
	l := &plan{
		picture: p, titles: make([][]string, len(p.boxes)), details: make([][]string, len(p.boxes)),
		labels: make([][]string, len(p.arrows)),
		boxAt:  make([]placed, len(p.boxes)), groupAt: make([]placed, len(p.groups)),
		paths:   make([][]layout.Point, len(p.arrows)),
		labelAt: make([]placed, len(p.arrows)), members: map[int][]item{}, levels: map[int][]int{},
		rooms: map[int]*groupLayout{},
	}
	l.measure()
	l.depth = make([]int, len(p.groups))
	for g := range p.groups {
		for up := p.groups[g].outer; up >= 0; up = p.groups[up].outer {
			l.depth[g]++
		}
	}
	if p.entry >= 0 {
		l.members[p.boxes[p.entry].group] = []item{{p.entry, -1}} // first, so that it is on top
	}
	for i, b := range p.boxes {
		if i != p.entry {
			l.members[b.group] = append(l.members[b.group], item{i, -1})
		}
	}
	for g := range p.groups {
		outer := p.groups[g].outer
		l.members[outer] = append(l.members[outer], item{-1, g})
	}
	for i, a := range p.arrows {
		level := l.common(p.boxes[a.from].group, p.boxes[a.to].group)
		l.levels[level] = append(l.levels[level], i)
	}
	if err := l.layOut(-1); err != nil {
		return nil, err
	}
	l.w, l.h = l.rooms[-1].w, l.rooms[-1].h
	l.setPositions(-1, 0, 0)
	return l, nil
}

// measure wraps the text and computes the sizes of boxes and labels.
func (l *plan) measure() {
	for i, b := range l.boxes {
		if b.style == stylePoint {
			l.boxAt[i] = placed{w: pointSize, h: pointSize}
			continue
		}
		l.titles[i] = wrap(b.title, titleWidth, maxLines)
		if b.detail != "" {
			l.details[i] = wrap(b.detail, noteWidth, maxLines)
		}
		w := minWidth
		for _, line := range l.titles[i] {
			w = max(w, textWidth(line, titleSize, true))
		}
		for _, line := range l.details[i] {
			w = max(w, textWidth(line, detailSize, false))
		}
		h := lineHeight * (titleSize*float64(len(l.titles[i])) + detailSize*float64(len(l.details[i])))
		l.boxAt[i] = placed{w: w + 2*padX, h: h + 2*padY}
		if b.style == styleDecide {
			l.boxAt[i].w += 2 * l.boxAt[i].h * 0.22 // the corners of the hexagon
		}
	}
	for i, a := range l.arrows {
		if a.label == "" {
			continue
		}
		l.labels[i] = wrap(a.label, labelWidth, 3)
		for _, line := range l.labels[i] {
			l.labelAt[i].w = max(l.labelAt[i].w, textWidth(line, labelSize, false)+10)
		}
		l.labelAt[i].h = lineHeight*labelSize*float64(len(l.labels[i])) + 4
	}
}

// common returns the innermost group that holds both boxes, or -1 for the picture.
func (l *plan) common(a, b int) int {
	for a != b {
		switch {
		case a < 0 || b < 0:
			return -1
		case l.depth[a] >= l.depth[b]:
			a = l.groups[a].outer
		default:
			b = l.groups[b].outer
		}
	}
	return a
}

// itemIn returns the item of the group level that holds the box.
func (l *plan) itemIn(level, box int) item {
	g := l.boxes[box].group
	if g == level {
		return item{box, -1}
	}
	for l.groups[g].outer != level {
		g = l.groups[g].outer
	}
	return item{-1, g}
}

// layOut lays out the group and everything in it.
func (l *plan) layOut(group int) error {
	r := &groupLayout{items: l.members[group], index: map[item]int{}}
	l.rooms[group] = r
	nodes := make([]layout.Node, len(r.items))
	for i, it := range r.items {
		r.index[it] = i
		if it.group < 0 {
			nodes[i] = layout.Node{W: l.boxAt[it.box].w, H: l.boxAt[it.box].h}
			continue
		}
		if err := l.layOut(it.group); err != nil {
			return err
		}
		inner := l.rooms[it.group]
		nodes[i] = layout.Node{W: inner.w, H: inner.h}
	}
	edges := make([]layout.Edge, len(l.levels[group]))
	for k, i := range l.levels[group] {
		a := l.arrows[i]
		from, to := l.itemIn(group, a.from), l.itemIn(group, a.to)
		edges[k] = layout.Edge{
			From: r.index[from], To: r.index[to], FromX: l.attachX(from, a.from, false), ToX: l.attachX(to, a.to, true),
			LabelW: l.labelAt[i].w, LabelH: l.labelAt[i].h,
		}
	}
	var err error
	if r.result, err = layout.Layered(nodes, edges); err != nil {
		return fmt.Errorf("lay out: %w", err)
	}
	r.w, r.h = r.result.W+2*framePad, r.result.H+2*framePad
	if group >= 0 && l.groups[group].title != "" {
		r.head = frameHead
		r.h += r.head
		r.w = max(r.w, spare*textWidth(l.groups[group].title, labelSize, true)+2*framePad)
	}
	return nil
}

// attachX returns where an arrow of box meets the item that holds the box, as an offset from the
// item's center: above the fork or below the join of a group. An arrow that bypasses the join, such
// as a failure of the whole block, leaves further to the right.
func (l *plan) attachX(it item, box int, into bool) float64 {
	if it.group < 0 {
		return 0
	}
	r := l.rooms[it.group]
	g := l.groups[it.group]
	door := g.join
	if into {
		door = g.fork
	}
	if i, ok := r.index[item{box, -1}]; ok && box == door {
		return r.result.Nodes[i].X - r.result.W/2
	}
	return r.w / 4
}

// setPositions sets the position of everything in the group, with the group's upper left corner at
// x, y.
func (l *plan) setPositions(group int, x, y float64) {
	r := l.rooms[group]
	x0, y0 := x+(r.w-r.result.W)/2, y+framePad+r.head
	for i, it := range r.items {
		at := r.result.Nodes[i]
		if it.group < 0 {
			l.boxAt[it.box].x, l.boxAt[it.box].y = x0+at.X, y0+at.Y
			continue
		}
		inner := l.rooms[it.group]
		l.groupAt[it.group] = placed{x0 + at.X, y0 + at.Y, inner.w, inner.h}
		l.setPositions(it.group, x0+at.X-inner.w/2, y0+at.Y-inner.h/2)
	}
	for k, i := range l.levels[group] {
		path := make([]layout.Point, 0, len(r.result.Edges[k])+2)
		for _, p := range r.result.Edges[k] {
			path = append(path, layout.Point{X: x0 + p.X, Y: y0 + p.Y})
		}
		l.paths[i] = l.extendPath(group, l.arrows[i], path)
		l.labelAt[i].x, l.labelAt[i].y = x0+r.result.Labels[k].X, y0+r.result.Labels[k].Y
	}
}

// extendPath extends a path that ends at the frame of a group to the fork in it, and starts a
// path that leaves a group at its join.
func (l *plan) extendPath(level int, a arrow, path []layout.Point) []layout.Point {
	if g := l.boxes[a.from].group; g != level && l.groups[g].join == a.from {
		at := l.boxAt[a.from]
		path = append([]layout.Point{{X: at.x, Y: at.bottom()}}, path...)
	}
	if g := l.boxes[a.to].group; g != level && l.groups[g].fork == a.to {
		at := l.boxAt[a.to]
		last := path[len(path)-1]
		end := layout.Point{X: last.X, Y: at.top()}
		if last.X < at.x-at.w/2+6 || last.X > at.x+at.w/2-6 {
			end.X = at.x
		}
		path = append(path, end)
	}
	return path
}
