// Package adapter holds what the adapters of providers have in common: watching one HTTP exchange, and turning whatever went wrong into a [model.Error].
//
// It exists because the SDKs lose or print what a journal needs: the status of an answer that is no JSON, Retry-After, whether a stream
// was complete. Instead of asking three SDKs in three ways, the exchange is watched below them.
//
// The flow: [Client] wraps an HTTP client once; [Begin] starts watching a call; the SDK does its work with the context that Begin gave;
// [Exchange.Failure] then says what happened. It knows no provider and imports no SDK.
package adapter
