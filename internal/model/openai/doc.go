// Package openai is a client for Chat Completions: for OpenAI, and for any compatible server.
//
// It does not retry, does not read the environment (as the SDK's own clients would), and does not
// return truncated replies. No type of the SDK is exposed.
//
// The flow of a call: the request is built with the SDK's types and sent by the SDK; the response
// is read event by event here, because compatible servers send comments, omit final empty lines, or
// respond to a request for a stream with one JSON value, each of which the SDK's own reader treats
// as an error.
package openai
