// Package compact determines which messages of a long conversation are kept when a summary replaces
// the rest, and how a model is asked for that summary.
//
// It does not call models, count tokens or decide when a conversation is too long: that is done by
// agents of documents (package engine) and sessions of Go programs (package llm).
//
// The flow: [Split] returns the ranges to remove; [Transcript] builds the message that asks for
// their summary, with [Prompt] as the system prompt; [Replace] replaces them with the summary.
//
// Invariants: the first user message, which is the task, the newest one, the last groups, calls
// without results and the calls of pinned tools are kept. A reply is kept or removed together with
// the results of its calls. The remaining messages keep their order.
package compact
