package enginetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Agent returns an agent node with an agent of the same id, whose prompt is its input.
func Agent(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
}

// Approval returns an approval node.
func Approval(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}}
}

// Question returns a node that asks for text.
func Question(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion}}
}

// In places a node into the branch of a fork.
func In(fork string, n workflow.Node) workflow.Node {
	n.Parent = fork
	return n
}

// Fork returns a fork and its join `<id>/join` with a branch for each child, named after the child.
func Fork(id string, f workflow.Fork, children ...string) []workflow.Node {
	f.Join = id + "/join"
	if f.Shape == "" {
		f.Shape = workflow.ShapeMap
	}
	for _, c := range children {
		f.Branches = append(f.Branches, workflow.Branch{ID: c})
	}
	return []workflow.Node{
		{ID: id, Kind: workflow.KindFork, Fork: &f},
		{ID: f.Join, Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: id}},
	}
}

// Graph returns a workflow of nodes and edges written `from -> to`, `from:port -> to`, or
// `from:port => to` for a counted back-edge. The first node is the entry. Every agent that a node
// names is created unless agents contains it.
func Graph(nodes []workflow.Node, edges string, agents ...workflow.Agent) *workflow.Workflow {
	w := &workflow.Workflow{Name: "test", Entry: nodes[0].ID, Nodes: nodes, Agents: agents}
	for _, n := range nodes {
		if n.Agent != nil && w.Agent(n.Agent.Agent) == nil {
			w.Agents = append(w.Agents, workflow.Agent{ID: n.Agent.Agent})
		}
	}
	for _, line := range strings.FieldsFunc(edges, func(r rune) bool { return r == '\n' || r == ';' }) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		from, to, ok := strings.Cut(line, "->")
		loop := false
		if !ok {
			if from, to, loop = strings.Cut(line, "=>"); !loop {
				panic("bad edge " + line)
			}
		}
		from, port, _ := strings.Cut(strings.TrimSpace(from), ":")
		w.Edges = append(w.Edges, workflow.Edge{From: from, Port: port, To: strings.TrimSpace(to), Loop: loop})
	}
	return w
}

// Trace summarizes events, one item each: `+a` a step of a started, `.a` it completed, `!a code` it
// failed, `xa` it was cancelled, `?a` it opened a wait, `ra` it is being retried, `~a` it was
// skipped; `(b` a sub-agent b started, `1)` the sub-agent of frame 1 ended, `1!)` it failed; `>b` a
// conversation was handed over to b; `paused a`, `resumed`, `completed`, `failed code`,
// `cancelled`.
func Trace(events []event.Event) string {
	var out []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.StepStarted:
			out = append(out, "+"+e.Node)
		case *event.StepCompleted:
			out = append(out, "."+e.Node)
		case *event.StepFailed:
			out = append(out, "!"+e.Node+" "+d.Error.Code)
		case *event.StepCancelled:
			out = append(out, "x"+e.Node)
		case *event.StepSkipped:
			out = append(out, "~"+e.Node)
		case *event.StepRetrying:
			out = append(out, "r"+e.Node)
		case *event.WaitOpened:
			out = append(out, "?"+e.Node)
		case *event.RunPaused:
			out = append(out, "paused "+e.Node)
		case *event.RunResumed:
			out = append(out, "resumed")
		case *event.RunCompleted:
			out = append(out, "completed")
		case *event.RunFailed:
			out = append(out, "failed "+d.Error.Code)
		case *event.RunCancelled:
			out = append(out, "cancelled")
		case *event.AgentHanded:
			out = append(out, ">"+d.Agent)
		case *event.SubagentStarted:
			out = append(out, "("+d.Agent)
		case *event.SubagentCompleted:
			out = append(out, fmt.Sprintf("%d)", d.Frame))
		case *event.SubagentFailed:
			out = append(out, fmt.Sprintf("%d!)", d.Frame))
		}
	}
	return strings.Join(out, ", ")
}

// Trace summarizes what happened since event number after.
func (w *World) Trace(after int) string { return Trace(w.Events[after:]) }

// Finish answers the pending command of a node and fails the test unless there is exactly one. If a
// node has several, "agent ID" names the model call of an agent and "tool NAME" the call of a tool.
func (w *World) Finish(which string, in any) {
	w.T.Helper()
	at := -1
	for i, c := range w.Pending {
		if matches(c, which) {
			if at >= 0 {
				w.T.Fatalf("several commands of %s are pending\n%s", which, w.Log())
			}
			at = i
		}
	}
	if at < 0 {
		w.T.Fatalf("no command of %s is pending\n%s", which, w.Log())
	}
	w.FinishAt(at, in)
}

// FinishAt answers the pending command number i.
func (w *World) FinishAt(i int, in any) {
	w.T.Helper()
	c := w.Pending[i]
	w.Pending = append(w.Pending[:i:i], w.Pending[i+1:]...)
	w.Feed(w.result(engine.CallID(c), in))
}

// result builds the result of the command id from a test's description.
func (w *World) result(id string, in any) engine.InputData {
	w.T.Helper()
	switch x := in.(type) {
	case *engine.ModelResult:
		r := *x
		r.ID = id
		return r
	case *engine.ToolResult:
		r := *x
		r.ID = id
		return r
	case *engine.ToolHeld:
		r := *x
		r.ID = id
		return r
	case *engine.FuncResult:
		r := *x
		r.ID = id
		return r
	}
	w.T.Fatalf("result is %T", in)
	return nil
}

func matches(c engine.Command, which string) bool {
	kind, name, _ := strings.Cut(which, " ")
	switch c := c.(type) {
	case *engine.CallModel:
		if kind == "agent" {
			return c.Agent.ID == name
		}
	case *engine.CallTool:
		if kind == "tool" {
			return c.Tool == name
		}
	}
	return Node(c) == which
}

// Asked returns the pending model call of an agent or node.
func (w *World) Asked(which string) *engine.CallModel {
	w.T.Helper()
	for _, c := range w.Pending {
		if m, ok := c.(*engine.CallModel); ok && matches(c, which) {
			return m
		}
	}
	w.T.Fatalf("no model call of %s is pending\n%s", which, w.Log())
	return nil
}

// Asks returns a model result that requests tool calls, which may be in flight together.
func Asks(calls ...chat.ToolCall) *engine.ModelResult {
	r := AsksInOrder(calls...)
	for i := range calls {
		r.Concurrent = append(r.Concurrent, i)
	}
	return r
}

// AsksInOrder returns a model result that requests tool calls, each of which is made alone.
func AsksInOrder(calls ...chat.ToolCall) *engine.ModelResult {
	r := Reply("")
	r.Message.ToolCalls = calls
	return r
}

// Call is a model's request to call a tool; args is used verbatim.
func Call(id, name, args string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: name, Arguments: event.Value(args)}
}

// Held returns the result of a driver that found that a person must approve a call first.
func Held(binding, args string) *engine.ToolHeld {
	return &engine.ToolHeld{Hold: engine.Hold{Kind: workflow.WaitApproval, Prompt: "Allow it?",
		Arguments: event.Value(args), Binding: binding}}
}

// AsksPerson returns the result of a driver whose tool asks a person for its result.
func AsksPerson(prompt, schema string) *engine.ToolHeld {
	return &engine.ToolHeld{Hold: engine.Hold{Kind: workflow.WaitQuestion, Prompt: prompt, Schema: event.Value(schema),
		Arguments: event.Value(`{}`), Binding: "asked"}}
}

// Returns returns a tool result.
func Returns(text string) *engine.ToolResult { return &engine.ToolResult{Text: text} }

// Conv formats messages briefly, one per line: `user: text`, `assistant: text [name(args) id]`,
// `tool id: text`, `tool! id: text` for failures.
func Conv(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Role))
		if m.IsError {
			b.WriteString("!")
		}
		if m.ToolCallID != "" {
			b.WriteString(" " + m.ToolCallID)
		}
		b.WriteString(": " + m.Text.String())
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " [%s(%s) %s]", c.Name, c.Arguments, c.ID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Node returns the node of a command.
func Node(c engine.Command) string {
	switch c := c.(type) {
	case *engine.CallModel:
		return c.Node
	case *engine.CallTool:
		return c.Node
	case *engine.CallFunc:
		return c.Node
	}
	return ""
}

// PendingNodes lists the nodes with a pending command, in order.
func (w *World) PendingNodes() string {
	var out []string
	for _, c := range w.Pending {
		if !w.Cancelled[engine.CallID(c)] {
			out = append(out, Node(c))
		}
	}
	return strings.Join(out, " ")
}

// Approve answers the wait of a node with approve.
func (w *World) Approve(node string) { w.T.Helper(); w.decide(node, workflow.PortApprove) }

// Reject answers the wait of a node with reject.
func (w *World) Reject(node string) { w.T.Helper(); w.decide(node, workflow.PortReject) }

func (w *World) decide(node, decision string) {
	w.T.Helper()
	for _, x := range w.Run.Waits() {
		if x.Node == node {
			w.Feed(engine.Answer{Wait: x.ID, Value: Text(decision)})
			return
		}
	}
	w.T.Fatalf("no wait of %s is open\n%s", node, w.Log())
}

// Say is Reply with a formatted text.
func Say(format string, args ...any) *engine.ModelResult { return Reply(fmt.Sprintf(format, args...)) }

// Text returns s as a JSON string.
func Text(s string) event.Value { return expr.Quote(s) }

// Print formats events, one per line: number, type, step and node, data.
func Print(events []event.Event) string {
	var b strings.Builder
	for _, ev := range events {
		data, err := json.Marshal(ev.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		where := ""
		if ev.Step > 0 {
			where = fmt.Sprintf(" #%d", ev.Step)
		}
		if ev.Node != "" {
			where += " " + ev.Node
		}
		fmt.Fprintf(&b, "%d %s%s %s\n", ev.Seq, ev.Data.Type(), where, data)
	}
	return b.String()
}
