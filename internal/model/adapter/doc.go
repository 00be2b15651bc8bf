// Package adapter holds what the provider adapters share: watching one HTTP exchange, and turning
// any failure into a [model.Error].
//
// It exists because the SDKs lose or print information that a journal needs: the status of a
// response that is not JSON, Retry-After, whether a stream was complete. Instead of querying three
// SDKs in three ways, the exchange is watched at the HTTP layer.
//
// The flow: [Client] wraps an HTTP client once; [Begin] starts watching a call; the SDK does its
// work with the context that Begin returned; [Exchange.Failure] then reports what happened. The
// package is independent of any provider and imports no SDK.
package adapter
