package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// outputOf is the output that a step has once done is applied.
func (s *state) outputOf(id int, done *StepCompleted) graph.Output {
	switch {
	case done.Same:
		return s.graph.Given(id)
	case done.Given:
		return s.graph.Step(id).ResultOutput()
	case done.Reply:
		return s.replyText(id, s.graph.Step(id).Loop.Agent.Root)
	case done.JSON:
		out, _ := JSONOf(s.lastReply(id, s.graph.Step(id).Loop.Agent.Root).Text.String())
		return graph.OutputOf(out)
	case done.Output == nil && s.graph.StepNode(id).Kind == workflow.KindFork:
		return s.graph.BlockOutput(id)
	case done.Output == nil && s.graph.StepNode(id).Kind == workflow.KindSubflow:
		return s.graph.FlowOutput(id)
	}
	return graph.OutputOf(done.Output)
}

// lastReply is the last assistant message of a frame.
func (s *state) lastReply(id, fr int) chat.Message {
	return s.Loop.Reply(s.graph.Step(id).Loop.Agent.Frames[fr].Conv)
}

// replyText is the text of the last reply in a frame; none where there was no reply.
func (s *state) replyText(id, fr int) graph.Output {
	if m := s.lastReply(id, fr); m.Role != "" {
		return graph.TextOutput(m.Text)
	}
	return graph.Output{}
}

// view is what the program's functions see of a step; as completed by done where that is not nil.
func (r *Run) view(id int, done *StepCompleted) View {
	st, n := r.step(id), r.stepNode(id)
	v := View{Node: n.ID, Input: r.stepInput(id), State: r.scope(st.Scope).State}
	v.Run, v.Attempt, v.Errors, v.Updated = r.id, max(st.Loop.Tries, st.Retries+1), r.s.errors(len(r.s.Errors)), r.s.Updated
	if done == nil {
		v.Outputs = r.outputsSeen(st.Scope)
		return v
	}
	v.Outputs = func() map[string]Value {
		out := r.graph.Outputs(st.Scope)
		if out == nil {
			out = map[string]Value{}
		}
		out[n.ID] = r.s.outputOf(id, done).Value()
		return out
	}
	v.State = r.graph.StateAfter(id, done, r.graph.ChangesOf(id, done))
	return v
}

// outputsSeen gives the outputs that a scope sees, for a View.
func (r *Run) outputsSeen(scope int) func() map[string]Value {
	return func() map[string]Value { return r.graph.Outputs(scope) }
}

// env shows the outputs of a scope to templates and conditions. Where done is not nil, step counts as completed by it.
type env struct {
	r     *Run
	scope int
	step  int
	done  *StepCompleted
}

// Step implements expr.Env.
func (e env) Step(id string) (expr.Entry, bool) {
	if e.done != nil && e.r.stepNode(e.step).ID == id {
		return expr.Entry{Output: e.r.s.outputOf(e.step, e.done).Value(), Agent: graph.Title(e.r.flowOf(e.step), e.r.s.speaker(e.step))}, true
	}
	return e.r.graph.Sight(e.scope).Named(id)
}

// toolArguments makes the arguments of a tool node.
func (r *Run) toolArguments(n *plan.Node, t graph.Token, d *StepStarted) *Failure {
	input := r.value(t.From)
	switch {
	case n.Tool.ArgsFunc != "":
		v, err := r.plan.askValue(n.Tool.ArgsFunc, func(h Host) (Value, error) {
			return h.Value(n.Tool.ArgsFunc, View{Node: n.ID, Input: input, State: r.scope(t.Scope).State, Outputs: r.outputsSeen(t.Scope)})
		})
		if err != nil {
			return &Failure{Code: CodeFunc, Message: err.Error()}
		}
		d.Input = v
	case n.Args != nil:
		if r.argSize(n.Args, t, prompt.MaxBytes) > prompt.MaxBytes {
			return &Failure{Code: CodeValueTooLarge, Message: "arguments: " + prompt.ErrTooLarge.Error()}
		}
		out, err := r.expandArgs(n.Args, t)
		if err != nil {
			return &Failure{Code: CodeTool, Message: "arguments: " + err.Error()}
		}
		d.Input = out
	case len(input) > 0 && input[0] != '{':
		d.Input = graph.Object([]graph.Field{{Name: "input", Value: expr.Quote(expr.Text(input))}})
	}
	return nil
}

// speaker gives the agent that has the conversation of an agent step that runs: the step's own until it hands over; "" for other steps.
func (s *state) speaker(id int) string {
	n := s.graph.StepNode(id)
	if n.Agent == nil {
		return ""
	}
	if a := s.graph.Step(id).Loop.Agent; a != nil && n.Kind == workflow.KindAgent {
		return a.Frames[a.Root].Agent
	}
	return n.Agent.Agent
}
