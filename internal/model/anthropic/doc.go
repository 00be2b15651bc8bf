// Package anthropic is a client for Anthropic's Messages API.
//
// It does not retry, does not read the environment or profiles (as the SDK's own clients would),
// and does not return truncated replies. No type of the SDK is exposed.
//
// The flow of a call: the request is built with the SDK's types and sent by the SDK; the response
// is read event by event here, because the SDK's Accumulate empties the arguments of a tool call
// that are not JSON, which must be reported to the model, and its Messages service prints warnings
// to standard error.
//
// Blocks of thinking and of web searches are kept in Message.Extra and sent back in their original
// positions: the API checks their signatures. The list of sources that follows a reply is ours and
// is not sent back.
package anthropic
