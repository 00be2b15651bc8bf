package graph

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// items are the items of an active map. Each starts in its own scope; once it has ended, only the
// step that produced its output is kept.
type items struct {
	// Values share the bytes of the list.
	Values []event.Value
	// Next is the first item that may not have started in the current attempt.
	Next int
	// Done holds, by item, the step that produced its output, noOutput if there is none, or 0 if
	// the item has not ended. Ended is the number of items that have ended.
	Done  []int
	Ended int
	// Failed holds the failures by item; nil means that there are none.
	Failed map[int]*event.Failure
}

const noOutput = -1

// openItems reads the list of a map that starts. A value that is not a list, or is too long, yields
// no items.
func (g *Graph[L]) openItems(id int) {
	b := g.Step(id).Block
	if values, ok := jsontext.Items(g.StepInput(id)); ok && len(values) <= workflow.MaxItems {
		b.Items = &items{Values: values, Done: make([]int, len(values))}
	}
}

// HasItems reports whether a map has a list to work on.
func (g *Graph[L]) HasItems(id int) bool { return g.Step(id).Block.Items != nil }

// NextItem returns the 0-based position of the item that a map starts next. It returns false if
// there is none, or if the maximum number of items is active.
func (g *Graph[L]) NextItem(id int) (int, bool) {
	b := g.Step(id).Block
	if b.Items == nil || len(b.Scopes) >= g.StepNode(id).Map.Concurrency() {
		return 0, false
	}
	at := b.Items.next()
	return at, at < len(b.Items.Values)
}

// next skips the items that have ended in an earlier attempt.
func (m *items) next() int {
	at := m.Next
	for at < len(m.Done) && m.Done[at] != 0 {
		at++
	}
	return at
}

// ItemsEnded reports whether all items of a map have ended, and returns the failed ones, in order.
func (g *Graph[L]) ItemsEnded(id int) (all bool, failed []int) {
	m := g.Step(id).Block.Items
	if m == nil || m.Ended < len(m.Values) {
		return false, nil
	}
	for i := range m.Failed {
		failed = append(failed, i)
	}
	slices.Sort(failed)
	return true, failed
}

// Items returns the number of items of a map.
func (g *Graph[L]) Items(id int) int { return len(g.Step(id).Block.Items.Values) }

// ItemFailure returns the failure of an item.
func (g *Graph[L]) ItemFailure(id, item int) *event.Failure {
	return g.Step(id).Block.Items.Failed[item]
}

// ItemEnded reports whether nothing is left to do in the scope of an item whose end the map has not
// recorded yet.
func (g *Graph[L]) ItemEnded(id, scope int) bool {
	return g.Scope(scope).Live == 0 && slices.Contains(g.Step(id).Block.Scopes, scope)
}

// checkItem returns the reason why an item of a map can neither start nor end with this edge.
func (g *Graph[L]) checkItem(id int, d *event.EdgeTaken) string {
	b, n := g.Step(id).Block, g.StepNode(id)
	switch {
	case d.Edge != -1 || b.Items == nil:
		return "the map has no such item"
	case d.To == n.ID:
		if !g.ItemEnded(id, d.Scope) || g.Scope(d.Scope).Branch != d.Branch || d.Token != 0 {
			return "the item has not ended"
		}
	case d.To != n.Map.Entry || d.Scope != len(g.Scopes) || b.Items.next() != d.Branch-1 ||
		d.Branch > len(b.Items.Values):
		return "the item cannot begin"
	}
	return ""
}

// beginItem opens the scope of an item.
func (g *Graph[L]) beginItem(id int, d *event.EdgeTaken) {
	around, b := g.StepScope(id), g.Step(id).Block
	g.Scopes = append(g.Scopes, Scope{Flow: around.Flow, Owner: id, Branch: d.Branch, Base: b.Base, State: b.View,
		context: around.context})
	b.Scopes = append(b.Scopes, d.Scope)
	b.Items.Next = d.Branch
	g.Started++
}

// endItem records the output of an item, and drops the rest of it.
func (g *Graph[L]) endItem(id int, d *event.EdgeTaken) {
	b, sc := g.Step(id).Block, g.Scope(d.Scope)
	m, item := b.Items, sc.Branch-1
	m.Ended++
	m.Done[item] = noOutput
	switch {
	case sc.Failed != nil:
		if m.Failed == nil {
			m.Failed = map[int]*event.Failure{}
		}
		m.Failed[item] = sc.Failed
	case sc.Last > 0:
		m.Done[item] = sc.Last
	}
	i := slices.Index(b.Scopes, d.Scope)
	b.Scopes = slices.Delete(b.Scopes, i, i+1)
	g.dropItems([]int{d.Scope})
}

// ItemLast returns the step that last completed in an item that an edge ends; false if the edge
// ends none.
func (g *Graph[L]) ItemLast(id int, d *event.EdgeTaken) (int, bool) {
	if id == 0 || !g.endsItem(id, d) {
		return 0, false
	}
	return g.Scope(d.Scope).Last, true
}

// dropItems drops the contents of item scopes.
func (g *Graph[L]) dropItems(scopes []int) {
	g.killScopes(scopes)
	for _, id := range scopes {
		sc := g.Scope(id)
		*sc = Scope{Flow: sc.Flow, Owner: sc.Owner, Branch: sc.Branch, Dead: true, Started: sc.Started}
	}
}

// resetFailed lets a failed map start again: the items that did not fail keep their results.
func (m *items) resetFailed() {
	m.Next = 0
	for i := range m.Failed {
		m.Done[i] = 0
		m.Ended--
	}
	m.Failed = nil
}

// itemList returns the output of a map: for each item the output of its last step, or null if there
// is none. A failed item contributes its failure if collect is set, and otherwise null.
func (g *Graph[L]) itemList(id int, collect bool) Output {
	m := g.Step(id).Block.Items
	size := int64(2)
	for i, step := range m.Done {
		size += g.itemSize(step, m.Failed[i], collect) + 1
	}
	out := append(make(event.Value, 0, size), '[')
	for i, step := range m.Done {
		if i > 0 {
			out = append(out, ',')
		}
		v := event.Value("null")
		if f := m.Failed[i]; f != nil && collect {
			v = f.InList()
		} else if step > 0 {
			if given := g.Value(step); len(given) > 0 {
				v = given
			}
		}
		out = append(out, v...)
	}
	return Output{value: append(out, ']')}
}

func (g *Graph[L]) itemSize(step int, f *event.Failure, collect bool) int64 {
	switch {
	case f != nil && collect:
		return int64(len(f.InList()))
	case step > 0:
		return max(g.Step(step).Output.Size(), 4)
	}
	return 4
}

// itemsSize returns the size of the list that a map outputs.
func (g *Graph[L]) itemsSize(id int) int64 {
	m, n := g.Step(id).Block.Items, int64(0)
	for i, step := range m.Done {
		n += g.itemSize(step, m.Failed[i], true)
	}
	return n
}

// item returns the item of a scope, or none if the scope does not belong to an item.
func (g *Graph[L]) item(scope int) Output {
	if scope >= len(g.Scopes) {
		return Output{}
	}
	sc := g.Scope(scope)
	if sc.Owner == 0 || g.StepNode(sc.Owner).Kind != workflow.KindMap {
		return Output{}
	}
	b := g.Step(sc.Owner).Block
	if b == nil || b.Items == nil {
		return Output{}
	}
	return OutputOf(b.Items.Values[sc.Branch-1])
}

// innermostItem returns what the steps of a scope work on: the item of the innermost enclosing map,
// or 0 if there is none.
func (g *Graph[L]) innermostItem(scope int) int {
	for scope > 0 {
		owner := g.Scope(scope).Owner
		if g.StepNode(owner).Kind == workflow.KindMap {
			return -scope
		}
		scope = g.Step(owner).Scope
	}
	return 0
}

// Item returns the value that a scope sees of an item variable of an enclosing map; false if no map
// has that variable.
func (g *Graph[L]) Item(scope int, name string) (event.Value, bool) {
	for sc := g.Scope(scope); sc.Owner > 0; sc = g.StepScope(sc.Owner) {
		m := g.StepNode(sc.Owner).Map
		if m == nil {
			continue
		}
		switch item := m.Item(); name {
		case item:
			return g.Step(sc.Owner).Block.Items.Values[sc.Branch-1], true
		case workflow.ItemIndex(item):
			return event.Value(strconv.Itoa(sc.Branch - 1)), true
		}
	}
	return nil, false
}

// ItemStep returns the item of the variable with the given name in the form that [Graph.OutputText]
// accepts; false if no map around the scope has one.
func (g *Graph[L]) ItemStep(scope int, name string) (int, bool) {
	for scope > 0 {
		owner := g.Scope(scope).Owner
		if owner == 0 {
			break
		}
		if m := g.StepNode(owner).Map; m != nil && m.Item() == name {
			return -scope, true
		}
		scope = g.Step(owner).Scope
	}
	return 0, false
}

// dropInactive drops what only an active map needs. The inputs of its steps stay.
func (b *block) dropInactive() {
	if b.Scopes = nil; b.Items != nil {
		*b.Items = items{Values: b.Items.Values}
	}
}
