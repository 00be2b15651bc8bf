// Package acp lets agent nodes of graphs use coding agents that run as separate programs: Claude
// Code, OpenCode, Copilot CLI, Gemini CLI, and any other program that speaks the Agent Client
// Protocol, version 1.
//
//	claude, err := acp.New(acp.Config{Preset: "claude", Dir: "/src/app", Allow: []string{"read", "search"}})
//	eng, err := hocket.Open(ctx, hocket.Config{DB: "app.db"}, hocket.WithSessions("claude", claude))
//
// An agent node with AgentType "claude" then has a session with Claude Code, which runs as a
// separate process for the lifetime of the session.
//
// The package does not start anything the program does not name, pass the program's environment or
// Hocket's tools to an agent, grant what the config does not allow, or resend a message whose
// outcome is unknown after a crash. It is not a sandbox: what an agent does without asking, it does
// with the permissions of its user. It is separate from package hocket because it depends on the
// protocol's SDK.
//
// A session proceeds as follows. The command is started in the session's folder. The system prompt
// is sent before the first message. Agent output is streamed as it arrives. Permission requests are
// decided by Deny, Allow and Decide, in this order. When the session is destroyed, or the context
// that created it is done, the agent is told to stop, and is killed together with its children if
// it does not stop. Messages, their replies and the session's id are stored through graph.Once:
// after a crash an answered message is not sent again, and an agent that can load sessions
// continues its own.
//
// Five seconds after the end of a session none of its processes remain. Context monitors summarize
// with the agent's own command, if it has one; context usage is known only if the agent reports it.
package acp
