package engine

import (
	"bytes"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// outputOf is the output that a step has once done is applied.
func (r *Run) outputOf(id int, done *StepCompleted) output {
	switch {
	case done.Same:
		return r.graph.given(id)
	case done.Given:
		return r.graph.resultOutput(id)
	case done.Reply:
		return r.agents.replyText(id, r.step(id).Loop.Agent.Root)
	case done.JSON:
		out, _ := JSONOf(r.agents.lastReply(id, r.step(id).Loop.Agent.Root).Text.String())
		return outputFrom(out)
	case done.Output == nil && r.stepNode(id).Kind == workflow.KindFork:
		return output{value: r.graph.blockOutput(id)}
	case done.Output == nil && r.stepNode(id).Kind == workflow.KindSubflow:
		return r.graph.flowOutput(id)
	}
	return outputFrom(done.Output)
}

// seen gives the outputs that a scope sees: those at its fork under its own. They do not change afterwards; nobody may write them.
func (g *graph) seen(scopeID int) []entry {
	sc := g.scope(scopeID)
	if len(sc.Base) == 0 {
		sc.shared = true
		return slices.Clip(sc.Entries)
	}
	out := slices.Clone(sc.Base)
	for _, e := range sc.Entries {
		if i := slices.IndexFunc(out, func(x entry) bool { return x.Node == e.Node }); i >= 0 {
			out[i] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

// record notes the output of a step: a node keeps the place of its first execution (S4-4). fresh tells that the node runs for the first time.
func (sc *scope) record(node, step int, fresh bool) {
	for i := 0; i < len(sc.Entries) && !fresh; i++ {
		if sc.Entries[i].Node == node {
			if sc.shared {
				sc.Entries, sc.shared = slices.Clone(sc.Entries), false
			}
			sc.Entries[i].Step = step
			return
		}
	}
	sc.Entries = append(sc.Entries, entry{node, step})
}

// outputs gives the outputs that a scope sees, by node id.
func (g *graph) outputs(scopeID int) map[string]Value {
	seen := g.seen(scopeID)
	if len(seen) == 0 {
		return nil
	}
	out := make(map[string]Value, len(seen))
	f := g.flows[g.scope(scopeID).Flow]
	for _, e := range seen {
		out[f.Nodes[e.Node].ID] = g.value(e.Step)
	}
	return out
}

// view is what the program's functions see of a step; as completed by done where that is not nil.
func (r *Run) view(id int, done *StepCompleted) View {
	st, n := r.step(id), r.stepNode(id)
	v := View{Node: n.ID, Input: r.stepInput(id), State: r.graph.stateAt(st.Scope)}
	v.Run, v.Attempt, v.Errors, v.Updated = r.id, max(st.Loop.Tries, st.Retries+1), r.s.errors(len(r.s.Errors)), r.s.Updated
	if done == nil {
		v.Outputs = r.outputsSeen(st.Scope)
		return v
	}
	v.Outputs = func() map[string]Value {
		out := r.graph.outputs(st.Scope)
		if out == nil {
			out = map[string]Value{}
		}
		out[n.ID] = r.outputOf(id, done).Value()
		return out
	}
	v.State = r.graph.stateAfter(id, done, r.graph.changesOf(id, done))
	return v
}

// outputsSeen gives the outputs that a scope sees, for a View.
func (r *Run) outputsSeen(scope int) func() map[string]Value {
	return func() map[string]Value { return r.graph.outputs(scope) }
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
	f := e.r.graph.flows[e.r.scope(e.scope).Flow]
	if e.done != nil && e.r.stepNode(e.step).ID == id {
		return expr.Entry{Output: e.r.outputOf(e.step, e.done).Value(), Agent: e.r.graph.speakerName(f, e.step)}, true
	}
	s := e.r.graph.sight(e.scope)
	if idx, known := f.Index[id]; known {
		x, ok := s.find(idx)
		if !ok {
			return expr.Entry{}, false
		}
		return s.entry(x), true
	}
	for _, x := range s.entries {
		if plan.LocalID(f.Nodes[x.Node].ID) == id {
			return s.entry(x), true
		}
	}
	return expr.Entry{}, false
}

// speaker gives the agent that has the conversation of a step, or that gave its output: the step's own until it hands over; "" for steps without agent.
func (g *graph) speaker(step int) string {
	st, n := g.step(step), g.stepNode(step)
	switch {
	case n.Agent == nil:
		return ""
	case st.By != "":
		return st.By
	case st.Loop.Agent != nil && n.Kind == workflow.KindAgent:
		return st.Loop.Agent.Frames[st.Loop.Agent.Root].Agent
	}
	return n.Agent.Agent
}

// speakerName gives the title of the speaker of a step of f (S4-34).
func (g *graph) speakerName(f *plan.Flow, step int) string {
	if a := f.Agents[g.speaker(step)]; a != nil {
		return a.Title()
	}
	return ""
}

// toolArguments makes the arguments of a tool node.
func (r *Run) toolArguments(n *plan.Node, t token, d *StepStarted) *Failure {
	input := r.value(t.From)
	switch {
	case n.Tool.ArgsFunc != "":
		v, err := r.plan.askValue(n.Tool.ArgsFunc, func(h Host) (Value, error) {
			return h.Value(n.Tool.ArgsFunc, View{Node: n.ID, Input: input, State: r.graph.stateAt(t.Scope), Outputs: r.outputsSeen(t.Scope)})
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
		d.Input = object([]field{{"input", expr.Quote(expr.Text(input))}})
	}
	return nil
}

// field is one member of an object whose order matters.
type field struct {
	name  string
	value Value
}

// object writes an object with its members in the order given.
func object(fields []field) Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(expr.Quote(f.name))
		b.WriteByte(':')
		if len(f.value) == 0 {
			b.WriteString("null")
		} else {
			b.Write(f.value)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}
