// Package userprompt implements the toolset of type user_prompt: one tool, user_prompt, with which
// an agent asks a person a question.
//
// It neither asks anyone directly nor answers on anyone's behalf: a call returns a [tool.HoldError]
// of kind question, the engine opens a wait, and the person's answer becomes the result of the
// call. No model and no other tool can answer it.
//
// Invariant: a question always names the agent that asks, so that a model's words cannot pass for
// Hocket's own.
package userprompt
