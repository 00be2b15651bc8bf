// Package userprompt is the toolset of type user_prompt: one tool, user_prompt, by which an agent asks a person.
//
// It refuses to ask by itself and to answer in anybody's place: a call is a [tool.HoldError] of kind question, the engine opens a wait, and what the person
// answers is the call's result. No model and no other tool can answer it.
//
// Invariant: a question always names the agent that asks, so that no model's words pass for Hocket's own.
package userprompt
