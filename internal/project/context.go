package project

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
)

// Context returns the step context (S4-34): one object keyed by step id, in the order in which the
// steps were first executed, each with its latest output. Blocks are nested; start, condition, join
// and end nodes are absent. A block that did not end shows what its branches have finished and,
// from its previous execution in a loop, the outputs that they have not replaced yet (S4-4).
//
// The value is JSON without white space; the caller may indent it.
func (f *Folder) Context() event.Value {
	root := f.scopes[0]
	steps := slices.Clone(root.entries)
	former := map[string]*step{} // last ended executions of the unfinished blocks
	for _, st := range f.order {
		if st.scope != root || st.def.Fork == nil || st.status == StepCompleted || !hasResult(st) {
			continue
		}
		i := slices.IndexFunc(steps, func(o *step) bool { return o.node == st.node })
		switch {
		case i < 0:
			steps = append(steps, st)
		case steps[i].n < st.n:
			if steps[i].status == StepCompleted {
				former[st.node] = steps[i]
			}
			steps[i] = st
		}
	}
	var out []expr.Child
	for _, st := range steps {
		if !st.def.Hidden {
			out = append(out, expr.Child{ID: st.node, Entry: contextEntry(st, former[st.node])})
		}
	}
	return expr.Entries(out)
}

// hasResult reports whether any step in the branches of a fork has a result.
func hasResult(st *step) bool {
	for _, sc := range st.branches {
		if len(sc.entries) > 0 || sc.fork != nil && hasResult(sc.fork) {
			return true
		}
	}
	return false
}
