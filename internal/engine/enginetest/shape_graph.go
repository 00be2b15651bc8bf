package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Compile returns the graph of a shape, with nodes named after the parts.
func (s *Shape) Compile() *workflow.Workflow {
	w := &workflow.Workflow{Name: "shape"}
	c := &compiler{w: w}
	entry, _ := c.part(s, "")
	w.Entry = entry
	return w
}

type compiler struct{ w *workflow.Workflow }

// end is a port that is yet to be connected.
type end struct{ node, port string }

func (c *compiler) connect(ends []end, to string, loop bool) {
	for _, e := range ends {
		c.w.Edges = append(c.w.Edges, workflow.Edge{From: e.node, Port: e.port, To: to, Loop: loop})
	}
}

var yes = workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "yes"}

// part adds a shape and returns its first node and its open ends.
func (c *compiler) part(s *Shape, parent string) (string, []end) {
	switch s.Kind {
	case "agent", "func", "tool", "set", "sleep", "signal", "helped", "handed":
		return c.leaf(s, parent), []end{{s.ID, workflow.PortOut}}
	case "seq":
		first, ends := c.part(s.Parts[0], parent)
		for _, p := range s.Parts[1:] {
			next, more := c.part(p, parent)
			c.connect(ends, next, false)
			ends = more
		}
		return first, ends
	case "if":
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindDecide, Parent: parent,
			Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "true", When: yes}}, Else: "false"}})
		return s.ID, c.addChoices(s, parent, "true", "false")
	case "ask":
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindWait, Parent: parent,
			Wait: &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "{{PREVIOUS_OUTPUT}}"}})
		return s.ID, c.addChoices(s, parent, workflow.PortApprove, workflow.PortReject)
	case "par", "late":
		return c.par(s, parent)
	case "sub":
		if c.w.Flows == nil {
			c.w.Flows = map[string]*workflow.Workflow{}
		}
		c.w.Flows[s.ID] = s.Parts[0].Compile()
		c.w.Limits.MaxLoopIterations = max(c.w.Limits.MaxLoopIterations, c.w.Flows[s.ID].Limits.MaxLoopIterations)
		n := workflow.Node{ID: s.ID, Kind: workflow.KindSubflow, Parent: parent, Subflow: &workflow.Subflow{Flow: s.ID},
			Retry: retry(s), If: s.asks(), Catch: s.catch()}
		if s.State != "" {
			c.w.Flows[s.ID].Rules, n.Subflow.Input = workflow.TypedRules(), s.ID
		}
		if s.State == StateIn {
			n.Subflow.Mapper = s.ID
		}
		c.add(n)
		return s.ID, []end{{s.ID, workflow.PortOut}}
	case "map":
		m := &workflow.Map{Over: s.list(), MaxConcurrency: s.Bound, OnItemError: s.OnFailure}
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindMap, Parent: parent, Map: m, Retry: retry(s), If: s.asks(),
			Catch: s.catch()})
		m.Entry, _ = c.part(s.Parts[0], s.ID)
		return s.ID, []end{{s.ID, workflow.PortOut}}
	case "try":
		first, ends := c.part(s.Parts[0], parent)
		rescue, more := c.part(s.Parts[1], parent)
		c.connect([]end{{first, workflow.PortError}}, rescue, false)
		return first, append(ends, more...)
	case "meet":
		join := s.ID + "/join"
		pass := &workflow.Decide{Cases: []workflow.Case{{Port: "out", When: yes}}, Else: "out"}
		c.add(workflow.Node{ID: s.ID, Kind: workflow.KindDecide, Parent: parent, Decide: pass})
		c.add(workflow.Node{ID: join, Kind: workflow.KindJoin, Parent: parent, Join: &workflow.Join{}})
		for _, p := range s.Parts {
			first, ends := c.part(p, parent)
			c.connect([]end{{s.ID, "out"}}, first, false)
			c.connect(ends, join, false)
		}
		return s.ID, []end{{join, workflow.PortOut}}
	default: // loop: a pass-through header, the body, a question, and a counted back-edge to the header
		head, check := s.ID+"-head", s.ID+"-check"
		pass := &workflow.Decide{
			Cases: []workflow.Case{{Port: "out", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
				Text: "s"}}}, Else: "out",
		}
		c.add(workflow.Node{ID: head, Kind: workflow.KindDecide, Parent: parent, Decide: pass})
		first, ends := c.part(s.Parts[0], parent)
		c.connect([]end{{head, "out"}}, first, false)
		c.add(workflow.Node{ID: check, Kind: workflow.KindDecide, Parent: parent,
			Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "done", When: yes}}, Else: "again"}})
		c.connect(ends, check, false)
		c.connect([]end{{check, "again"}}, head, true)
		c.w.Limits.MaxLoopIterations = max(c.w.Limits.MaxLoopIterations, s.Max)
		ends = []end{{check, "done"}}
		if len(s.Parts) > 1 {
			after, more := c.part(s.Parts[1], parent)
			c.connect([]end{{head, workflow.PortLimit}}, after, false)
			ends = append(ends, more...)
		}
		return head, ends
	}
}

// addChoices adds the parts of a choice after its ports.
func (c *compiler) addChoices(s *Shape, parent string, ports ...string) []end {
	var ends []end
	for i, p := range s.Parts {
		first, more := c.part(p, parent)
		c.connect([]end{{s.ID, ports[i]}}, first, false)
		ends = append(ends, more...)
	}
	return ends
}

func (c *compiler) par(s *Shape, parent string) (string, []end) {
	join := s.ID + "/join"
	f := &workflow.Fork{Join: join, Shape: workflow.ShapeMap, Until: s.Until, OnFailure: s.OnFailure, Quorum: s.Quorum,
		MaxConcurrency: s.Bound}
	c.add(workflow.Node{ID: s.ID, Kind: workflow.KindFork, Parent: parent, Fork: f, Retry: retry(s), If: s.asks(),
		Catch: s.catch()})
	c.add(workflow.Node{ID: join, Kind: workflow.KindJoin, Parent: parent, Hidden: true,
		Join: &workflow.Join{Fork: s.ID}})
	parts := s.Parts
	if s.Kind == "late" {
		c.w.Nodes[len(c.w.Nodes)-2].Timeout = workflow.Duration(time.Hour)
		parts = append(slices.Clip(parts), &Shape{Kind: "agent", ID: hangingAgent(s.ID)})
	}
	for k, p := range parts {
		id := fmt.Sprintf("b%d", k)
		f.Branches = append(f.Branches, workflow.Branch{ID: id})
		first, ends := c.part(p, s.ID)
		c.connect([]end{{s.ID, id}}, first, false)
		c.connect(ends, join, false)
	}
	return s.ID, []end{{join, workflow.PortOut}}
}

func (c *compiler) leaf(s *Shape, parent string) string {
	n := workflow.Node{ID: s.ID, Parent: parent, Retry: retry(s), If: s.asks(), Catch: s.catch()}
	switch s.Kind {
	case "set":
		n.Kind, n.Set = workflow.KindSet, &workflow.SetNode{Value: []byte(`{"was":"{{PREVIOUS_OUTPUT}}"}`)}
	case "sleep":
		n.Kind, n.Sleep = workflow.KindSleep, &workflow.SleepNode{For: "90s"}
	case "signal":
		n.Kind, n.Wait = workflow.KindWait, &workflow.Wait{
			Kind: workflow.WaitSignal, Await: signalName(s.ID), Filter: &workflow.Condition{Language: workflow.LangExpr,
				Text: "{{ $signal.node == " + string(expr.Quote(s.ID)) + " }}"},
		}
	case "func":
		n.Kind, n.Func = workflow.KindFunc, &workflow.FuncNode{Func: s.ID}
	case "tool":
		n.Kind, n.Tool = workflow.KindTool, &workflow.ToolNode{Tool: s.ID}
	default:
		n.Kind, n.Agent = workflow.KindAgent,
			&workflow.AgentNode{Agent: s.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}
		if s.Fixed {
			n.Agent.Prompt.Text = fixedPrompt
		}
		a := workflow.Agent{ID: s.ID}
		if s.Kind == "helped" {
			a.Subagents = []workflow.Subagent{{Agent: helper(s.ID), Tool: helper(s.ID)}}
			c.w.Agents = append(c.w.Agents, workflow.Agent{ID: helper(s.ID)})
		}
		if s.Kind == "handed" {
			a.Handoffs = []string{helper(s.ID)}
			c.w.Agents = append(c.w.Agents, workflow.Agent{ID: helper(s.ID)})
		}
		c.w.Agents = append(c.w.Agents, a)
	}
	c.add(n)
	return s.ID
}

// list returns the items of a map, which contain "yes" and "no" alternately.
func (s *Shape) list() event.Value {
	var items []string
	for i := range s.Items {
		items = append(items, string(expr.Quote(fmt.Sprintf("%s %d %s", s.ID, i, []string{"yes", "no"}[i%2]))))
	}
	return event.Value("[" + strings.Join(items, ",") + "]")
}

func (s *Shape) asks() *workflow.Condition {
	if !s.Asks {
		return nil
	}
	return new(yes)
}

func (s *Shape) catch() *workflow.Catch {
	switch s.Caught {
	case CaughtOn:
		return &workflow.Catch{Port: workflow.PortOut}
	case CaughtDefault:
		return &workflow.Catch{Port: workflow.PortOut, Default: expr.Quote(s.fallback())}
	}
	return nil
}

// fallback returns the default that replaces an output; half of the defaults say yes.
func (s *Shape) fallback() string { return ReplyTo(s.ID, "failed") }

func retry(s *Shape) *workflow.Retry {
	if s.Retries == 0 {
		return nil
	}
	return &workflow.Retry{MaxRetries: s.Retries, Delay: workflow.Duration(time.Second)}
}

func (c *compiler) add(n workflow.Node) int {
	c.w.Nodes = append(c.w.Nodes, n)
	return len(c.w.Nodes) - 1
}

// Find returns the part of a shape with the given id, or nil if there is none.
func (s *Shape) Find(id string) *Shape {
	if s.ID == id {
		return s
	}
	for _, p := range s.Parts {
		if found := p.Find(id); found != nil {
			return found
		}
	}
	return nil
}

// Answers makes the world answer as [Twin] does.
func (s *Shape) Answers(w *World) {
	fails := func(id string, attempt int) *event.Failure {
		if p := s.Find(id); p != nil && attempt <= p.Fails {
			return &event.Failure{Code: "server", Message: "boom"}
		}
		return nil
	}
	w.Model = func(c *engine.CallModel) *engine.ModelResult {
		id := c.Agent.ID
		if strings.HasSuffix(id, hangingAgent("")) {
			return nil
		}
		if f := fails(id, c.Attempt); f != nil {
			return &engine.ModelResult{Failure: f}
		}
		var heard strings.Builder
		for _, m := range c.Messages {
			if m.Role != chat.RoleAssistant {
				heard.WriteString(m.Text.String())
			}
		}
		if p := s.Find(id); p != nil && p.Kind == "helped" && len(c.Messages) == 1 {
			return Asks(Call("1", "search", `{}`), Call("2", helper(id), `{"input":`+string(expr.Quote(id))+`}`))
		}
		if p := s.Find(id); p != nil && p.Kind == "handed" {
			return Asks(Call("1", "search", `{}`), Call("2", workflow.HandoffTool, handoffArguments(id)))
		}
		return Reply(ReplyTo(id, heard.String()))
	}
	w.Tool = func(c *engine.CallTool) *engine.ToolResult {
		if c.Delegates {
			return &engine.ToolResult{Permitted: true}
		}
		if c.Agent != nil {
			return Returns(toolFinding(c.Agent.ID))
		}
		if f := fails(c.Tool, c.Attempt); f != nil {
			return &engine.ToolResult{Failure: f}
		}
		return Returns(ReplyTo(c.Tool, string(c.Arguments)))
	}
	w.Func = func(c *engine.CallFunc) *engine.FuncResult {
		if f := fails(c.Func, c.Attempt); f != nil {
			return &engine.FuncResult{Failure: f}
		}
		return &engine.FuncResult{Output: expr.Quote(ReplyTo(c.Func, expr.Text(c.Input)))}
	}
}

// Hold returns the result of a driver that has a person decide about a call first, or nil if the
// shape's tool sometimes fails, because the twin counts its attempts. The prompt of a question is
// the result that the tool would have returned.
func (s *Shape) Hold(w *World, c *engine.CallTool, question bool) *engine.ToolHeld {
	if p := s.Find(c.Tool); c.Approved != "" || c.Agent == nil && p != nil && p.Fails > 0 {
		return nil
	}
	kind := workflow.WaitApproval
	if question {
		kind = workflow.WaitQuestion
	}
	return &engine.ToolHeld{ID: c.ID, Hold: engine.Hold{Kind: kind, Prompt: w.Tool(c).Text, Arguments: c.Arguments,
		Binding: "of " + c.Key}}
}

// Decide answers an approval of a shape as [Twin] does: its prompt is its input.
func Decide(wait engine.WaitInfo) engine.Answer {
	switch {
	case wait.Binding != "" && wait.Kind == workflow.WaitApproval:
		return engine.Answer{Wait: wait.ID, Value: Text(workflow.PortApprove)}
	case wait.Binding != "":
		return engine.Answer{Wait: wait.ID, Value: Text(wait.Prompt)} // see Hold
	}
	node := wait.Node[strings.LastIndexByte(wait.Node, '/')+1:]
	if wait.Kind == workflow.WaitSignal {
		return Signal(node)
	}
	decision := workflow.PortReject
	if saysYes(expr.Quote(ReplyTo(node, wait.Prompt))) {
		decision = workflow.PortApprove
	}
	return engine.Answer{Wait: wait.ID, Value: Text(decision)}
}

// Signal returns the signal for a part of the kind signal.
func Signal(id string) engine.Answer {
	return engine.Answer{Signal: signalName(id), Value: signalled(id)}
}

// Signals returns the ids of the parts of the kind signal.
func (s *Shape) Signals() []string {
	var out []string
	if s.Kind == "signal" {
		out = append(out, s.ID)
	}
	for _, p := range s.Parts {
		out = append(out, p.Signals()...)
	}
	return out
}

// signalName returns one of three names, so that several parts wait for the same one.
func signalName(id string) string { return fmt.Sprintf("s%d", id[len(id)-1]%3) }

// signalled returns the value of the signal for a part, which is also its output.
func signalled(id string) event.Value {
	return event.Value(`{"node":` + string(expr.Quote(id)) + `,"says":` + string(expr.Quote(ReplyTo(id, "signal"))) +
		`}`)
}
