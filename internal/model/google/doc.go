// Package google is a client for Google's Gemini API (not Vertex AI).
//
// It does not retry and does not return truncated replies. No type of the SDK is exposed. The key
// and the address are always passed to the SDK, which would otherwise read the environment; if both
// GOOGLE_API_KEY and GEMINI_API_KEY are set there, it says so on the standard logger regardless.
//
// The flow of a call: the SDK handles the request and the stream. Information about the exchange
// that it would print or lose is captured by package adapter.
//
// Thought signatures are kept in ToolCall.Extra and Message.Extra and sent back with the part they
// came with; without them newer models reject the conversation.
package google
