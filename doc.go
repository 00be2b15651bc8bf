// Package hocket runs agent workflows inside Go programs.
//
//	eng, err := hocket.Open(ctx, hocket.Config{DB: "app.db"})
//	defer eng.Close()
//	res, err := hocket.Run(ctx, eng, g, State{Topic: "tides"})
//
// An [Engine] is a store with whatever drives runs on it. It runs graphs of Go functions that package graph compiles. Everything that happens is
// journaled before it is acted upon, so that a run survives the process: it can be resumed, by another process too, and no node that ended runs again.
//
// It refuses to be a server, and to bring along what a program does not ask for: no command line, no HTTP API, no SDK of a model provider.
//
// The flow of a graph: [Run] or [Stream] starts a run and follows it; where it waits for a person, or was interrupted, [Resume] goes on with it, in the
// same process or another one that has the same graph. A program that restarts calls [Register] for its graphs and then [Engine.Recover].
//
// # Agents
//
// Agent nodes of graphs talk to sessions ([graph.AgentConfig]). Where the engine has models, the agent type [AgentLLM] is there without more: a model
// with the tools that the node names. [WithLLMSessions] makes types of other models and prompts; [WithSessions] takes a client of package acp, which drives
// coding agents such as Claude Code as subprocesses, or one of the program's own. No program is started that no option names (SEC5).
//
// # Contexts
//
// A context that is done, and a loop over a stream that is left, interrupt the run: the functions that run see their contexts done, what they give all
// the same is recorded, and the run can be resumed. In memory, where nothing could resume it, it is cancelled. [Engine.Cancel] cancels (D22).
//
// # Errors
//
// An error of a function of this package says what could not be done. How a run ended is no such error: it stands in its result.
package hocket
