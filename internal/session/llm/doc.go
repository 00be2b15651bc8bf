// Package llm implements a coding agent on top of a model and tools: sessions whose conversation
// Hocket keeps itself (S2-68).
//
// The package does not depend on any provider or tool: both come through ports. It does not call a
// tool that the session was not granted (SEC13), does not report a percentage of a window whose
// size is unknown, and does not store conversations on disk: after a crash, the results of models
// and tools are read back from the journal of the node function that created the session, and the
// conversation is rebuilt from them.
//
// The flow of one message:
//
//  1. [Client.CreateSession] determines the model, the system prompt and the tools.
//  2. Stream appends the message, calls the model, runs the tools that the model requests, and
//     continues until an answer requests none. Each message of the agent is complete: the text of a
//     model call is emitted when the call has ended, so that a turn replayed from the journal reads
//     the same.
//  3. Each model call and each tool call is its own [graph.Once], with a key made of the session's
//     key, a number and the request: nothing is paid for twice after a crash, and a later attempt
//     with another prompt calls the model again.
//  4. Compaction replaces the middle of a conversation that grows too long with a summary that the
//     model writes: before a message is added, if the context is more than 45 % full, and between
//     the model calls of one turn, if it is more than 60 % full.
//
// Invariants: the task (the first message) and the newest message survive each compaction word for
// word, as do the last groups; a call and its results are kept or removed together, and a call that
// has no result yet is kept (P41); order is preserved; compaction of a session depends on the
// tokens of its own last reply, never on those of an agent that a tool ran; a turn ends within
// MaxTurns model calls, and sooner if the same call is repeated again and again (P27).
package llm
