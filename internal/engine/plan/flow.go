package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Flow is one compiled workflow: that of a run or a sub-flow.
type Flow struct {
	Workflow *workflow.Workflow
	// Nodes are the nodes of the workflow, in declared order; Index is the index of each by its id.
	Nodes  []Node
	Index  map[string]int
	Agents map[string]*Agent
	// Flows are the sub-flows by name; nil if there are none.
	Flows map[string]*Flow
	// Guards are the conditions of the workflow's edges, at the same indexes; an entry is nil if
	// the language of the condition needs no compilation.
	Guards []*expr.Condition
	// Joins are the free joins, in declared order. Reach[i] is the set of nodes that can be reached
	// from node i by edges; Reach is nil without free joins.
	Joins []int
	Reach []Set
	Funcs int  // number of nodes that are Go functions
	Loops bool // there are loops that are counted
	// Notes reports whether a text of the workflow or of a sub-flow may contain ApprovalNote. It is
	// set for the workflow of the run.
	Notes bool
	// Output is Workflow.Output, OutputSchema the schema that the output of a run must match; nil
	// means none.
	Output       *expr.Value
	OutputSchema *schema.Schema
}

// Node is a node of a [Flow].
type Node struct {
	*workflow.Node
	// Index is the node's index in Flow.Nodes.
	Index int
	// Ports are the indexes of the outgoing edges by port, in declared order; Inbound is the number
	// of edges that lead to the node.
	Ports   map[string][]int
	Inbound int
	// JoinIndex is the index of a fork's join, ForkIndex that of a join's fork; -1 if there is
	// none.
	JoinIndex, ForkIndex int
	// Header reports whether a counted back-edge leads to this node.
	Header bool
	// Conditions are the conditions of Decide.Cases, at the same indexes; an entry is nil if the
	// language of the condition needs no compilation.
	Conditions []*expr.Condition
	// CasePorts are the ports of Decide.Cases, each as a list of one; ElsePort is the port of
	// Decide.Else.
	CasePorts [][]string
	ElsePort  []string
	// Children of a fork are the indexes of the nodes in its branches that have outputs, in
	// declared order.
	Children []int
	// If is Node.If; nil if there is none or its language needs no compilation.
	If *expr.Condition
	// Value is what the node produces: the arguments of a tool node, the value of a set node, the
	// list of a map, the output of an end node, the default answer of a question. Default is
	// Catch.Default. Each is nil if there is none.
	Value, Default *expr.Value
	// Text is the prompt of an agent or a wait if it has expressions, or the message of an end
	// node; nil if there is none.
	Text *expr.Interpolation
	// Filter is Wait.Filter, compiled like If; Schema is the schema that the values of signals must
	// match; nil if there is none.
	Filter *expr.Condition
	Schema *schema.Schema
	// Counter is set if the function only counts.
	Counter *Counter
}

// Agent is an agent of a [Flow].
type Agent struct {
	*workflow.Agent
	// SystemTemplate is the system prompt if it has references or tokens, Schema the schema of the
	// agent's output; nil if there is none.
	SystemTemplate *expr.Template
	Schema         *schema.Schema
}

// IsFreeJoin reports whether a node is a join that belongs to no fork.
func IsFreeJoin(n *Node) bool { return n.Kind == workflow.KindJoin && n.ForkIndex < 0 }

// Compile compiles a workflow. It returns an error for problems such as a template that cannot be
// parsed.
func Compile(w *workflow.Workflow, expressions expr.Compiler) (*Flow, error) {
	f, err := compileFlow(w, expressions, 0)
	if err != nil {
		return nil, err
	}
	texts, err := w.Canonical()
	f.Notes = noteName.Match(texts)
	return f, err
}

// noteName matches the name of ApprovalNote in JSON, and escapes with which it can be written there.
var noteName = regexp.MustCompile(`APPROVAL_NOTE|\\u00[45]`)

func compileFlow(w *workflow.Workflow, expressions expr.Compiler, depth int) (*Flow, error) {
	if depth > workflow.MaxFlowDepth {
		return nil, fmt.Errorf("compile workflow %q: sub-flows are nested more than %d deep", w.Name,
			workflow.MaxFlowDepth)
	}
	f := &Flow{Workflow: w, Nodes: make([]Node, len(w.Nodes)), Index: make(map[string]int, len(w.Nodes)),
		Agents: make(map[string]*Agent, len(w.Agents))}
	for i := range w.Nodes {
		f.Nodes[i] = Node{Node: &w.Nodes[i], Index: i, JoinIndex: -1, ForkIndex: -1, Ports: map[string][]int{}}
		f.Index[w.Nodes[i].ID] = i
		if w.Nodes[i].Kind == workflow.KindFunc {
			f.Funcs++
		}
	}
	if _, ok := f.Index[w.Entry]; !ok && (depth > 0 || len(w.Nodes) > 0 || w.Entry != "") {
		return nil, fmt.Errorf("compile workflow %q: entry %q is not a node", w.Name, w.Entry)
	}
	for i, e := range w.Edges {
		from, ok := f.Index[e.From]
		to, ok2 := f.Index[e.To]
		if !ok || !ok2 {
			return nil, fmt.Errorf("compile workflow %q: edge %d from %q to %q names an unknown node", w.Name, i,
				e.From, e.To)
		}
		f.Nodes[from].Ports[e.PortName()] = append(f.Nodes[from].Ports[e.PortName()], i)
		f.Nodes[to].Inbound++
		if e.Loop {
			f.Nodes[to].Header, f.Loops = true, true
		}
	}
	var inner []expr.Step
	opts := expr.Options{Steps: f.stepTree("", f.outputsByParent(), &inner), Vars: []string{expr.VarInput},
		Compiler: expressions}
	opts.Steps = append(opts.Steps, inner...)
	f.Guards = make([]*expr.Condition, len(w.Edges))
	plain := opts.Vars
	for i, e := range w.Edges {
		if e.When == nil {
			continue
		}
		opts.Vars = f.varsIn(e.From, plain)
		var err error
		if f.Guards[i], err = compileCondition(e.When, opts); err != nil {
			return nil, fmt.Errorf("compile edge %d from %q to %q: %w", i, e.From, e.To, err)
		}
	}
	opts.Vars = plain
	for i := range w.Nodes {
		if m := w.Nodes[i].Map; m != nil { // an agent may be in several maps
			opts.Vars = append(opts.Vars, m.Item(), workflow.ItemIndex(m.Item()))
		}
	}
	for i := range w.Agents {
		a, err := compileAgent(&w.Agents[i], opts)
		if err != nil {
			return nil, err
		}
		f.Agents[a.ID] = a
	}
	for i := range f.Nodes {
		opts.Vars = f.varsIn(f.Nodes[i].ID, plain)
		if err := f.compileNode(&f.Nodes[i], opts); err != nil {
			return nil, fmt.Errorf("compile node %q: %w", f.Nodes[i].ID, err)
		}
	}
	if err := f.compileOutput(opts); err != nil {
		return nil, fmt.Errorf("compile workflow %q: %w", w.Name, err)
	}
	for name, sub := range w.Flows {
		c, err := compileFlow(sub, expressions, depth+1)
		if err != nil {
			return nil, err
		}
		if f.Flows == nil {
			f.Flows = map[string]*Flow{}
		}
		f.Flows[name] = c
	}
	if len(f.Joins) > 0 {
		f.Reach = reachability(f)
	}
	return f, nil
}

// varsIn returns the variables that expressions at a node may use: plain, and the items of the maps
// around it.
func (f *Flow) varsIn(node string, plain []string) []string {
	vars := slices.Clip(plain)
	for depth := 0; depth <= workflow.MaxBlockDepth; depth++ {
		i, ok := f.Index[f.Nodes[f.Index[node]].Parent]
		if !ok {
			break
		}
		if m := f.Nodes[i].Map; m != nil {
			vars = append(vars, m.Item(), workflow.ItemIndex(m.Item()))
		}
		node = f.Nodes[i].ID
	}
	return vars
}

func (f *Flow) compileNode(n *Node, opts expr.Options) error {
	switch n.Kind {
	case workflow.KindAgent:
		if n.Agent == nil || f.Agents[n.Agent.Agent] == nil {
			return errors.New("no agent")
		}
	case workflow.KindDecide:
		for _, c := range n.Decide.Cases {
			cond, err := compileCondition(&c.When, opts)
			if err != nil {
				return err
			}
			n.Conditions = append(n.Conditions, cond)
			n.CasePorts = append(n.CasePorts, []string{c.Port})
		}
		n.ElsePort = []string{n.Decide.Else}
	case workflow.KindFork:
		join, ok := f.Index[n.Fork.Join]
		if !ok || f.Nodes[join].Kind != workflow.KindJoin {
			return fmt.Errorf("join %q is not a join node", n.Fork.Join)
		}
		n.JoinIndex = join
		f.Nodes[join].ForkIndex = n.Index
	case workflow.KindJoin:
		if n.Join == nil || n.Join.Fork == "" {
			f.Joins = append(f.Joins, n.Index)
		}
	case workflow.KindMap:
		if _, ok := f.Index[n.Map.Entry]; !ok {
			return fmt.Errorf("its body begins at %q, which is not a node", n.Map.Entry)
		}
	case workflow.KindSubflow:
		if f.Workflow.Flows[n.Subflow.Flow] == nil {
			return fmt.Errorf("workflow not found: %s", n.Subflow.Flow)
		}
	}
	return n.compileTexts(opts)
}

// outputsByParent returns the nodes that have outputs, in declared order, keyed by the fork whose
// branches contain them.
func (f *Flow) outputsByParent() map[string][]int {
	out := map[string][]int{}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; HasOutput(n.Kind) {
			out[n.Parent] = append(out[n.Parent], i)
		}
	}
	return out
}

// stepTree returns the steps that templates and conditions may refer to: all nodes with outputs,
// forks together with the nodes of their branches. Steps of branches are added to inner under their
// node's id, which is how templates and conditions in the same branch refer to them. A node has one
// parent, so the tree is finite: a cycle of parents is not reachable from the outermost list.
func (f *Flow) stepTree(parent string, nodes map[string][]int, inner *[]expr.Step) []expr.Step {
	steps := []expr.Step{}
	for _, i := range nodes[parent] {
		n := &f.Nodes[i]
		s := expr.Step{ID: n.ID}
		switch n.Kind {
		case workflow.KindFork:
			s.Children = f.stepTree(n.ID, nodes, inner)
			n.Children = nodes[n.ID]
		case workflow.KindMap:
			f.stepTree(n.ID, nodes, inner)
		}
		if parent != "" {
			*inner = append(*inner, s)
			s.ID = LocalID(n.ID)
		}
		steps = append(steps, s)
	}
	return steps
}

// HasOutput reports whether steps of kind k are in the step context (S4-34).
func HasOutput(k workflow.Kind) bool { return k.HasOutput() }

// LocalID returns the id as written in the document: the part after the last slash.
func LocalID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

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

func compileAgent(a *workflow.Agent, opts expr.Options) (*Agent, error) {
	c := &Agent{Agent: a}
	t := &expr.Template{}
	if a.Template {
		var problems []expr.Problem
		t, problems = expr.ParseTemplate(a.System, opts)
		if p := expr.Refusal(problems); p != nil {
			return nil, fmt.Errorf("compile agent %q: instruction: %s", a.ID, p.Message)
		}
	}
	switch {
	case a.Tokens && a.Template:
		t = t.WithTokens()
	case a.Tokens:
		t = expr.ParseTokens(a.System)
	}
	if len(t.Refs()) > 0 {
		c.SystemTemplate = t
	}
	if a.Output != nil {
		s, err := schema.Compile(a.Output.Schema)
		if err != nil {
			return nil, fmt.Errorf("compile agent %q: output schema: %w", a.ID, err)
		}
		c.Schema = s
	}
	return c, nil
}
