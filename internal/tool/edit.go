package tool

import (
	"context"
	"encoding/json"
)

// anyObject is the argument schema of a tool that declares none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// editable returns the schema that the arguments of a held call must match if the person who is
// asked may change them; nil means that they cannot be changed, because no rule allows it.
func (s *Set) editable(b *binding, c Call, resources []Resource) json.RawMessage {
	if !s.policyFor(c).Edits(b.permitCall(c, resources)) {
		return nil
	}
	_, sch := b.entry.definition()
	if sch.compiled == nil {
		return anyObject
	}
	return sch.compiled.Raw()
}

// approvedAs reports whether the approval of a call covers the arguments to which the person
// changed those of the held call: the approval is for the call as it was held, both may be
// changed, no rule asks about the new arguments that did not ask about the held ones, and the new
// arguments reach nothing that they do not show. A tool that asks by itself does not learn of the
// approval, and asks about the new arguments.
func (s *Set) approvedAs(ctx context.Context, b *binding, t Tool, c Call, resources []Resource, hash string) bool {
	was := c
	was.Arguments, was.Held = Canonical(c.Held), nil
	was, reached, err := s.within(ctx, b, t, was)
	if err != nil || Binding(was, b.toolset(), hash) != c.Approved {
		return false
	}
	rules := s.policyFor(c)
	before, after := b.permitCall(was, reached), b.permitCall(c, resources)
	return rules.Edits(before) && rules.Edits(after) && !rules.AsksMore(before, after) &&
		leadsTo(c.Arguments, resources) == ""
}
