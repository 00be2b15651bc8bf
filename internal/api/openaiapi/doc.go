// Package openaiapi implements OpenAI's chat completions API: the published workflows of the
// caller's namespace are its models.
//
// It knows OpenAI's format and the use cases of package service, and takes both the caller and
// their service from the request's context (package transport): no other namespace is visible
// (SEC10). If a request asks for something that it cannot honor and a client would notice (several
// choices, JSON as response format, a required tool, parts that are not text), it rejects the
// request and names the field. It ignores what is the workflow's business, such as the temperature.
// The choices are in ADR 27.
//
// The flow of POST /v1/chat/completions:
//
//  1. The request is read ([request.check]) and the model is looked up: the published version of a
//     workflow, or one of its branches (models.go).
//  2. If the last answer in the conversation ends with the text of a wait that this endpoint wrote
//     for the same token, the last message answers that wait (waits.go). Otherwise a run starts,
//     with the conversation as its input (conversation.go).
//  3. The run is followed until it ends or waits for a person (follow.go). Meanwhile, the output of
//     the agent whose text becomes the run's output is streamed (output_stream.go).
//  4. The output, or the question of the wait, is the answer (reply.go); any failure is an error in
//     OpenAI's form (errors.go).
//
// Invariants: the streamed text is a prefix of the answer, or the stream ends with an error. A wait
// is answered only by the token that started its run, an approval only if that token stands for a
// person (SEC12, D32), and only directly after the very text that asks for it. No model output can
// end like that text. When a client disconnects, the run continues, unless the client asked for it
// to be cancelled.
package openaiapi
