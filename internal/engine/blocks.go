package engine

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// closeScopes checks scopes in which nothing is active any more and lets their owners continue.
func (m *machine) closeScopes() {
	for _, id := range m.graph.TakeAwake() {
		sc := m.graph.Scope(id)
		if sc.Owner == 0 || m.graph.Step(sc.Owner).Status != stepRunning || m.state.isFailing() || sc.Dead &&
			m.graph.StepNode(sc.Owner).Kind != workflow.KindMap {
			continue
		}
		switch m.graph.StepNode(sc.Owner).Kind {
		case workflow.KindSubflow:
			if sc.Live == 0 && !m.state.isAsleep(sc.Owner) { // not started while it waits for its next attempt
				m.endFlow(sc.Owner)
			}
		case workflow.KindMap:
			m.closeItem(sc.Owner, id)
		default:
			if !m.graph.Awaits(sc.Owner, sc) {
				m.settleBlock(sc.Owner)
			}
		}
	}
}

// fork starts the branches of a fork, each in its own scope.
func (m *machine) fork(id int, n *plan.Node) {
	f := m.graph.FlowOf(id)
	m.expect(3 * len(n.Fork.Branches)) // an edge for each, and the start of its first step
	for i, branch := range n.Fork.Branches {
		scopeID := len(m.graph.Scopes)
		for _, e := range n.Ports[branch.ID] {
			to := f.Workflow.Edges[e].To
			d := m.mem.edges.alloc(event.EdgeTaken{Edge: e, To: to, Scope: scopeID, Branch: i + 1})
			if f.Index[to] != n.JoinIndex {
				d.Token = m.graph.Tokens + 1
			}
			m.emitStep(id, d)
		}
	}
	m.settleBlock(id)
}

// settleBlock ends a fork when the state of its branches requires it (D12).
func (m *machine) settleBlock(id int) {
	switch verdict, failed := m.graph.Verdict(id); verdict {
	case graph.BlockCompletes:
		m.completeBlock(id)
	case graph.BlockFails:
		m.failBlock(id, failed)
	case graph.BlockSkips:
		m.emitStep(id, &event.StepSkipped{Reason: "no branch reached " + m.graph.StepNode(id).Fork.Join})
	}
}

func (m *machine) completeBlock(id int) {
	n := m.graph.StepNode(id)
	update, failure := m.state.mergeBranches(id)
	if failure == nil && m.state.Limits.MaxBytes > 0 {
		failure = m.state.checkSize(m.graph.BlockSize(id))
	}
	if failure == nil {
		var merged map[string]event.Value
		if merged, failure = m.state.mergeConcurrent(id, m.graph.Step(id).Block.View, update, nil); merged != nil {
			update = merged
		}
	}
	if failure != nil {
		m.cancelBranches(id, "the block failed")
		m.failStep(id, *failure)
		return
	}
	m.cancelBranches(id, "another branch of "+n.ID+" settled the block")
	m.completeStep(id, &event.StepCompleted{Update: update}, m.state.plan.out...)
}

// failBlock fails a fork with the failure of the first failed branch in declared order.
func (m *machine) failBlock(id int, failed []int) {
	f := *m.graph.Scope(failed[0]).Failed
	if n := m.graph.StepNode(id); (n.Fork.Until == workflow.UntilAny || n.Fork.Until == workflow.UntilQuorum) &&
		!event.CodeIs(f.Code, event.OfRun) {
		f.Message = fmt.Sprintf("%d of %d branches failed; the first: %s", len(failed), len(n.Fork.Branches), f.Message)
	}
	m.cancelBranches(id, "another branch of "+m.graph.StepNode(id).ID+" failed")
	m.failStep(id, f)
}

// beginFlow enters the graph of a sub-flow. The initial state that the program returns is recorded
// with the edge (D4).
func (m *machine) beginFlow(id int, n *plan.Node) {
	st := m.graph.Step(id)
	d := &event.EdgeTaken{Edge: -1, To: m.graph.FlowIn(st.Block.Scopes[0]).Workflow.Entry, Token: m.graph.Tokens + 1,
		Scope: st.Block.Scopes[0]}
	if name := n.Subflow.Input; name != "" {
		v, err := m.state.plan.askValue(name, func(h Host) (event.Value, error) {
			return h.Value(name, m.state.view(id, nil))
		})
		if err == nil {
			if err = json.Unmarshal(v, &d.State); err != nil {
				err = fmt.Errorf("function %q returned no state: %w", name, err)
			}
		}
		if err != nil {
			m.failStep(id, event.Failure{Code: event.CodeFunc, Message: err.Error()})
			return
		}
	}
	m.emitStep(id, d)
}

// endFlow completes a sub-flow in which nothing is active any more.
func (m *machine) endFlow(id int) {
	n, d := m.graph.StepNode(id), &event.StepCompleted{}
	if m.graph.FlowIn(m.graph.Step(id).Block.Scopes[0]).Workflow.Rules.StateFlows {
		last := m.graph.FlowState(id)
		if name := n.Subflow.Mapper; name == "" {
			d.Output = last
		} else {
			update, err := m.state.plan.askUpdate(name, func(h Host) (map[string]event.Value, error) {
				return h.Merge(name, map[string]event.Value{n.ID: last}, m.state.view(id, nil))
			})
			if err != nil {
				m.failStep(id, event.Failure{Code: event.CodeFunc, Message: err.Error()})
				return
			}
			d.Update = update
		}
	}
	m.completeStep(id, d, m.state.plan.out...)
}
