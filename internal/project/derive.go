package project

import (
	"bytes"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// null is the Value of a result that is not there.
var null = engine.Value(`null`)

// input gives what a step was given.
func (f *Folder) input(st *step) engine.Value {
	if len(st.data.Input) > 0 {
		return st.data.Input
	}
	if st.data.From == 0 {
		return f.created.Input
	}
	if from := f.steps[st.data.From]; from != nil {
		return from.output
	}
	return nil
}

// completed gives the output of a step that ends with d.
func (f *Folder) completed(st *step, d *engine.StepCompleted) engine.Value {
	switch {
	case d.Same:
		return f.input(st)
	case d.Reply:
		if m := st.reply(st.root); m != nil {
			return quote(m.Text)
		}
	case len(d.Output) > 0:
		return d.Output
	case st.def.Kind == workflow.KindFork:
		return blockOutput(st)
	case st.child != nil && st.child.last != nil:
		return st.child.last.output
	}
	return nil
}

// blockOutput gives the output of a fork from what its branches brought to the join, in declared order.
func blockOutput(st *step) engine.Value {
	if st.def.Fork == nil {
		return nil
	}
	if st.def.Fork.Shape != workflow.ShapeMap {
		return blockSteps(st)
	}
	var o object
	for i, b := range st.def.Fork.Branches {
		if sc := st.branches[i+1]; sc != nil && sc.arrived != nil {
			o.add(b.ID, sc.arrived.output)
		}
	}
	return o.value()
}

// blockSteps is {"steps":{id:entry},"order":[ids]} of the branches that have a result (S4-34).
func blockSteps(st *step) engine.Value {
	var steps object
	order := []string{}
	for i, b := range st.def.Fork.Branches {
		sc := st.branches[i+1]
		if sc == nil {
			continue
		}
		last := sc.arrived
		if last == nil {
			// A block that was cut short inside one that was: what it has done is shown.
			if last = sc.fork; last == nil || len(last.branches) == 0 {
				continue
			}
		}
		steps.add(b.ID, contextEntry(last))
		order = append(order, b.ID)
	}
	var o object
	o.add("steps", steps.value())
	names, err := json.Marshal(order)
	if err != nil {
		return null
	}
	o.add("order", names)
	return o.value()
}

// contextEntry is a step as the step context shows it (S4-34).
func contextEntry(st *step) engine.Value {
	if st.def.Fork != nil {
		return blockSteps(st)
	}
	var o object
	o.add("output", st.output)
	if st.data.Agent != "" {
		o.add("agent", quote(st.agent(st.data.Agent)))
	}
	return o.value()
}

// failureValue is what an error edge carries.
func failureValue(e *engine.Failure) engine.Value {
	b, err := json.Marshal(e)
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

// quote gives a text as a Value.
func quote(s string) engine.Value {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return null
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Expand gives an event that Add has just seen with all that follows from the events before it: the input of a step, its output, the arguments of
// a tool call. It is what people are shown; e itself is not changed.
func (f *Folder) Expand(e engine.Event) engine.Event {
	st := f.steps[e.Step]
	if st == nil {
		return e
	}
	switch d := e.Data.(type) {
	case *engine.StepStarted:
		if len(d.Input) == 0 {
			c := *d
			c.Input = f.input(st)
			e.Data = &c
		}
	case *engine.StepCompleted:
		if len(d.Output) == 0 {
			c := *d
			c.Output, c.Same, c.Reply = st.output, false, false
			e.Data = &c
		}
	case *engine.ToolCalled:
		if len(d.Arguments) == 0 {
			c := *d
			c.Arguments = f.arguments(st, d)
			e.Data = &c
		}
	case *engine.SubagentCompleted:
		if d.Reply {
			c := *d
			if m := st.reply(d.Frame); m != nil {
				c.Output, c.Reply = quote(m.Text), false
			}
			e.Data = &c
		}
	}
	return e
}
