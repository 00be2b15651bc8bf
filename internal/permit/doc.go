// Package permit decides whether a tool call may be made: at once, after a person said yes, or never.
//
// It refuses to know tools, agents and documents, to ask anybody, and to judge what a call would do: it compares names, arguments and what toolsets say
// that arguments reach with patterns, and nothing that it says replaces a sandbox.
//
// The flow: the reader of a document or of the operator's file makes [Rules] of the lists and reports what [Rules.Problems] finds. [Compile] makes a
// [Policy] of several Rules, of which the stricter wins for each call ([Policy.Decide]).
//
// Invariants: deny wins over ask, and ask over allow; a second set of rules can only make a decision stricter; what a rule cannot read never loosens.
package permit
