// Package model is the port for calling models: requests, replies, deltas, kinds of failure, model
// references and the registry that finds the provider of a reference.
//
// It does not depend on any provider's SDK (each stays inside its adapter, a folder below), does
// not retry after a failure (retries belong to the engine, D11), does not read the process
// environment by itself, and does not return partial replies: a Reply is complete or it is an
// error.
//
// The flow of a call:
//
//  1. The driver of a run passes a [Request], whose Model is a reference such as
//     `openai/gpt-6.1-terra`, to a [Client]: the [Registry], a reply script (script/), or either of
//     them behind a recorder (cassette/).
//  2. The Registry resolves the reference, builds the provider's adapter on first use and forwards
//     the call with the bare model name, with the time limits of [WithTimeouts].
//  3. The adapter streams: chunks are passed to onDelta, and the complete result is returned as a
//     [Reply] or as an [*Error].
//
// Invariants: after Call has returned nothing of it is still running; with a done context it
// returns an error for which errors.Is(err, ctx.Err()) holds; no error message contains a key
// (SEC11).
package model
