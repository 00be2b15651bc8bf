package project

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (f *Folder) startStep(e event.Event, d *event.StepStarted) {
	if f.steps[e.Step] != nil {
		return
	}
	st := f.newStep(e, f.scope(d.Scope), d)
	f.steps[e.Step] = st
	f.order = append(f.order, st)
	f.assemble(st)
	f.trimWindow(st)
	if st.def.Kind == workflow.KindFork {
		st.scope.fork = st
	}
	if st.scope.owner == nil {
		st.inputState = f.state
	}
	if st.def.Hidden {
		return
	}
	st.index = f.visible
	f.visible++
	// A full cycle is a return to a node that already ran in this round (S1-13).
	if f.seen[st.node] {
		f.round++
		clear(f.seen)
	}
	f.seen[st.node] = true
	st.round = f.round
}

func (f *Folder) newStep(e event.Event, sc *scope, d *event.StepStarted) *step {
	if sc == nil {
		sc = f.scopes[0]
	}
	st := &step{n: e.Step, node: e.Node, scope: sc, data: d, startedAt: e.At, status: StepRunning, attempt: 1}
	st.def = f.node(sc.flow, strings.TrimPrefix(e.Node, sc.prefix))
	if st.def == nil {
		st.def = &workflow.Node{ID: e.Node, Kind: d.Kind}
	}
	return st
}

// skip records a step that never started.
func (f *Folder) skip(e event.Event, d *event.StepSkipped) {
	st := f.newStep(e, nil, &event.StepStarted{})
	if st.data.Kind = st.def.Kind; e.Node == "" {
		return
	}
	st.data.Iteration = 1
	st.status, st.endedAt, st.reason = StepSkipped, e.At, d.Reason
	if e.Step > 0 {
		f.steps[e.Step] = st
	}
	if f.order = append(f.order, st); !st.def.Hidden {
		st.index = f.visible
		f.visible++
	}
}

func (f *Folder) node(w *workflow.Workflow, id string) *workflow.Node {
	byID, ok := f.nodes[w]
	if !ok {
		byID = make(map[string]*workflow.Node, len(w.Nodes))
		for i := range w.Nodes {
			byID[w.Nodes[i].ID] = &w.Nodes[i]
		}
		f.nodes[w] = byID
	}
	return byID[id]
}

func (f *Folder) addStep(st *step, e event.Event) {
	if d, ok := e.Data.(*event.StepRetrying); ok {
		if d.Model != "" { // the agent calls its model again
			return
		}
		st.attempt = d.Attempt
		if d.Call == "" {
			f.closeItems(st)
			st.handoffAgent = "" // the step's own agent starts over
			st.branches = nil    // a block is retried as a whole (S4-23)
			st.items.resetFailed()
		}
		return
	}
	st.endedAt, st.status = e.At, StepStatus(event.StepEnd(e.Data).String())
	st.releaseInput()
	switch d := e.Data.(type) {
	case *event.StepCompleted:
		if st.def.Map != nil {
			f.openItems(st) // the output may be preset; an empty list starts no item
		}
		st.output = f.completed(st, d)
		f.complete(st, d)
	case *event.StepFailed:
		st.failure = &d.Error
		switch {
		case d.Port == "":
			if !st.scope.failed {
				st.scope.failed, st.scope.failure = true, &d.Error
			}
		case st.def.Catch == nil && (d.Port != workflow.PortLimit || d.Error.Code != event.CodeMaxLoopIterations):
			st.output = d.Error.Value()
		case d.Output == nil && d.Error.Code == event.CodeItemsFailed && st.items != nil:
			st.output = st.items.list(true)
			f.publishOutput(st)
		case d.Output == nil:
			st.output, st.scope.last = f.passedInput(st), st
		default:
			st.output, st.hasDefault = d.Output, true
			f.publishOutput(st)
		}
	case *event.StepCancelled:
		st.reason = d.Reason
	case *event.StepSkipped:
		if st.reason = d.Reason; len(d.Ports) > 0 {
			st.output, st.scope.last = f.passedInput(st), st
		}
	}
	f.closeItems(st)
}

// passedInput returns the output of the preceding step, which a step without an output of its own
// passes on.
func (f *Folder) passedInput(st *step) event.Value {
	switch {
	case st.data.From == 0:
		return f.created.Input
	case st.data.From < 0:
		if sc := f.scope(-st.data.From); sc != nil {
			return sc.item
		}
		return nil
	}
	if from := f.find(st.data.From); from != nil {
		return from.output
	}
	return nil
}

// publishOutput makes the output of a step visible to other steps.
func (f *Folder) publishOutput(st *step) {
	sc := st.scope
	sc.last = st
	if !st.def.Hidden {
		f.outputs[st.node] = st
	}
	if st.def.Kind.HasOutput() {
		if i := slices.IndexFunc(sc.entries, func(o *step) bool { return o.node == st.node }); i >= 0 {
			sc.entries[i] = st
		} else {
			sc.entries = append(sc.entries, st)
		}
	}
}

func (f *Folder) complete(st *step, d *event.StepCompleted) {
	f.publishOutput(st)
	if st.scope.owner == nil {
		f.change(st, d)
	}
	st.inputState, f.ended = typed.State{}, st
	if st.frames != nil {
		st.frames = map[int]*frame{st.root: {reply: st.reply(st.root)}}
	}
}

func (f *Folder) addEdge(st *step, d *event.EdgeTaken) {
	f.retainOutput(st, d.Token)
	switch {
	case st.def.Map != nil && d.Branch > 0 && d.To == st.def.ID:
		f.endItem(st, d)
		return
	case d.Branch > 0:
		if st.branches[d.Branch] == nil {
			if st.branches == nil {
				st.branches = map[int]*scope{}
			}
			sc := &scope{n: d.Scope, flow: st.scope.flow, prefix: st.scope.prefix, owner: st}
			st.branches[d.Branch], f.scopes[d.Scope] = sc, sc
			f.beginItem(st, sc, d.Branch)
		}
	case st.def.Kind == workflow.KindSubflow && st.status == StepRunning:
		sub := &workflow.Workflow{}
		if st.def.Subflow != nil && st.scope.flow.Flows[st.def.Subflow.Flow] != nil {
			sub = st.scope.flow.Flows[st.def.Subflow.Flow]
		}
		st.child = &scope{n: d.Scope, flow: sub, prefix: st.node + "/", owner: st}
		f.scopes[d.Scope] = st.child
		return
	}
	sc := f.scope(d.Scope)
	if sc == nil {
		return
	}
	if o := sc.owner; o != nil && o.def.Fork != nil && o.def.Fork.Join == d.To {
		sc.arrived = st
		return
	}
	if n := f.node(sc.flow, d.To); st.sentTo == "" && (n == nil || !n.Hidden) {
		st.sentTo = sc.prefix + d.To
	}
}
