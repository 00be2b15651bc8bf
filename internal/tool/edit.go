package tool

import (
	"context"
	"encoding/json"
)

// anyObject is the schema of the arguments of a tool that says nothing of them.
var anyObject = json.RawMessage(`{"type":"object"}`)

// editable gives the schema that the arguments of a held call must fit where the person who is asked may change them; nil: they stay as they are, because no rule lets
// them be changed.
func (s *Set) editable(b *binding, c Call, resources []Resource) json.RawMessage {
	if !s.policyFor(c.Agent).Edits(b.permitCall(c, resources)) {
		return nil
	}
	_, sch := b.entry.look()
	if sch.compiled == nil {
		return anyObject
	}
	return sch.compiled.Raw()
}

// approvedAs tells whether the approval of a call covers the arguments to which the person changed those of the call that was held: the approval is that of the
// call as it was held, both may be changed, no rule asks about the new arguments that did not ask about the held ones, and they reach nothing that they do not show. A
// tool that asks by itself is not told of the approval, and asks about the new arguments.
func (s *Set) approvedAs(ctx context.Context, b *binding, t Tool, c Call, resources []Resource, hash string) bool {
	was := c
	was.Arguments, was.Held = Canonical(c.Held), nil
	was, reached, err := s.within(ctx, b, t, was)
	if err != nil || Binding(was, b.toolset(), hash) != c.Approved {
		return false
	}
	rules := s.policyFor(c.Agent)
	before, after := b.permitCall(was, reached), b.permitCall(c, resources)
	return rules.Edits(before) && rules.Edits(after) && !rules.AsksMore(before, after) && leadsTo(c.Arguments, resources) == ""
}
