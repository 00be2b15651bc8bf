package engine

import (
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// This file starts the items of a map and ends the map. The state of the items is in package graph.

// beginItems starts as many items of a map as may run concurrently.
func (m *machine) beginItems(id int) {
	if !m.graph.HasItems(id) { // no list could be built when the step started, so a later attempt has none
		m.failForGood(id, event.Failure{Code: event.CodeExpression, Message: "over: the map has no list"})
		return
	}
	m.advanceItems(id)
}

// advanceItems starts the items that may start, and ends a map that has none left.
func (m *machine) advanceItems(id int) {
	for m.nextItem(id) {
	}
	m.settleMap(id)
}

// nextItem starts one more item of a map. It returns false if none is left or the maximum number is
// running.
func (m *machine) nextItem(id int) bool {
	item, ok := m.graph.NextItem(id)
	if !ok {
		return false
	}
	m.emitStep(id, m.mem.edges.alloc(event.EdgeTaken{Edge: -1, To: m.graph.StepNode(id).Map.Entry,
		Token: m.graph.Tokens + 1,
		Scope: len(m.graph.Scopes), Branch: item + 1}))
	return true
}

// closeItem checks the scope of an item. If nothing is alive in it any more, the item has ended and
// the next one starts.
func (m *machine) closeItem(id, scope int) {
	if m.state.isAsleep(id) {
		return // the map waits for its next attempt
	}
	if !m.graph.ItemEnded(id, scope) {
		m.advanceItems(id)
		return
	}
	m.emitStep(id, m.mem.edges.alloc(event.EdgeTaken{Edge: -1, To: m.graph.StepNode(id).ID, Scope: scope,
		Branch: m.graph.Scope(scope).Branch}))
	m.advanceItems(id)
}

// failItem fails a map whose item has failed, unless the map continues without the item.
func (m *machine) failItem(id, item int, f event.Failure) {
	switch m.graph.StepNode(id).Map.OnItemError {
	case workflow.FailSkip, workflow.FailCollect:
		if !event.CodeIs(f.Code, event.OfRun) {
			return // the scope has ended and is recorded like any other
		}
	}
	m.cancelBranches(id, "another item of "+m.graph.StepNode(id).ID+" failed")
	f.Message = itemName(item) + ": " + f.Message
	m.failStep(id, f)
}

// itemName returns the name of an item for messages.
func itemName(item int) string { return "items[" + strconv.Itoa(item) + "]" }

// settleMap ends a map whose items have all ended.
func (m *machine) settleMap(id int) {
	all, failed := m.graph.ItemsEnded(id)
	if !all {
		return
	}
	n := m.graph.StepNode(id)
	if len(failed) > 0 && n.Map.OnItemError == workflow.FailCollect {
		first := m.graph.ItemFailure(id, failed[0])
		m.failStep(id, event.Failure{Code: event.CodeItemsFailed, Node: first.Node,
			Message: fmt.Sprintf("%d of %d items failed; the first, %s: %s", len(failed), m.graph.Items(id),
				itemName(failed[0]), first.Message)})
		return
	}
	if m.state.Limits.MaxBytes > 0 {
		if f := m.state.checkSize(m.graph.BlockSize(id)); f != nil {
			m.failStep(id, *f)
			return
		}
	}
	done := &event.StepCompleted{}
	if name := n.Map.Merge; name != "" {
		list := m.graph.BlockOutput(id).Value()
		update, err := m.state.plan.askUpdate(name, func(h Host) (map[string]event.Value, error) {
			return h.Merge(name, map[string]event.Value{n.ID: list}, m.state.view(id, nil))
		})
		if err != nil {
			m.failStep(id, event.Failure{Code: event.CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	m.completeStep(id, done, m.state.plan.out...)
}
