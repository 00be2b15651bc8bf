// Package inflight limits the number of bytes that requests and their responses hold in memory at
// one time.
//
// A [Pool] has one budget for the process and a share of it for each holder, such as an access
// token. A request has a [Claim] on the pool: it charges bytes before, or as soon as, it holds
// them, releases those it no longer holds, and is closed at its end, which releases the rest.
// Nothing blocks: a claim that finds the budget used up gets a [*FullError], and the request is
// rejected and can be retried. So requests cannot deadlock while each holds a part of the budget.
//
// The package does not read bodies and does not know about HTTP. A server's guard puts a claim into
// the context of each request, charges the body as it arrives and each large write of a response
// while it is being sent. Code that loads large values for a response charges them itself, with
// [From] and [Claim.Take].
//
// Work that costs a multiple of what a request brought, such as reading a document, is charged
// before it is done, with [Claim.Reserve].
//
// Invariants: the bytes in use of a pool are the sum of its claims and never exceed the budget; no
// holder exceeds the share, but for one claim with reserved work; a closed claim holds nothing.
package inflight
