package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Shape is a structured workflow as a tree: easy to make at random, easy to evaluate by hand ([Twin]), and easy to compile to a graph.
type Shape struct {
	Kind  string // agent, seq, if, par, loop
	ID    string
	Parts []*Shape
	Max   int // loop: how often the body may run
}

// DrawShape makes a random shape of at most that depth.
func DrawShape(t *rapid.T, depth int) *Shape {
	n := 0
	return drawShape(t, depth, &n)
}

func drawShape(t *rapid.T, depth int, n *int) *Shape {
	kinds := []string{"agent", "seq", "if", "par", "loop"}
	if depth <= 0 || *n > 40 {
		kinds = kinds[:1]
	}
	*n++
	s := &Shape{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), ID: fmt.Sprintf("n%d", *n)}
	parts := 0
	switch s.Kind {
	case "seq", "par":
		parts = rapid.IntRange(1, 3).Draw(t, "parts")
	case "if":
		parts = 2
	case "loop":
		parts = 1
		s.Max = rapid.IntRange(1, 4).Draw(t, "max")
	}
	for range parts {
		s.Parts = append(s.Parts, drawShape(t, depth-1, n))
	}
	return s
}

// ReplyTo is what every agent answers: a text that depends on who asks and on the prompt alone, with "yes" in about half of them.
func ReplyTo(node, prompt string) string {
	sum := sha256.Sum256([]byte(node + "\x00" + prompt))
	word := "no"
	if sum[0]%2 == 0 {
		word = "yes"
	}
	return fmt.Sprintf("%s says %s %s", node, word, hex.EncodeToString(sum[1:4]))
}

// Twin evaluates a shape the slow, obvious way: no tokens, no events, no order. failed tells that a loop ran too often.
func Twin(s *Shape, input engine.Value) (output engine.Value, calls int, failed bool) {
	switch s.Kind {
	case "agent":
		return expr.Quote(ReplyTo(s.ID, expr.Text(input))), 1, false
	case "seq":
		for _, p := range s.Parts {
			out, n, bad := Twin(p, input)
			calls += n
			if bad {
				return nil, calls, true
			}
			input = out
		}
		return input, calls, false
	case "if":
		if strings.Contains(strings.ToLower(expr.Text(input)), "yes") {
			return Twin(s.Parts[0], input)
		}
		return Twin(s.Parts[1], input)
	case "par":
		fields := []string{}
		for i, p := range s.Parts {
			out, n, bad := Twin(p, input)
			calls += n
			failed = failed || bad
			fields = append(fields, fmt.Sprintf("%q:%s", fmt.Sprintf("b%d", i), out))
		}
		return engine.Value("{" + strings.Join(fields, ",") + "}"), calls, failed
	case "loop":
		for i := 0; ; i++ {
			if i == s.Max {
				return nil, calls, true
			}
			out, n, bad := Twin(s.Parts[0], input)
			calls += n
			if bad {
				return nil, calls, true
			}
			input = out
			if strings.Contains(strings.ToLower(expr.Text(input)), "yes") {
				return input, calls, false
			}
		}
	}
	panic("unknown kind " + s.Kind)
}

// Compile makes the graph of a shape, its nodes named like the parts.
func (s *Shape) Compile() *workflow.Workflow {
	w := &workflow.Workflow{Name: "shape"}
	c := &compiler{w: w}
	entry, _ := c.part(s, "")
	w.Entry = entry
	return w
}

type compiler struct{ w *workflow.Workflow }

// end is a port that is still to be connected.
type end struct{ node, port string }

func (c *compiler) connect(ends []end, to string, loop bool) {
	for _, e := range ends {
		c.w.Edges = append(c.w.Edges, workflow.Edge{From: e.node, Port: e.port, To: to, Loop: loop})
	}
}

var yes = workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "yes"}

// part adds a shape and gives its first node and its open ends.
func (c *compiler) part(s *Shape, parent string) (string, []end) {
	switch s.Kind {
	case "agent":
		c.w.Agents = append(c.w.Agents, workflow.Agent{ID: s.ID})
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindAgent, Parent: parent, Agent: &workflow.AgentNode{Agent: s.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		return s.ID, []end{{s.ID, workflow.PortOut}}
	case "seq":
		first, ends := c.part(s.Parts[0], parent)
		for _, p := range s.Parts[1:] {
			next, more := c.part(p, parent)
			c.connect(ends, next, false)
			ends = more
		}
		return first, ends
	case "if":
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindDecide, Parent: parent, Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "true", When: yes}}, Else: "false"}})
		var ends []end
		for i, port := range []string{"true", "false"} {
			first, more := c.part(s.Parts[i], parent)
			c.connect([]end{{s.ID, port}}, first, false)
			ends = append(ends, more...)
		}
		return s.ID, ends
	case "par":
		join := s.ID + "/join"
		f := &workflow.Fork{Join: join, Shape: workflow.ShapeMap}
		i := c.add(workflow.Node{ID: s.ID, Kind: workflow.KindFork, Parent: parent, Fork: f})
		c.add(workflow.Node{ID: join, Kind: workflow.KindJoin, Parent: parent, Hidden: true, Join: &workflow.Join{Fork: s.ID}})
		for k, p := range s.Parts {
			id := fmt.Sprintf("b%d", k)
			c.w.Nodes[i].Fork.Branches = append(c.w.Nodes[i].Fork.Branches, workflow.Branch{ID: id})
			first, ends := c.part(p, s.ID)
			c.connect([]end{{s.ID, id}}, first, false)
			c.connect(ends, join, false)
		}
		return s.ID, []end{{join, workflow.PortOut}}
	default: // loop: a header that passes on, the body, a question, and a counted way back to the header
		head, check := s.ID+"-head", s.ID+"-check"
		pass := &workflow.Decide{Cases: []workflow.Case{{Port: "out", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "s"}}}, Else: "out"}
		c.add(workflow.Node{ID: head, Kind: workflow.KindDecide, Parent: parent, Decide: pass})
		first, ends := c.part(s.Parts[0], parent)
		c.connect([]end{{head, "out"}}, first, false)
		c.add(workflow.Node{ID: check, Kind: workflow.KindDecide, Parent: parent, Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "done", When: yes}}, Else: "again"}})
		c.connect(ends, check, false)
		c.connect([]end{{check, "again"}}, head, true)
		c.w.Limits.MaxLoopIterations = max(c.w.Limits.MaxLoopIterations, s.Max)
		return head, []end{{check, "done"}}
	}
}

func (c *compiler) add(n workflow.Node) int {
	c.w.Nodes = append(c.w.Nodes, n)
	return len(c.w.Nodes) - 1
}

// SetLoops gives every loop of a shape the same bound, as workflows have one for all.
func (s *Shape) SetLoops(n int) {
	if s.Kind == "loop" {
		s.Max = n
	}
	for _, p := range s.Parts {
		p.SetLoops(n)
	}
}

// String shows the shape for failures.
func (s *Shape) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
