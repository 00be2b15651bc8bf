package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Version is the behaviour version that new runs record. A change in what a journal means gets a new number and keeps the old behaviour.
const Version = 1

// Plan is a workflow made ready to run: names resolved, templates, conditions and schemas parsed. It never changes and is safe for
// concurrent use by any number of runs.
type Plan struct {
	root   *flow
	digest string
	out    []string // PortOut alone
	host   Host
}

// Workflow gives the definition that the plan was made of.
func (p *Plan) Workflow() *workflow.Workflow { return p.root.w }

// Digest gives the definition's digest.
func (p *Plan) Digest() string { return p.digest }

// flow is one workflow of a plan: the root or a sub-flow.
type flow struct {
	w      *workflow.Workflow
	nodes  []node
	index  map[string]int
	agents map[string]*agent
	flows  map[string]*flow
	guards []*expr.Condition // beside Workflow.Edges; nil where the language needs none
	// joins are the free joins, in declared order; reach[i] tells which nodes can be reached from node i by edges. Nil without free joins.
	joins []int
	reach []bitset
	funcs int // nodes that are Go functions
}

type node struct {
	*workflow.Node
	idx   int
	ports map[string][]int // edges by port, in declared order
	in    int              // number of inbound edges
	join  int              // of a fork: the index of its join
	fork  int              // of a fork's join: the index of the fork; else -1
	// header: a counted back-edge leads here.
	header bool
	conds  []*expr.Condition // beside Decide.Cases; nil where the language needs none
	// casePorts are the ports of Decide.Cases, each as a list; elsePort that of Decide.Else.
	casePorts [][]string
	elsePort  []string
	// children of a fork are the nodes of its branches that have outputs, in declared order.
	children []int
	args     any // of a tool node: see compileArgs
	// counter is there where the function only counts.
	counter *Counter
}

type agent struct {
	*workflow.Agent
	system *expr.Template
	output *schema.Schema
	subs   map[string]*workflow.Subagent
}

// Compile makes a plan. The workflow must be valid ([workflow.Validate]); what Compile itself finds wrong, such as a template that cannot be
// parsed or a Go function that host does not have, is an error. host may be nil for workflows without Go functions.
func Compile(w *workflow.Workflow, host Host) (*Plan, error) {
	digest, err := w.Digest()
	if err != nil {
		return nil, err
	}
	root, err := compileFlow(w, 0)
	if err != nil {
		return nil, err
	}
	if c, ok := host.(Counting); ok {
		root.findCounters(c)
	}
	return &Plan{root: root, digest: digest, host: host, out: []string{workflow.PortOut}}, nil
}

func compileFlow(w *workflow.Workflow, depth int) (*flow, error) {
	if depth > workflow.MaxFlowDepth {
		return nil, fmt.Errorf("compile workflow %q: sub-flows are nested more than %d deep", w.Name, workflow.MaxFlowDepth)
	}
	f := &flow{w: w, nodes: make([]node, len(w.Nodes)), index: make(map[string]int, len(w.Nodes)), agents: make(map[string]*agent, len(w.Agents))}
	for i := range w.Nodes {
		f.nodes[i] = node{Node: &w.Nodes[i], idx: i, join: -1, fork: -1, ports: map[string][]int{}}
		f.index[w.Nodes[i].ID] = i
		if w.Nodes[i].Kind == workflow.KindFunc {
			f.funcs++
		}
	}
	if _, ok := f.index[w.Entry]; !ok && (depth > 0 || len(w.Nodes) > 0 || w.Entry != "") {
		return nil, fmt.Errorf("compile workflow %q: entry %q is not a node", w.Name, w.Entry)
	}
	for i, e := range w.Edges {
		from, ok := f.index[e.From]
		to, ok2 := f.index[e.To]
		if !ok || !ok2 {
			return nil, fmt.Errorf("compile workflow %q: edge %d from %q to %q names an unknown node", w.Name, i, e.From, e.To)
		}
		f.nodes[from].ports[e.PortName()] = append(f.nodes[from].ports[e.PortName()], i)
		f.nodes[to].in++
		if e.Loop {
			f.nodes[to].header = true
		}
	}
	var inner []expr.Step
	opts := expr.Options{Steps: f.stepTree("", f.outputsByParent(), &inner)}
	opts.Steps = append(opts.Steps, inner...)
	f.guards = make([]*expr.Condition, len(w.Edges))
	for i, e := range w.Edges {
		if e.When == nil {
			continue
		}
		var err error
		if f.guards[i], err = compileCondition(e.When, opts); err != nil {
			return nil, fmt.Errorf("compile edge %d from %q to %q: %w", i, e.From, e.To, err)
		}
	}
	for i := range w.Agents {
		a, err := compileAgent(&w.Agents[i], opts)
		if err != nil {
			return nil, err
		}
		f.agents[a.ID] = a
	}
	for i := range f.nodes {
		if err := f.compileNode(&f.nodes[i], opts); err != nil {
			return nil, fmt.Errorf("compile node %q: %w", f.nodes[i].ID, err)
		}
	}
	for name, sub := range w.Flows {
		c, err := compileFlow(sub, depth+1)
		if err != nil {
			return nil, err
		}
		if f.flows == nil {
			f.flows = map[string]*flow{}
		}
		f.flows[name] = c
	}
	if len(f.joins) > 0 {
		f.reach = reachability(f)
	}
	return f, nil
}

func (f *flow) compileNode(n *node, opts expr.Options) error {
	switch n.Kind {
	case workflow.KindAgent:
		if n.Agent == nil || f.agents[n.Agent.Agent] == nil {
			return errors.New("no agent")
		}
	case workflow.KindDecide:
		for _, c := range n.Decide.Cases {
			cond, err := compileCondition(&c.When, opts)
			if err != nil {
				return err
			}
			n.conds = append(n.conds, cond)
			n.casePorts = append(n.casePorts, []string{c.Port})
		}
		n.elsePort = []string{n.Decide.Else}
	case workflow.KindFork:
		join, ok := f.index[n.Fork.Join]
		if !ok || f.nodes[join].Kind != workflow.KindJoin {
			return fmt.Errorf("join %q is not a join node", n.Fork.Join)
		}
		n.join = join
		f.nodes[join].fork = n.idx
	case workflow.KindJoin:
		if n.Join == nil || n.Join.Fork == "" {
			f.joins = append(f.joins, n.idx)
		}
	case workflow.KindTool:
		if len(n.Tool.Args) > 0 {
			args, err := compileArgs(n.Tool.Args, opts)
			if err != nil {
				return err
			}
			n.args = args
		}
	case workflow.KindSubflow:
		if f.w.Flows[n.Subflow.Flow] == nil {
			return fmt.Errorf("workflow not found: %s", n.Subflow.Flow)
		}
	}
	return nil
}

// outputsByParent gives the nodes that have outputs, by the fork in whose branches they stand, in declared order.
func (f *flow) outputsByParent() map[string][]int {
	out := map[string][]int{}
	for i := range f.nodes {
		if n := &f.nodes[i]; hasOutput(n.Kind) {
			out[n.Parent] = append(out[n.Parent], i)
		}
	}
	return out
}

// stepTree gives the steps that templates and conditions may name: all nodes with outputs, forks with those of their branches. What stands in
// branches is added to inner under its node's id, as texts of the same branch name it. A node has one parent, so the tree is finite: what is its own
// parent, by whatever way, is not reached from the outermost list.
func (f *flow) stepTree(parent string, nodes map[string][]int, inner *[]expr.Step) []expr.Step {
	steps := []expr.Step{}
	for _, i := range nodes[parent] {
		n := &f.nodes[i]
		s := expr.Step{ID: n.ID}
		if n.Kind == workflow.KindFork {
			s.Children = f.stepTree(n.ID, nodes, inner)
			n.children = nodes[n.ID]
		}
		if parent != "" {
			*inner = append(*inner, s)
			s.ID = localID(n.ID)
		}
		steps = append(steps, s)
	}
	return steps
}

// hasOutput tells whether steps of kind k stand in the step context (S4-34).
func hasOutput(k workflow.Kind) bool {
	switch k {
	case workflow.KindStart, workflow.KindDecide, workflow.KindJoin, workflow.KindEnd:
		return false
	}
	return true
}

// localID is the id as the document writes it: the part after the last slash.
func localID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func compileCondition(c *workflow.Condition, opts expr.Options) (*expr.Condition, error) {
	if c.Language != workflow.LangExpr {
		return nil, nil
	}
	cond, problems := expr.ParseCondition(c.Text, opts)
	if p := expr.Refusal(problems); p != nil {
		return nil, fmt.Errorf("condition: %s", p.Message)
	}
	return cond, nil
}

func compileAgent(a *workflow.Agent, opts expr.Options) (*agent, error) {
	c := &agent{Agent: a, subs: make(map[string]*workflow.Subagent, len(a.Subagents))}
	for i := range a.Subagents {
		c.subs[a.Subagents[i].Tool] = &a.Subagents[i]
	}
	if a.Template {
		t, problems := expr.ParseTemplate(a.System, opts)
		if p := expr.Refusal(problems); p != nil {
			return nil, fmt.Errorf("compile agent %q: instruction: %s", a.ID, p.Message)
		}
		if len(t.Refs()) > 0 {
			c.system = t
		}
	}
	if a.Output != nil {
		s, err := schema.Compile(a.Output.Schema)
		if err != nil {
			return nil, fmt.Errorf("compile agent %q: output schema: %w", a.ID, err)
		}
		c.output = s
	}
	return c, nil
}

// bitset is a set of node indexes.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }

// union adds c to b and tells whether b grew.
func (b bitset) union(c bitset) bool {
	grew := false
	for i, w := range c {
		if b[i]|w != b[i] {
			b[i] |= w
			grew = true
		}
	}
	return grew
}

// reachability gives, for each node, the nodes that edges lead to from it in one step or more. A fork reaches what its join reaches. Counted back-edges
// do not count: what goes along one belongs to the next iteration, for which no join of this one may wait (P15).
func reachability(f *flow) []bitset {
	words := (len(f.nodes) + 63) / 64
	reach := make([]bitset, len(f.nodes))
	for i := range reach {
		reach[i] = make(bitset, words)
	}
	for _, e := range f.w.Edges {
		if !e.Loop {
			reach[f.index[e.From]].add(f.index[e.To])
		}
	}
	for i := range f.nodes {
		if j := f.nodes[i].join; j >= 0 {
			reach[i].add(j)
		}
	}
	for grew := true; grew; {
		grew = false
		for i := range reach {
			for j := range f.nodes {
				if reach[i].has(j) && reach[i].union(reach[j]) {
					grew = true
				}
			}
		}
	}
	return reach
}

// toolDefs are the tools that the engine itself answers for agent a.
func (f *flow) toolDefs(a *agent) []chat.ToolDef {
	defs := make([]chat.ToolDef, 0, len(a.Subagents))
	for _, s := range a.Subagents {
		desc := s.Description
		if desc == "" {
			if sub := f.agents[s.Agent]; sub != nil {
				desc = sub.Description
			}
		}
		defs = append(defs, chat.ToolDef{Name: s.Tool, Description: desc, Parameters: subagentParams})
	}
	return slices.Clip(defs)
}

var subagentParams = json.RawMessage(`{"type":"object","properties":{"input":{"type":"string","description":"The task for this agent, with everything it needs to know."}},"required":["input"],"additionalProperties":false}`)
