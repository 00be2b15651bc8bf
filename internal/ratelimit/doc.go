// Package ratelimit paces the calls of a process to what a provider takes: one limiter for each key of a provider, over all runs (P14).
//
// It refuses to make calls, to try anything again (a limiter is no retry, D11), and to know what a call is.
//
// Processes that use one key are in a [Line], and each gets an equal part of the limits; where a key may have fewer calls in flight than there are processes, they take turns. A
// process that does not know its part makes no call; one that makes no calls gives its part up. A key that was turned away pauses in its own process alone.
//
// The flow: a caller takes a [Ticket] of its key's [Limiter] and waits until the ticket is [Ticket.Ready], which is when it is first in the queue and
// nothing blocks it; then it makes itself ready (a driver takes a slot), and [Ticket.Start] takes the turn, or sends it back to wait.
// [Ticket.Done] tells what became of the call. One that was turned away pauses the whole key for as long as the provider asked, and after
// it calls begin one by one, more of them with each that succeeds.
//
// Invariants: tickets start in the order in which they were taken; no two starts of a key lie closer together than its limits say; none starts while
// the key is paused; every ticket that is left or done lets the next one go on.
package ratelimit
