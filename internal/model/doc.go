// Package model is the port through which models are asked: requests, replies, deltas, kinds of failure, references to models and
// the registry that finds the provider of a reference.
//
// It refuses to know any provider's SDK (each stays inside its adapter, a folder below), to call again after a failure (retries
// are the engine's, D11), to read the process environment by itself, and to hand on half an answer: a Reply is whole or it is an error.
//
// The flow of a call:
//
//  1. The driver of a run gives a [Request], whose Model is a reference such as `openai/gpt-6.1-terra`, to a [Client]: the [Registry],
//     a reply script (script/), or either of them behind a recorder (cassette/).
//  2. The Registry resolves the reference, builds the provider's adapter on first use and passes the call on with the bare model name,
//     bounded in time by [WithTimeouts].
//  3. The adapter streams: what comes in is passed to onDelta, and the whole is returned as a [Reply] or as an [*Error].
//
// Invariants: after Call has returned nothing of it runs any more; a done context gives an error for which
// errors.Is(err, ctx.Err()) holds; no error text contains a key (SEC11).
package model
