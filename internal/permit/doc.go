// Package permit decides whether a tool call may be made: immediately, after a person has approved
// it, or never.
//
// It does not depend on tools, agents and documents, does not ask anybody, and does not judge what
// a call would do: it compares names, arguments and the resources that toolsets report with
// patterns, and its decisions do not replace a sandbox.
//
// The flow: the reader of a document or of the operator's file builds [Rules] from the lists and
// reports what [Rules.Problems] finds. [Compile] returns a [Policy] for several Rules; the
// strictest decision applies to each call ([Policy.Decide]).
//
// Invariants: deny takes precedence over ask, and ask over allow; a second set of rules can only
// make a decision stricter; input that a rule cannot read never makes it more permissive.
package permit
