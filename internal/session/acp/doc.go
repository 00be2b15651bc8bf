// Package acp drives coding agents that are programs of their own and speak the Agent Client Protocol: Claude Code, OpenCode, Copilot CLI, Gemini CLI
// and others (S2-68). It is the client's side of the protocol, version 1, through its Go SDK.
//
// It refuses to give an agent our environment: it gets what programs need to find themselves, and what the config names. It refuses to let an agent do
// what asks for permission unless the config allows it, to reach files outside of the session's folder on its behalf (SEC16), to run commands for it (terminals are
// not offered), to give it MCP servers or Hocket's tools, and to send a message again whose outcome is not known (D23). None of this is a
// sandbox: an agent is a program, and what it does without asking it does with the rights of its user. Many ask by default; Preset tells of each.
//
// The flow of a session, which is a process of its own:
//
//  1. [Client.CreateSession] starts the command, agrees on the version, and begins a session in its folder or loads a former one.
//  2. Stream sends a message, hands on what the agent says about its work, answers its wishes, and ends with the agent's turn. A message, what came of it and the
//     session's id are a [graph.Once] each: after a crash, a message that was answered is not sent again, the session is loaded where the agent can do that,
//     and a message that was not answered ends with graph.ErrUnknownOutcome unless Config.RepeatUnknown says otherwise.
//  3. When ctx ends, or the loop is left, the agent is told to stop; one that does not stop in time is killed.
//  4. Destroy closes the agent's input, then asks it to end, then kills it with all its children.
//
// Permissions: what an agent asks for is denied when Config.Deny names its kind or its tool, granted when Config.Allow does, else Config.Decide is asked; else it is denied. A person
// is asked by a Decide that asks; no time limit of the turn runs meanwhile, but ctx ends the question. A grant is for once, if the agent offers that.
//
// Invariants: after Destroy, and 5 s after the end of the context that made the session, no process and no goroutine of it is left (P11); no type of the SDK
// leaves this package; messages keep the order in which the agent sent them; a tool call is reported once when it begins and once when it ends.
package acp
