// Package google speaks Google's Gemini API (not Vertex AI).
//
// It refuses to retry and to hand on an answer that was cut off. No type of the SDK leaves it. The key and the address are always given to
// the SDK, which would else look into the environment; when both GOOGLE_API_KEY and GEMINI_API_KEY are set there, it says so on the
// standard logger whatever it is given.
//
// The flow of a call: request and stream are the SDK's. What it would print or lose about the exchange is seen by package adapter.
//
// Thought signatures are kept in ToolCall.Extra and Message.Extra and sent back with the part that they came with, without which newer
// models refuse the conversation.
package google
