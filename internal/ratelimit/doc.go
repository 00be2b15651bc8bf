// Package ratelimit paces the calls of one process to what a provider takes: one limiter for each key of a provider, over all runs (P14).
//
// It refuses to call anybody, to try anything again (a limiter is no retry, D11), to know what a call is, and to share a key with other processes: each
// process keeps to the limits by itself, so several that use one key must be given a part of them each.
//
// The flow: a caller takes a [Ticket] of its key's [Limiter] and waits until the ticket is [Ticket.Ready], which is when it is first in the queue and
// nothing blocks it; then it makes itself ready (a driver takes a slot), and [Ticket.Start] takes the turn, or sends it back to wait.
// [Ticket.Done] tells what became of the call. One that was turned away pauses the whole key for as long as the provider asked, and after
// it calls begin one by one, more of them with each that succeeds.
//
// Invariants: tickets start in the order in which they were taken; no two starts of a key lie closer together than its limits say; none starts while
// the key is paused; every ticket that is left or done lets the next one go on.
package ratelimit
