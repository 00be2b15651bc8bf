// Package inflight bounds the bytes that requests and their answers hold in memory at one time.
//
// A [Pool] has one budget for the process and a share of it for each holder, such as an access token. A request has a [Claim] on the pool: it takes bytes before, or
// as soon as, it holds them, gives back what it no longer holds, and is closed at its end, which gives back the rest. Nothing waits: a claim that finds the budget used
// up gets a [*FullError], the request is refused and can be made again. So requests cannot deadlock while each holds a part of the budget.
//
// The package does not read bodies and does not know HTTP. The guard of a server puts a claim into the context of each request, charges the body as it arrives and
// each large write of an answer while it is being sent. Code that loads large values for an answer charges them itself, with [From] and [Claim.Take].
//
// Invariants: the bytes in use of a pool are the sum of its claims, never above the budget; no holder has more than the share; a closed claim holds nothing.
package inflight
