// Package openai speaks Chat Completions: to OpenAI, and to any server that is compatible with it.
//
// It refuses to retry, to read the environment (the SDK's own clients would), and to hand on an answer that was cut off. No type of the
// SDK leaves it.
//
// The flow of a call: the request is built with the SDK's types and sent by the SDK; the answer is read event by event here,
// because compatible servers send comments, leave out final empty lines, or answer a request for a stream with one JSON value, and the
// SDK's own reader takes each of these for an error.
package openai
