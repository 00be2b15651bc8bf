// Package acp lets agent nodes of graphs work with coding agents that are programs of their own: Claude Code, OpenCode, Copilot CLI, Gemini CLI, and
// whatever else speaks the Agent Client Protocol, version 1 (S2-68).
//
//	claude, err := acp.New(acp.Config{Preset: "claude", Dir: "/src/app", Allow: []string{"read", "search"}})
//	eng, err := hocket.Open(ctx, hocket.Config{DB: "app.db"}, hocket.WithSessions("claude", claude))
//
// An agent node with AgentType "claude" then has a session with Claude Code, which is a process of its own for as long as the session lives.
//
// It refuses to start what the program does not name (SEC5), to give an agent the program's environment or Hocket's tools, to grant what the config does not
// allow (SEC13), and to send a message again whose outcome a crash left unknown (D23). It is no sandbox: what an agent does without asking, it does with the
// rights of its user. It stands apart from package hocket because it brings along the protocol's SDK.
//
// The flow of a session: the command is started in its folder; the system prompt goes before the first message; what the agent says comes as it comes; what it
// asks leave for is decided by Deny, Allow and Decide, in this order; when the session is destroyed, or the context that made it is done, the agent is told to
// stop, and killed with its children if it does not. Messages, their answers and the session's id are kept by graph.Once: after a crash a
// message that was answered is not sent again, and an agent that can load sessions goes on with its own.
//
// Invariants: 5 s after the end of a session no process of it is left (P11). A summary, which context monitors ask for, is the agent's own command, where it has
// one; the usage of the context is known where the agent tells it.
package acp
