package graph

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// running is a graph as package hocket runs it: its functions, and how what the engine recorded becomes states, steps and results. Programs need none
// of it; its methods take and give types that only packages of Hocket can name. Safe for concurrent use.
type running[S any] struct{ c *Compiled[S] }

// Running gives what package hocket runs.
func (c *Compiled[S]) Running() running[S] { return running[S]{c} }

// NodeType gives the type of a node; "" for one inside of another node.
func (r running[S]) NodeType(id string) NodeType {
	if d := r.c.compiler.index[id]; d != nil {
		return d.typ
	}
	return ""
}

// Program gives the functions by the names that [Compiled.Workflow] uses. They must not be changed.
func (r running[S]) Program() *program.Table { return r.c.table }

// Split takes the typed state of a run, as the engine keeps it, apart: into the user's S and what is beside it. It is the one place that knows the
// names under which the graph keeps its own values. The error says that the state does not fit S. Split keeps nothing of f.
func (r running[S]) Split(f program.Folded) (S, BaseState, error) {
	c, state := r.c, f.State
	if state == nil {
		state = program.StateOf(nil)
	}
	base := BaseState{
		ExecutionID: f.Run, LastUpdated: f.Updated, Outputs: c.compiler.outputs(f.Outputs, state), ContextWindowUsage: usageIn(state),
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

// Changes gives the fields of S among those that a step wrote: what the graph keeps itself is left out. Nil: none.
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

// Output gives the output of a step of a node in the form of [Context.Outputs]; nil: none.
func (r running[S]) Output(node string, raw json.RawMessage) json.RawMessage {
	return r.c.compiler.shown(node, raw)
}

// Model gives the model that a node, or one of an inner graph, named by its path, resolves to (S2-79) where the typed state that it sees has these
// fields; "" leaves it to the provider.
func (r running[S]) Model(node string, state map[string]json.RawMessage) string {
	return r.c.modelAt(node, program.StateOf(state))
}

// DebugReport makes the report of the failure with which a run ended at a time, as the signal `debug_report_generated` before its last event carries
// it too (S2-59). It follows from what it is given alone.
func (r running[S]) DebugReport(run string, f program.Failure, at time.Time) *DebugReport {
	return r.c.compiler.debugReport(run, f, at)
}
