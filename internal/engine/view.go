package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// outputOf returns the output of a step after done is applied.
func (s *state) outputOf(id int, done *event.StepCompleted) graph.Output {
	switch done.Source(s.graph.StepNode(id).Kind) {
	case event.OutputSame:
		return s.graph.Given(id)
	case event.OutputGiven:
		return s.graph.Step(id).ResultOutput()
	case event.OutputReply:
		return s.replyText(id, s.graph.Step(id).Loop.Agent.Root)
	case event.OutputJSON:
		out, _ := event.JSONOf(s.lastReply(id, s.graph.Step(id).Loop.Agent.Root).Text.String())
		return graph.OutputOf(out)
	case event.OutputBlock:
		return s.graph.BlockOutput(id)
	case event.OutputFlow:
		return s.graph.FlowOutput(id)
	}
	return graph.OutputOf(done.Output)
}

// lastReply returns the last assistant message of a frame.
func (s *state) lastReply(id, fr int) chat.Message {
	return s.Loop.Reply(s.graph.Step(id).Loop.Agent.Frames[fr].Conv)
}

// replyText returns the text of the last reply in a frame, or no output if there was no reply.
func (s *state) replyText(id, fr int) graph.Output {
	if m := s.lastReply(id, fr); m.Role != "" {
		return graph.TextOutput(m.Text)
	}
	return graph.Output{}
}

// view returns what the program's functions see of a step; if done is not nil, of the step as
// completed by done.
func (s *state) view(id int, done *event.StepCompleted) View {
	st, n := s.graph.Step(id), s.graph.StepNode(id)
	v := View{Node: n.ID, Input: s.graph.StepInput(id), State: s.graph.Scope(st.Scope).State}
	v.Run, v.Attempt, v.Errors, v.Updated = s.id, max(st.Loop.Tries, st.Retries+1), s.errors(len(s.Errors)), s.Updated
	if done == nil {
		v.Outputs = s.outputsSeen(st.Scope)
		return v
	}
	v.Outputs = func() map[string]event.Value {
		out := s.graph.Outputs(st.Scope)
		if out == nil {
			out = map[string]event.Value{}
		}
		out[n.ID] = s.outputOf(id, done).Value()
		return out
	}
	v.State = s.graph.StateAfter(id, done, s.graph.ChangesOf(id, done))
	return v
}

// before returns what the program's functions see of a step that a token is about to start.
func (s *state) before(n *plan.Node, t graph.Token) View {
	return View{Node: n.ID, Input: s.graph.Value(t.From), State: s.graph.Scope(t.Scope).State,
		Outputs: s.outputsSeen(t.Scope)}
}

// outputsSeen returns the outputs that a scope sees, for a View.
func (s *state) outputsSeen(scope int) func() map[string]event.Value {
	return func() map[string]event.Value { return s.graph.Outputs(scope) }
}

// viewEnv presents the outputs of a scope to templates, conditions and values. If done is not nil,
// step counts as completed by it; if failed is not nil, it counts as failed with it. from is the
// step whose output is the previous output, unless input is not nil, which then is.
type viewEnv struct {
	*state
	scope  int
	step   int
	from   int
	input  event.Value
	done   *event.StepCompleted
	failed *event.Failure
}

// envBefore returns the env of a step that a token is about to start.
func (s *state) envBefore(t graph.Token) viewEnv {
	return viewEnv{state: s, scope: t.Scope, from: t.From}
}

// envOf returns the env of a step that has started.
func (s *state) envOf(id int) viewEnv {
	st := s.graph.Step(id)
	return viewEnv{state: s, scope: st.Scope, step: id, from: st.From}
}

// Var implements expr.Env.
func (e viewEnv) Var(name string) (event.Value, bool) {
	switch name {
	case expr.VarInput:
		return e.graph.Input, len(e.graph.Input) > 0
	case expr.VarPrevious:
		v := e.input
		if v == nil {
			v = e.graph.Value(e.from)
		}
		return v, len(v) > 0
	case expr.VarNote:
		return expr.Quote(e.noteAt(e.from)), true
	case expr.VarSignal:
		if e.done != nil {
			return e.done.Output, true
		}
	}
	return e.graph.Item(e.scope, name)
}

// Step implements expr.Env.
func (e viewEnv) Step(id string) (expr.Entry, bool) {
	if e.done != nil && e.graph.StepNode(e.step).ID == id {
		return expr.Entry{Output: e.outputOf(e.step, e.done).Value(),
			Agent:      graph.Title(e.graph.FlowOf(e.step), e.speaker(e.step)),
			StopReason: e.stopOf(e.step)}, true
	}
	sight := e.graph.Sight(e.scope)
	out, ok := sight.EntryOf(id)
	caught := sight.Caught(id)
	if ok && out.Output != nil || caught.Step > 0 {
		last := caught.Step
		if e.Waits.OfStep(last) == nil { // it reached its loop's limit and asked nothing
			last = out.Step
		}
		out.Decision, out.Note = e.answerOf(last)
	}
	e.answerChildren(out.Children)
	if out.Error = caught.Failure; e.failed != nil && e.graph.StepNode(e.step).ID == id {
		out.Error = e.failed.Brief()
	}
	return out, ok || out.Error != nil
}

// answerChildren sets the answers to the approvals among a block's steps, at any depth.
func (e viewEnv) answerChildren(children []expr.Child) {
	for i := range children {
		c := &children[i].Entry
		if c.Step > 0 && e.graph.StepNode(c.Step).Wait != nil {
			c.Decision, c.Note = e.answerOf(c.Step)
		}
		e.answerChildren(c.Children)
	}
}

// answerOf returns the answer to the last approval of a step, or the decision of its deadline.
func (e viewEnv) answerOf(step int) (decision, note string) {
	switch w := e.Waits.OfStep(step); {
	case w == nil:
	case w.Answer != nil:
		return w.Answer.Decision, w.Answer.Note
	case w.Closed == "deadline":
		return e.graph.StepNode(step).Wait.OnDeadline, ""
	}
	return "", ""
}

// isTrue evaluates one condition as step id sees it: before it completes if done is nil, else as
// completed by done.
func (s *state) isTrue(id int, c *workflow.Condition, compiled *expr.Condition, done *event.StepCompleted) (bool,
	error) {
	switch c.Language {
	case workflow.LangMatch:
		if done != nil {
			return expr.Match(c.Op, c.Text, s.outputOf(id, done).Value())
		}
		return expr.Match(c.Op, c.Text, s.graph.StepInput(id))
	case workflow.LangExpr:
		seen := s.envOf(id)
		seen.done = done
		return compiled.Eval(seen)
	default:
		var ok bool
		err := s.plan.ask(c.Func, func(h Host) (err error) {
			ok, err = h.Condition(c.Func, s.view(id, done))
			return err
		})
		return ok, err
	}
}

// speaker returns the agent that currently has the conversation of a running agent step, which is
// the step's own until it hands over; "" for other steps.
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

// stopOf returns the Stop of the agent that currently has the conversation of a running step; ""
// for other steps.
func (s *state) stopOf(id int) string {
	if a := s.graph.Step(id).Loop.Agent; a != nil {
		return a.Frames[a.Root].Stop
	}
	return ""
}
