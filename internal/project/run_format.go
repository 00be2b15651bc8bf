package project

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Formats with fields of their own.
const (
	formatCanvas = "canvas"
	formatRounds = "rounds"
	formatGraph  = "graph"
)

func (f *Folder) format() string { return cmp.Or(f.created.Format, f.def.Format) }

// kindOf returns the document's term for the node of a step.
func (f *Folder) kindOf(st *step) string {
	if st.def.Kind == st.data.Kind {
		return st.def.KindIn(f.format())
	}
	return st.data.Kind.In(f.format()) // the definition is unknown
}

func (f *Folder) workflow() WorkflowRef {
	ref := WorkflowRef{Format: some(f.format()),
		Branch: some(cmp.Or(f.created.Meta[MetaBranch], f.created.Meta[MetaTargetBranchID]))}
	// the definition has the branch's id and name
	if ref.ID, ref.Name = some(f.created.Workflow), some(f.created.Name); ref.Branch == nil {
		ref.ID, ref.Name = some(cmp.Or(f.created.Workflow, f.def.ID)), some(cmp.Or(f.created.Name, f.def.Name))
	}
	if v, err := strconv.Atoi(f.created.Meta[MetaVersion]); err == nil {
		ref.Version = &v
	}
	return ref
}

// addFormat adds the fields that are specific to one format.
func (f *Folder) addFormat(r *Run) {
	switch f.format() {
	case formatCanvas:
		r.State = f.canvasState()
		r.CanvasFields = &CanvasFields{WaitingForInput: len(r.Waiting) > 0}
		if len(r.Waiting) > 0 {
			r.CurrentNodeID = &r.Waiting[0].Node
		}
	case formatGraph:
		r.State = make(map[string]event.Value, f.state.Len())
		for name, v := range f.state.All() {
			if !isKept(name) {
				r.State[name] = v.JSON()
			}
		}
	}
	m := f.created.Meta
	if f.format() == formatRounds || m[MetaTargetType] != "" {
		r.RoundsFields = &RoundsFields{
			TargetType:     cmp.Or(m[MetaTargetType], "workflow"),
			TargetID:       cmp.Or(m[MetaTargetID], f.created.Workflow, f.def.ID),
			TargetBranchID: cmp.Or(m[MetaTargetBranchID], m[MetaBranch]),
		}
	}
}

// canvasState returns the outputs by node, except for `if` nodes (S0-25), and the decisions of
// approvals (S0-18).
func (f *Folder) canvasState() map[string]event.Value {
	state := make(map[string]event.Value, len(f.outputs)+len(f.decisions))
	for node, st := range f.outputs {
		if st.def.Kind != workflow.KindDecide {
			state[node] = st.output
		}
	}
	for node, d := range f.decisions {
		b, err := json.Marshal(d)
		if err != nil {
			continue // two strings always marshal
		}
		state[node+"_approval"] = b
	}
	return state
}
