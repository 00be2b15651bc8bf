// Package acp drives coding agents that are separate programs and speak the Agent Client Protocol:
// Claude Code, OpenCode, Copilot CLI, Gemini CLI and others (S2-68). It is the client side of the
// protocol, version 1, on top of its Go SDK.
//
// It does not pass our environment to an agent: the agent gets what programs need to find their
// files, and what the config names. It does not let an agent do what requires permission unless the
// config allows it, does not reach files outside the session's folder on its behalf (SEC16), does
// not run commands for it (terminals are not offered), does not pass it MCP servers or Hocket's
// tools, and does not send a message again whose outcome is unknown (D23). None of this is a
// sandbox: an agent is a program, and whatever it does without asking it does with the permissions
// of its user. Many ask by default; Preset describes each.
//
// The flow of a session, which is a separate process:
//
//  1. [Client.CreateSession] starts the command, negotiates the version, and begins a session in
//     its folder or loads a former one.
//  2. Stream sends a message, passes on what the agent reports about its work, answers its
//     requests, and ends with the agent's turn. A message, its outcome and the session's id are a
//     [graph.Once] each: after a crash, a message that was answered is not sent again, the session
//     is loaded if the agent supports it, and a message that was not answered ends with
//     graph.ErrUnknownOutcome unless Config.RepeatUnknown is set.
//  3. When ctx ends, or the caller leaves the loop, the agent is told to stop; an agent that does
//     not stop in time is killed.
//  4. Destroy closes the agent's input, then asks it to end, then kills it with all its children.
//
// Permissions: a request is denied if Config.Deny names its kind or its tool, granted if
// Config.Allow does, else Config.Decide decides; without it the request is denied. To ask a person,
// use a Decide that asks; no time limit of the turn runs meanwhile, but ctx ends the question. A
// grant is for a single use, if the agent offers that.
//
// Invariants: after Destroy, and 5 s after the end of the context that created the session, no
// process and no goroutine of it is left (P11); no type of the SDK leaves this package; messages
// keep the order in which the agent sent them; a tool call is reported once when it begins and once
// when it ends.
package acp
