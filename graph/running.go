package graph

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// running is a graph in the form that package hocket runs: its functions, and the conversion of
// what the engine recorded to states, steps and results. Programs do not need it; its methods
// accept and return types that only packages of Hocket can name. It is safe for concurrent use.
type running[S any] struct{ c *Compiled[S] }

// Running returns the form of the graph that package hocket runs.
func (c *Compiled[S]) Running() running[S] { return running[S]{c} }

// NodeType returns the type of a node; "" for a node inside another node.
func (r running[S]) NodeType(id string) NodeType {
	if d := r.c.compiler.index[id]; d != nil {
		return d.typ
	}
	return ""
}

// Program returns the functions by the names that [Compiled.Workflow] uses. They must not be
// modified.
func (r running[S]) Program() *program.Table { return r.c.table }

// Split splits the typed state of a run, as the engine stores it, into the user's S and the graph's
// own fields. It is the only place that knows the names of those fields. It returns an error if the
// state does not fit S. Split retains nothing of f.
func (r running[S]) Split(f program.Folded) (S, BaseState, error) {
	c, state := r.c, f.State
	if state == nil {
		state = program.StateOf(nil)
	}
	base := BaseState{
		ExecutionID: f.Run, LastUpdated: f.Updated, Outputs: c.compiler.outputs(f.Outputs, state),
		ContextWindowUsage: usageIn(state),
	}
	for _, w := range f.Waits {
		if c.asks(w.Node) {
			base.WaitingForInput, base.WaitNodeID, base.AskUserRequestID = true, w.Node, program.RequestID(f.Run, w.ID)
			break
		}
	}
	s, err := c.compiler.codec.decode(state)
	return s, base, err
}

// Changes returns the fields of S among those that a step wrote, omitting the graph's own fields.
// It returns nil if there are none.
func (running[S]) Changes(update map[string]json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for name, v := range update {
		if reserved(name) {
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[name] = v
	}
	return out
}

// Output returns the output of one step of a node in the form of [Context.Outputs]; nil if there is
// none.
func (r running[S]) Output(node string, raw json.RawMessage) json.RawMessage {
	return r.c.compiler.shown(node, raw)
}

// Model returns the model that a node, or a node of an inner graph named by its path, resolves to,
// given the fields of the typed state that it sees; "" leaves the choice to the provider.
func (r running[S]) Model(node string, state map[string]json.RawMessage) string {
	return r.c.modelAt(node, program.StateOf(state))
}

// DebugReport returns the report of the failure with which a run ended at the time at, equal to the
// one in the signal `debug_report_generated` before the run's last event. It depends only on its
// arguments.
func (r running[S]) DebugReport(run string, f program.Failure, at time.Time) *DebugReport {
	return r.c.compiler.debugReport(run, f, at)
}
