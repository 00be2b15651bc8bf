package workflow

import (
	"maps"
	"slices"
)

// MaxSignalName is the most bytes that the name of a signal has.
const MaxSignalName = 64

// SignalName tells whether signals can have a name: letters, digits, `.`, `_` and `-` of ASCII, a letter or a digit first, at most MaxSignalName of them.
func SignalName(name string) bool {
	for i, c := range []byte(name) {
		isWord := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isWord && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= MaxSignalName
}

// Signals gives the names of the signals for which steps of the workflow and of its sub-flows wait, sorted. The slice is the caller's own.
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
