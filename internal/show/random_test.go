package show

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

func randomWorkflow(t *rapid.T, depth int) *workflow.Workflow {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "<h>"})
	w := &workflow.Workflow{Name: rapid.String().Draw(t, "name"), Entry: id.Draw(t, "entry")}
	for range rapid.IntRange(0, 9).Draw(t, "nodes") {
		n := workflow.Node{ID: id.Draw(t, "id"), Name: rapid.StringN(0, 12, -1).Draw(t, "name"),
			Parent: rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "parent")}
		switch n.Kind = rapid.SampledFrom([]workflow.Kind{workflow.KindStart, workflow.KindAgent, workflow.KindDecide,
			workflow.KindFork, workflow.KindJoin, workflow.KindEnd, "?"}).Draw(t, "kind"); n.Kind {
		case workflow.KindAgent:
			n.Agent = &workflow.AgentNode{Agent: id.Draw(t, "agent")}
		case workflow.KindDecide:
			n.Decide = &workflow.Decide{Cases: []workflow.Case{{Port: "x"}}, Else: "y"}
		case workflow.KindFork:
			n.Fork = &workflow.Fork{Join: id.Draw(t, "join"), Branches: []workflow.Branch{{ID: "x"}, {ID: "y"}}}
		case workflow.KindJoin:
			n.Hidden, n.Join = true, &workflow.Join{Fork: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "fork")}
		}
		w.Nodes = append(w.Nodes, n)
	}
	for range rapid.IntRange(0, 16).Draw(t, "edges") {
		w.Edges = append(w.Edges, workflow.Edge{
			From: id.Draw(t, "from"), To: id.Draw(t, "to"),
			Port: rapid.SampledFrom([]string{"", "x", "y", "error"}).Draw(t, "port"),
			Loop: rapid.Bool().Draw(t, "loop"), Label: rapid.StringN(0, 8, -1).Draw(t, "label"),
		})
	}
	for range rapid.IntRange(0, 5).Draw(t, "agents") {
		a := workflow.Agent{ID: id.Draw(t, "id"), Name: rapid.StringN(0, 8, -1).Draw(t, "name")}
		for range rapid.IntRange(0, 2).Draw(t, "subagents") {
			a.Subagents = append(a.Subagents, workflow.Subagent{Agent: id.Draw(t, "agent")})
		}
		w.Agents = append(w.Agents, a)
	}
	if depth < 2 && rapid.IntRange(0, 4).Draw(t, "flow") == 0 {
		w.Flows = map[string]*workflow.Workflow{"inner": randomWorkflow(t, depth+1)}
	}
	return w
}

// TestRandomWorkflows checks that any workflow, valid or not, can be drawn in each format, with the
// same result each time and every title in it as clean text, and that the SVG is XML.
func TestRandomWorkflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := randomWorkflow(rt, 0)
		tree, picture := Tree(w), newPicture(w)
		for name, draw := range map[string]func(*workflow.Workflow) string{"tree": Tree, "mermaid": Mermaid,
			"dot": DOT} {
			out := draw(w)
			if out != draw(w) {
				rt.Fatalf("%s differs the second time", name)
			}
			if strings.ContainsFunc(out, func(r rune) bool {
				return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e
			}) {
				rt.Fatalf("%s holds control characters: %q", name, out)
			}
		}
		seen := map[string]bool{}
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if !n.Hidden && !seen[n.ID] && !strings.Contains(tree, nodeTitle(n)) {
				rt.Fatalf("the tree lacks %q:\n%s", nodeTitle(n), tree)
			}
			seen[n.ID] = true
		}
		svg, err := SVG(w)
		if err != nil {
			rt.Fatal(err)
		}
		content, _ := texts(t, svg)
		all := strings.Join(content, "\n")
		for _, b := range picture.boxes {
			if !strings.Contains(all, b.title) {
				rt.Fatalf("the SVG lacks %q", b.title)
			}
		}
	})
}

// TestLargeWorkflows checks that long chains and deep nesting are drawn in time and within the
// limits, or are rejected with the proper error.
func TestLargeWorkflows(t *testing.T) {
	t.Parallel()
	const n = 5000
	chain := &workflow.Workflow{Entry: "0"}
	nest := &workflow.Workflow{Entry: "0"} // each decision has its own end
	forks := &workflow.Workflow{Entry: "0"}
	for i := range n {
		id, next := fmt.Sprint(i), fmt.Sprint(i+1)
		chain.Nodes = append(chain.Nodes, bare(id, workflow.KindStart))
		nest.Nodes = append(nest.Nodes, decide(id, "", "false", "x"), bare("end"+id, workflow.KindEnd))
		nest.Edges = append(nest.Edges, ways(id, "false", "end"+id)...)
		if i+1 < n {
			chain.Edges = append(chain.Edges, ways(id, "", next)...)
			nest.Edges = append(nest.Edges, ways(id, "condition-0", next)...)
		}
	}
	const deep = 300
	for i := range deep {
		id, next := fmt.Sprint(i), fmt.Sprint(i+1)
		f := fork(id, "", "", next)
		j := join(id)
		if i > 0 {
			f.Parent, j.Parent = fmt.Sprint(i-1), fmt.Sprint(i-1)
			forks.Edges = append(forks.Edges, ways(j.ID, "", fmt.Sprint(i-1)+"/join")...)
		}
		forks.Nodes = append(forks.Nodes, f, j)
		forks.Edges = append(forks.Edges, ways(id, next, next)...)
	}
	forks.Nodes = append(forks.Nodes, in(fmt.Sprint(deep-1), bare(fmt.Sprint(deep), workflow.KindEnd)))
	for name, w := range map[string]*workflow.Workflow{"chain": chain, "nest": nest, "forks": forks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, draw := range map[string]func(*workflow.Workflow) string{"tree": Tree, "mermaid": Mermaid,
				"dot": DOT} {
				if out := draw(w); len(out) > 4<<20 || strings.Count(out, "\n") < len(w.Nodes)/2 {
					t.Errorf("%s: %d bytes in %d lines for %d nodes", kind, len(out), strings.Count(out, "\n"),
						len(w.Nodes))
				}
			}
			_, err := SVG(w)
			if large := len(w.Nodes) > maxBoxes; large != errors.Is(err, ErrTooLarge) || !large && err != nil {
				t.Errorf("SVG of %d nodes: %v", len(w.Nodes), err)
			}
		})
	}
}
