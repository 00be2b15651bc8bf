// Package llm is a coding agent made of a model and tools: sessions whose conversation Hocket keeps itself (S2-68).
//
// It refuses to know a provider or a tool: both come through ports. It refuses to call a tool that the session was not granted (SEC13), to tell
// a percentage of a window whose size it does not know, and to keep a conversation on disk: after a crash the journal of the node function that made the
// session gives back what models and tools answered, and the conversation grows again from that.
//
// The flow of one message:
//
//  1. [Client.CreateSession] settles model, system prompt and tools.
//  2. Stream adds the message, asks the model, carries out the tools that it asks for, and goes on until an answer asks for none. Each message of the
//     agent is whole: the texts of a model call come when the call has ended, so that a turn that is repeated from the journal reads as it did.
//  3. Each model call and each tool call is a [graph.Once] of its own, under a key made of the session's key, a number and what is asked: a crash pays
//     nothing twice, and a later attempt with another prompt is asked anew.
//  4. Compaction replaces the middle of a conversation that grows too long by a summary that the model makes: before a message is added, when the
//     context is more than 45 % full, and between the model calls of one turn, when it is more than
//     60 % full.
//
// Invariants: the task (the first message) and the newest message survive each compaction word for word, as do the last groups; a call
// and its results stay together or go together, and a call that has no result yet stays (P41); order is kept; what counts for a session's compaction are the
// tokens of its own last reply, never those of an agent that a tool ran; a turn ends within MaxTurns model calls, and sooner when the same call comes
// again and again (P27).
package llm
