// Package anthropic speaks Anthropic's Messages API.
//
// It refuses to retry, to read the environment or profiles (the SDK's own clients would), and to hand on an answer that was cut off. No
// type of the SDK leaves it.
//
// The flow of a call: the request is built with the SDK's types and sent by the SDK; the answer is read event by event here, because the
// SDK's Accumulate empties the arguments of a tool call that are no JSON, which must be reported to the model, and its Messages service
// prints warnings on standard error.
//
// Blocks of thinking and of web searches are kept in Message.Extra and sent back in their old places: the API checks their signatures. The list of sources that
// follows an answer is ours and is not sent back.
package anthropic
