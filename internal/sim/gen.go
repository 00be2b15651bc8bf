package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// Generate returns a random workflow: agents with and without tools and retries, tool nodes,
// functions, blocks of branches, fan-outs with a free join, maps, loops, decisions, approvals,
// agent fallbacks, nested three deep. With the behaviour of [Behave] it always completes, and its
// outcome depends only on the seed: no branch races another.
func Generate(seed uint64) *workflow.Workflow {
	g := &gen{rng: rand.New(rand.NewPCG(seed, 1)), w: &workflow.Workflow{Name: fmt.Sprintf("seed-%d", seed)}}
	start := g.node("", workflow.Node{Kind: workflow.KindStart})
	g.w.Entry = start
	ends := g.sequence([]exit{{node: start}}, "", 0, 2+g.rng.IntN(4))
	end := g.agent("", "last")
	g.join(ends, end)
	return g.w
}

type gen struct {
	rng *rand.Rand
	w   *workflow.Workflow
}

// exit is a port from which the workflow continues.
type exit struct{ node, port string }

func (g *gen) node(parent string, n workflow.Node) string {
	if n.ID == "" {
		n.ID = fmt.Sprintf("n%d", len(g.w.Nodes)+1)
	}
	n.Parent = parent
	g.w.Nodes = append(g.w.Nodes, n)
	return n.ID
}

func (g *gen) join(exits []exit, to string) {
	for _, e := range exits {
		g.w.Edges = append(g.w.Edges, workflow.Edge{From: e.node, Port: e.port, To: to})
	}
}

// agent adds an agent node. kind is part of the agent's name, which determines what Behave does:
// plain, tools, loop, last.
func (g *gen) agent(parent, kind string) string {
	id := fmt.Sprintf("n%d", len(g.w.Nodes)+1)
	a := workflow.Agent{ID: id, Name: kind + "-" + id}
	if g.rng.IntN(4) == 0 {
		a.Fallbacks, a.FallbackRetries = []string{"sim/other"}, 1+g.rng.IntN(2)
	}
	g.w.Agents = append(g.w.Agents, a)
	n := workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{
		Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate, Text: "{{PREVIOUS_OUTPUT}}"},
	}}
	n.Retry = &workflow.Retry{MaxRetries: 5,
		Delay: workflow.Duration(time.Duration(g.rng.IntN(2000)) * time.Millisecond)}
	return g.node(parent, n)
}

// sequence adds n elements one after another after from and returns the exits of the last.
func (g *gen) sequence(from []exit, parent string, depth, n int) []exit {
	for range n {
		from = g.element(from, parent, depth)
	}
	return from
}

func (g *gen) element(from []exit, parent string, depth int) []exit {
	kinds := 7
	if depth < 3 {
		kinds = 11
	}
	switch g.rng.IntN(kinds) {
	case 0:
		return g.single(from, g.agent(parent, "plain"))
	case 1:
		return g.single(from, g.agent(parent, "tools"))
	case 2:
		n := workflow.Node{Kind: workflow.KindTool,
			Tool: &workflow.ToolNode{Tool: []string{"read", "act"}[g.rng.IntN(2)]}}
		return g.single(from, g.node(parent, n))
	case 3:
		id := g.node(parent, workflow.Node{Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
			Prompt: "go on?"}})
		g.join(from, id)
		no := g.agent(parent, "plain")
		g.join([]exit{{id, workflow.PortReject}}, no)
		return []exit{{id, workflow.PortApprove}, {node: no}}
	case 4: // a loop
		head := g.agent(parent, "loop")
		g.join(from, head)
		more := g.decide(parent, "again#")
		g.join([]exit{{node: head}}, more)
		g.w.Edges = append(g.w.Edges, workflow.Edge{From: more, Port: "yes", To: head, Loop: true})
		return []exit{{more, "no"}}
	case 5: // a decision
		which := g.decide(parent, "7")
		g.join(from, which)
		yes, no := g.agent(parent, "plain"), g.agent(parent, "tools")
		g.join([]exit{{which, "yes"}}, yes)
		g.join([]exit{{which, "no"}}, no)
		return []exit{{node: yes}, {node: no}}
	case 6:
		n := workflow.Node{Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "work"}}
		n.Retry = &workflow.Retry{MaxRetries: 5,
			Delay: workflow.Duration(time.Duration(g.rng.IntN(2000)) * time.Millisecond)}
		return g.single(from, g.node(parent, n))
	case 7: // a fan-out with a free join
		src := g.agent(parent, "plain")
		g.join(from, src)
		var ends []exit
		for range 2 + g.rng.IntN(2) {
			ends = append(ends, g.single([]exit{{node: src}}, g.agent(parent, "plain"))...)
		}
		return g.single(ends, g.node(parent, workflow.Node{Kind: workflow.KindJoin, Join: &workflow.Join{}}))
	case 8:
		return g.each(from, parent, depth)
	default:
		return g.block(from, parent, depth)
	}
}

// each adds a map over its own list, which may be empty, with a sequence as its body.
func (g *gen) each(from []exit, parent string, depth int) []exit {
	id := g.node(parent, workflow.Node{Kind: workflow.KindMap, Map: &workflow.Map{}})
	at := len(g.w.Nodes) - 1
	g.join(from, id)
	items := []string{}
	for i := range g.rng.IntN(4) {
		items = append(items, fmt.Sprintf("item %d of %s, {{PREVIOUS_OUTPUT}}", i, id))
	}
	over, err := json.Marshal(items)
	if err != nil { // strings always encode
		panic(err)
	}
	first := g.agent(id, []string{"plain", "tools"}[g.rng.IntN(2)])
	g.w.Nodes[at].Map = &workflow.Map{Over: over, Entry: first, MaxConcurrency: g.rng.IntN(3)}
	g.sequence([]exit{{node: first}}, id, depth+1, g.rng.IntN(2))
	return []exit{{node: id}}
}

func (g *gen) single(from []exit, id string) []exit {
	g.join(from, id)
	return []exit{{node: id}}
}

func (g *gen) decide(parent, text string) string {
	return g.node(parent, workflow.Node{Kind: workflow.KindDecide, Decide: &workflow.Decide{
		Cases: []workflow.Case{{Port: "yes", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
			Text: text}}}, Else: "no",
	}})
}

// block adds a fork with its join. The fork node is completed last, because its branches are named
// after their first nodes.
func (g *gen) block(from []exit, parent string, depth int) []exit {
	fork := g.node(parent, workflow.Node{Kind: workflow.KindFork, Fork: &workflow.Fork{}})
	at := len(g.w.Nodes) - 1
	g.join(from, fork)
	join := fork + "/join"
	set := &workflow.Fork{Join: join, MaxConcurrency: g.rng.IntN(3)}
	var ends []exit
	for i := range 2 + g.rng.IntN(2) {
		name := fmt.Sprintf("b%d", i)
		set.Branches = append(set.Branches, workflow.Branch{ID: name})
		first := g.agent(fork, "plain")
		g.join([]exit{{fork, name}}, first)
		ends = append(ends, g.sequence([]exit{{node: first}}, fork, depth+1, g.rng.IntN(3))...)
	}
	g.w.Nodes[at].Fork = set
	g.join(ends, join)
	g.node(parent, workflow.Node{ID: join, Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: fork}})
	return []exit{{node: join}}
}
