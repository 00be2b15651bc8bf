package project

import (
	"encoding/json"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// null is the Value of a result that is not there.
var null = engine.Value(`null`)

// input gives what a step was given.
func (f *Folder) input(st *step) engine.Value {
	if st.in != nil {
		return st.in
	}
	if len(st.data.Input) > 0 {
		return st.data.Input
	}
	if st.data.Recipe != nil {
		return f.assembled(st)
	}
	if st.data.From == 0 {
		return f.created.Input
	}
	from := f.find(st.data.From)
	switch from {
	case nil:
		return nil
	case st.scope.owner:
		return f.input(from) // the branch of a fork begins with what the fork was given
	}
	return from.output
}

// completed gives the output of a step that ends with d. That of a fork is not known where its definition is not.
func (f *Folder) completed(st *step, d *engine.StepCompleted) engine.Value {
	switch {
	case d.Same:
		return f.input(st)
	case d.Given:
		return f.givenOutput(st)
	case d.JSON:
		return f.jsonReply(st, st.root)
	case d.Reply:
		if m := st.reply(st.root); m != nil {
			return quote(m.Text.String())
		}
	case len(d.Output) > 0:
		return d.Output
	case st.def.Fork != nil:
		return blockOutput(st)
	case st.child != nil && st.child.last != nil && !st.child.flow.Rules.StateFlows:
		return st.child.last.output
	}
	return nil
}

// blockOutput gives the output of a fork from what its branches did.
func blockOutput(st *step) engine.Value {
	if st.def.Fork.Shape != workflow.ShapeMap {
		return blockSteps(st, nil, false)
	}
	var o object
	for i, b := range st.def.Fork.Branches {
		if sc := st.branches[i+1]; sc != nil && sc.arrived != nil && !sc.failed {
			o.add(b.ID, sc.arrived.output)
		}
	}
	return o.value()
}

// blockSteps is {"steps":{id:entry},"order":[ids]} of the steps that ran in a fork's branches, in declared order (S4-34). Where the block was cut
// short, blocks inside it that were too are shown with what they have done, and former is its last execution that ended, whose outputs stay until a
// branch has newer ones (S4-4); nil: none.
func blockSteps(st, former *step, cut bool) engine.Value {
	ran := map[string]*step{}
	if former != nil {
		former.lastOf(ran)
	}
	st.lastOf(ran)
	inside := map[string]*step{} // what has ended of the blocks that are cut short, by block
	for i := range len(st.branches) {
		if sc := st.branches[i+1]; cut && sc != nil && sc.fork != nil && sc.fork.status != StepCompleted && hasResult(sc.fork) {
			id := sc.fork.def.ID
			inside[id], ran[id] = ran[id], sc.fork
		}
	}
	var steps object
	order := []string{}
	nodes := st.scope.flow.Nodes
	for i := range nodes {
		if nodes[i].Parent != st.def.ID {
			continue
		}
		if o := ran[nodes[i].ID]; o != nil {
			id := localID(o.def.ID)
			steps.add(id, contextEntry(o, inside[o.def.ID]))
			order = append(order, id)
		}
	}
	var names list
	for _, id := range order {
		names.add(quote(id))
	}
	var o object
	o.add("steps", steps.value())
	o.add("order", names.value())
	return o.value()
}

// lastOf adds the steps of a fork's branches that gave an output to ran, by node.
func (st *step) lastOf(ran map[string]*step) {
	for i := range len(st.branches) {
		if sc := st.branches[i+1]; sc != nil {
			for _, o := range sc.entries {
				ran[o.def.ID] = o
			}
		}
	}
}

// localID is the id as the document writes it.
func localID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// contextEntry is a step as the step context shows it (S4-34): the agent is the one that answered. Steps without agent have "" for it.
// former is the execution of a block before st where st did not end.
func contextEntry(st, former *step) engine.Value {
	if st.def.Kind == workflow.KindFork {
		return blockSteps(st, former, st.status != StepCompleted)
	}
	agent := ""
	if st.def.Agent != nil {
		agent = st.agent(st.speaker())
	}
	var o object
	o.add("output", st.output)
	o.add("agent", quote(agent))
	return o.value()
}

// failureValue is what an error edge carries (P30).
func failureValue(e *engine.Failure) engine.Value {
	b, err := json.Marshal(map[string]*engine.Failure{"error": e})
	if err != nil {
		return null
	}
	return b
}

// object builds a JSON object that keeps its order.
type object struct{ buf []byte }

func (o *object) add(key string, v engine.Value) {
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(append(o.buf, quote(key)...), ':')
	if len(v) == 0 {
		v = null
	}
	o.buf = append(o.buf, v...)
}

func (o *object) value() engine.Value {
	return append(append([]byte{'{'}, o.buf...), '}')
}

// list builds a JSON list.
type list struct{ buf []byte }

func (l *list) add(v engine.Value) {
	if len(l.buf) > 0 {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(l.buf, v...)
}

func (l *list) value() engine.Value {
	return append(append([]byte{'['}, l.buf...), ']')
}

// quote gives a text as a Value.
func quote(s string) engine.Value {
	b, _ := jsontext.AppendString(nil, s)
	return b
}

// Shown is [Folder.Expand], or [Folder.ExpandAll] where all is set.
func (f *Folder) Shown(e engine.Event, all bool) engine.Event {
	if all {
		return f.ExpandAll(e)
	}
	return f.Expand(e)
}

// ExpandAll is [Folder.Expand] with the inputs of steps as texts in the place of their recipes.
func (f *Folder) ExpandAll(e engine.Event) engine.Event {
	d, ok := e.Data.(*engine.StepStarted)
	if !ok || d.Recipe == nil {
		return f.Expand(e)
	}
	st := f.steps[e.Step]
	if st == nil {
		st = f.newStep(e, f.scope(d.Scope), d)
		f.assemble(st)
	}
	if in := f.assembled(st); in != nil {
		c := *d
		c.Input, c.Recipe = in, nil
		e.Data = &c
	}
	return e
}

// Expand gives an event with all that follows from the events before it: the input of a step, its output, the arguments of a tool call. An input that has a recipe
// stays one. It is what people are shown; e itself is not changed. The events before e must have been added, those after it not; whether e itself was does not matter.
func (f *Folder) Expand(e engine.Event) engine.Event {
	st := f.steps[e.Step]
	if d, ok := e.Data.(*engine.StepStarted); ok && st == nil {
		st = f.newStep(e, f.scope(d.Scope), d)
	}
	if st == nil {
		return e
	}
	switch d := e.Data.(type) {
	case *engine.StepStarted:
		if len(d.Input) == 0 && d.Recipe == nil {
			c := *d
			c.Input = f.input(st)
			e.Data = &c
		}
	case *engine.StepCompleted:
		if len(d.Output) == 0 {
			c := *d
			c.Output, c.Same, c.Reply, c.JSON, c.Given = f.completed(st, d), false, false, false, false
			if g, ok := st.given.(*engine.FuncReturned); ok && d.Given {
				if c.Goto == nil {
					c.Goto = g.Goto
				}
				if c.Update == nil && c.Edits == nil {
					c.Update, c.Edits = g.Update, g.Edits
				}
			}
			e.Data = &c
		}
	case *engine.ToolCalled:
		if len(d.Arguments) == 0 {
			c := *d
			c.Arguments = f.arguments(st, d)
			e.Data = &c
		}
	case *engine.ToolReturned:
		e.Data = d.Whole(f.values.JSONOf)
	case *engine.SubagentCompleted:
		if d.JSON {
			c := *d
			c.Output, c.JSON = f.jsonReply(st, d.Frame), false
			e.Data = &c
		}
		if d.Reply {
			c := *d
			if m := st.reply(d.Frame); m != nil {
				c.Output, c.Reply = quote(m.Text.String()), false
			}
			e.Data = &c
		}
	}
	return e
}
