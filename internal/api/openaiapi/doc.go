// Package openaiapi answers as OpenAI's chat completions do: the published workflows of the caller's namespace are its models.
//
// It knows OpenAI's form and the use cases of package service, and takes both the caller and their service from the request's context (package transport): no other
// namespace can be seen (SEC10). It refuses what it cannot honour and a client would notice (several choices, JSON as response format, a required tool, parts that
// are not text) by name, and ignores what is the workflow's business, such as the temperature. The choices are in ADR 27.
//
// The flow of POST /v1/chat/completions:
//
//  1. The request is read ([request.check]) and the model found: what is published of a workflow, or one of its branches (models.go).
//  2. If the last answer in the conversation ends with the text of a wait that this endpoint wrote for the same token, the last message answers that wait
//     (waits.go). Otherwise a run begins, with the conversation as its input (conversation.go).
//  3. The run is followed until it ends or waits for a person (follow.go). What the agent says whose text is the run's output is streamed meanwhile (live.go).
//  4. The output, or what the run waits for, is the answer (reply.go); whatever failed is an error in OpenAI's form (errors.go).
//
// Invariants: what was streamed is the beginning of the answer, or the stream ends with an error. A wait is answered only by the token that started its run, an
// approval only where that token stands for a person (SEC12, D32), and only behind the very text that asks for it. No text of a model ends like ours. A client
// that leaves leaves the run alone, unless it asked for its end.
package openaiapi
