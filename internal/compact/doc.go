// Package compact says what of a long conversation stays when a summary takes the place of the rest, and what a model is asked for that summary.
//
// It refuses to call models, to count tokens and to decide when a conversation is too long: agents of documents (package engine) and sessions of Go programs (package llm) do.
//
// The flow: [Split] gives the ranges that go; [Transcript] makes of them the message that asks for a summary, with [Prompt] as the system prompt; [Replace] puts the
// summary into their place.
//
// Invariants: the first message of the user, which is the task, the newest one, the last groups, calls without results and the calls of pinned tools stay. A reply stays or goes with the results of its
// calls. What stays keeps its order.
package compact
