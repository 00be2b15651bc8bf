package canvas

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
)

// Position is the position of a box in points; y grows downwards.
type Position struct{ X, Y float64 }

// Place writes positions of nodes, by id, into the text of a canvas document: into `x` and `y` if a
// node has them, else into its `position` if it has that, else as keys next to its id. All other
// bytes are unchanged. Nodes that it cannot find, or whose position in the text is unclear, stay as
// they are; if the edited text would be read differently, Place returns the text unchanged.
func Place(text []byte, at map[string]Position) []byte {
	root, problems := source.Parse("", text)
	if root == nil || problems.HasErrors() || len(at) == 0 {
		return text
	}
	list := root.Get("nodes")
	if list == nil {
		return text
	}
	p := &placer{text: text}
	for _, n := range list.Items {
		if to, ok := at[idOf(n)]; ok {
			p.node(n, to)
		}
	}
	out := p.apply()
	again, problems := source.Parse("", out)
	if again == nil || problems.HasErrors() || !sameExceptPositions(root, again) {
		return text
	}
	return out
}

func idOf(n *source.Node) string {
	if id := n.Get("id"); id != nil && id.IsScalar() {
		return id.Text
	}
	return ""
}

// placer collects edits of a text.
type placer struct {
	text  []byte
	edits []edit
}

// edit replaces the bytes from start to end with new.
type edit struct {
	start, end int
	new        string
}

func (p *placer) node(n *source.Node, to Position) {
	holder := n
	if position := n.Get("position"); position != nil && position.Kind == source.Map && n.Get("x") == nil &&
		n.Get("y") == nil {
		holder = position
	}
	for _, k := range []struct {
		key   string
		value float64
	}{{"x", to.X}, {"y", to.Y}} {
		value := strconv.FormatFloat(k.value, 'f', -1, 64)
		switch v := holder.Get(k.key); {
		case v == nil:
			p.insert(holder, k.key, value)
		case v.IsScalar() && v.Span.End.IsKnown():
			p.edits = append(p.edits, edit{v.Span.Start.Offset, v.Span.End.Offset, value})
		}
	}
}

// insert adds a key to a map, after the id of a node or else before its first key.
func (p *placer) insert(m *source.Node, key, value string) {
	first := m.Entry("id")
	if first == nil && len(m.Entries) > 0 {
		first = &m.Entries[0]
	}
	start := m.Span.Start.Offset
	braced := start < len(p.text) && p.text[start] == '{'
	quoted := strconv.Quote(key)
	switch {
	case first == nil && braced: // an empty map in braces
		if k := len(p.edits); k > 0 && p.edits[k-1].start == start+1 {
			p.edits[k-1].new += ", " + quoted + ": " + value
			return
		}
		p.edits = append(p.edits, edit{start + 1, start + 1, quoted + ": " + value})
	case first == nil || !first.Value.Span.End.IsKnown():
	case braced:
		at := first.KeySpan.Start.Offset
		if first.Key == "id" {
			at = first.Value.Span.End.Offset
			p.edits = append(p.edits, edit{at, at, ", " + quoted + ": " + value})
			return
		}
		p.edits = append(p.edits, edit{at, at, quoted + ": " + value + ", "})
	default: // keys on lines of their own
		at := first.KeySpan.Start.Offset
		line := at - (first.KeySpan.Start.Column - 1)
		if line < 0 || strings.Trim(string(p.text[line:at]), " -") != "" {
			return
		}
		p.edits = append(p.edits,
			edit{at, at, key + ": " + value + "\n" + strings.Repeat(" ", first.KeySpan.Start.Column-1)})
	}
}

// apply returns the text with all edits. Ranges claimed by two edits, as happens with aliases, stay
// unchanged.
func (p *placer) apply() []byte {
	slices.SortStableFunc(p.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	done := 0
	for _, e := range p.edits {
		if e.start < done {
			continue
		}
		out = append(append(out, p.text[done:e.start]...), e.new...)
		done = e.end
	}
	return append(out, p.text[done:]...)
}

// sameExceptPositions reports whether two documents are the same except for the positions of nodes.
func sameExceptPositions(a, b *source.Node) bool {
	x, y := a.Get("nodes"), b.Get("nodes")
	if y == nil || len(x.Items) != len(y.Items) {
		return false
	}
	for i := range x.Items {
		if withoutPosition(x.Items[i]) != withoutPosition(y.Items[i]) {
			return false
		}
	}
	return withoutKeys(a, "nodes") == withoutKeys(b, "nodes")
}

// withoutPosition returns the content of a node without its position.
func withoutPosition(n *source.Node) string {
	if n.Kind != source.Map {
		return string(n.JSON())
	}
	s := withoutKeys(n, "x", "y", "position")
	if position := n.Get("position"); position != nil {
		s += withoutKeys(position, "x", "y")
	}
	return s
}

// withoutKeys returns the content of a map without the given keys.
func withoutKeys(m *source.Node, but ...string) string {
	var b strings.Builder
	for _, e := range m.Entries {
		if !slices.Contains(but, e.Key) {
			b.WriteString(strconv.Quote(e.Key))
			b.Write(e.Value.JSON())
		}
	}
	return b.String()
}
