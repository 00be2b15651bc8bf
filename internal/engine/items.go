package engine

import (
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// This file starts the items of a map and ends the map. The state of the items is in package graph.

// beginItems starts as many items of a map as may run concurrently.
func (b *blocks) beginItems(id int) {
	if !b.graph.HasItems(id) { // no list could be built when the step started, so a later attempt has none
		b.steps.failForGood(id, Failure{Code: CodeExpression, Message: "over: the map has no list"})
		return
	}
	b.advanceItems(id)
}

// advanceItems starts the items that may start, and ends a map that has none left.
func (b *blocks) advanceItems(id int) {
	for b.nextItem(id) {
	}
	b.settleMap(id)
}

// nextItem starts one more item of a map. It returns false if none is left or the maximum number is
// running.
func (b *blocks) nextItem(id int) bool {
	item, ok := b.graph.NextItem(id)
	if !ok {
		return false
	}
	b.emitStep(id, b.mem.edges.alloc(EdgeTaken{Edge: -1, To: b.graph.StepNode(id).Map.Entry, Token: b.graph.Tokens + 1,
		Scope: len(b.graph.Scopes), Branch: item + 1}))
	return true
}

// closeItem checks the scope of an item. If nothing is alive in it any more, the item has ended and
// the next one starts.
func (b *blocks) closeItem(id, scope int) {
	if b.state.Loop.IsAsleep(id) {
		return // the map waits for its next attempt
	}
	if !b.graph.ItemEnded(id, scope) {
		b.advanceItems(id)
		return
	}
	b.emitStep(id, b.mem.edges.alloc(EdgeTaken{Edge: -1, To: b.graph.StepNode(id).ID, Scope: scope,
		Branch: b.graph.Scope(scope).Branch}))
	b.advanceItems(id)
}

// failItem fails a map whose item has failed, unless the map continues without the item.
func (b *blocks) failItem(id, item int, f Failure) {
	switch b.graph.StepNode(id).Map.OnItemError {
	case workflow.FailSkip, workflow.FailCollect:
		if !event.CodeIs(f.Code, event.OfRun) {
			return // the scope has ended and is recorded like any other
		}
	}
	b.steps.cancelBranches(id, "another item of "+b.graph.StepNode(id).ID+" failed")
	f.Message = itemName(item) + ": " + f.Message
	b.steps.failStep(id, f)
}

// itemName returns the name of an item for messages.
func itemName(item int) string { return "items[" + strconv.Itoa(item) + "]" }

// settleMap ends a map whose items have all ended.
func (b *blocks) settleMap(id int) {
	all, failed := b.graph.ItemsEnded(id)
	if !all {
		return
	}
	n := b.graph.StepNode(id)
	if len(failed) > 0 && n.Map.OnItemError == workflow.FailCollect {
		first := b.graph.ItemFailure(id, failed[0])
		b.steps.failStep(id, Failure{Code: CodeItemsFailed, Node: first.Node,
			Message: fmt.Sprintf("%d of %d items failed; the first, %s: %s", len(failed), b.graph.Items(id),
				itemName(failed[0]), first.Message)})
		return
	}
	if b.state.Limits.MaxBytes > 0 {
		if f := b.state.checkSize(b.graph.BlockSize(id)); f != nil {
			b.steps.failStep(id, *f)
			return
		}
	}
	done := &StepCompleted{}
	if name := n.Map.Merge; name != "" {
		list := b.graph.BlockOutput(id).Value()
		update, err := b.state.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
			return h.Merge(name, map[string]Value{n.ID: list}, viewer{&b.state}.view(id, nil))
		})
		if err != nil {
			b.steps.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	b.steps.complete(id, done, b.state.plan.out...)
}
