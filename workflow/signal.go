package workflow

import (
	"maps"
	"slices"
)

// MaxSignalName is the maximum length of a signal name in bytes.
const MaxSignalName = 64

// SignalName reports whether name is a valid signal name: ASCII letters, digits, `.`, `_` and `-`,
// beginning with a letter or a digit, at most MaxSignalName bytes.
func SignalName(name string) bool {
	for i, c := range []byte(name) {
		isWord := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isWord && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= MaxSignalName
}

// Signals returns the sorted names of the signals that steps of the workflow and of its sub-flows
// wait for. The slice belongs to the caller.
func (w *Workflow) Signals() []string {
	names := map[string]bool{}
	w.addSignals(names, 0)
	return slices.Sorted(maps.Keys(names))
}

func (w *Workflow) addSignals(names map[string]bool, depth int) {
	for i := range w.Nodes {
		if n := w.Nodes[i].Wait; n != nil && n.Kind == WaitSignal {
			names[n.Await] = true
		}
	}
	if depth == MaxFlowDepth {
		return
	}
	for _, f := range w.Flows {
		if f != nil {
			f.addSignals(names, depth+1)
		}
	}
}
