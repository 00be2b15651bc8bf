package show

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/workflow"
)

// TestRandomDrawings checks that the drawing of any workflow has every box and line once, with
// unique IDs, inside the named frame and inside the picture, and is the same each time.
func TestRandomDrawings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := randomWorkflow(rt, 0)
		d, err := Draw(w)
		if err != nil {
			rt.Fatal(err)
		}
		p := newPicture(w)
		if len(d.Boxes) != len(p.boxes)+len(p.groups) || len(d.Lines) != len(p.arrows) {
			rt.Fatalf("%d boxes and %d lines of %d boxes, %d groups and %d arrows", len(d.Boxes), len(d.Lines),
				len(p.boxes), len(p.groups), len(p.arrows))
		}
		boxes := map[string]Box{}
		first := map[string]bool{}
		for _, b := range d.Boxes {
			if _, ok := boxes[b.ID]; ok || b.ID == "" {
				rt.Fatalf("two boxes have the id %q", b.ID)
			}
			boxes[b.ID] = b
			around := Box{Width: d.Width, Height: d.Height}
			if b.Parent != "" {
				around = boxes[b.Parent]
				if around.Kind != KindFrame {
					rt.Fatalf("%q is in %q, which is no frame before it", b.ID, b.Parent)
				}
			}
			const slack = 0.2 // for rounding
			if b.X < around.X-slack || b.Y < around.Y-slack || b.X+b.Width > around.X+around.Width+slack ||
				b.Y+b.Height > around.Y+around.Height+slack {
				rt.Fatalf("%+v is not in %+v", b, around)
			}
			if b.Flow == "" && b.Kind != KindFrame && b.Kind != KindSubagent {
				if b.ID != b.Node || first[b.Node] {
					rt.Fatalf("node %q has the id %q", b.Node, b.ID)
				}
				first[b.Node] = true
			}
		}
		lines := map[string]bool{}
		for _, l := range d.Lines {
			_, from := boxes[l.From]
			_, to := boxes[l.To]
			if !from || !to || lines[l.ID] || len(l.Points) < 2 || (l.Kind == LineRun) != (l.Index >= 0) {
				rt.Fatalf("%+v", l)
			}
			lines[l.ID] = true
		}
		again, err := Draw(w)
		if err != nil || len(again.Boxes) != len(d.Boxes) {
			rt.Fatal(err)
		}
		for i := range d.Boxes {
			if again.Boxes[i] != d.Boxes[i] {
				rt.Fatalf("%+v, then %+v", d.Boxes[i], again.Boxes[i])
			}
		}
	})
}

// TestDrawWide checks that drawings of layers full of edges, the worst case for ordering layers,
// contain all of them.
func TestDrawWide(t *testing.T) {
	t.Parallel()
	for _, wide := range []int{20, 44, 63, 100, 200, 500, 1000} {
		w := &workflow.Workflow{Entry: "n0"}
		for i := range maxBoxes {
			w.Nodes = append(w.Nodes, bare(fmt.Sprint("n", i), workflow.KindStart))
			for k := range 4 {
				if to := (i/wide+1)*wide + (i*7+k*13)%wide; to < maxBoxes {
					w.Edges = append(w.Edges, ways(fmt.Sprint("n", i), "", fmt.Sprint("n", to))...)
				}
			}
		}
		if d, err := Draw(w); err != nil || len(d.Boxes) != maxBoxes || len(d.Lines) != len(w.Edges) {
			t.Errorf("%d in a layer: %v", wide, err)
		}
	}
}
