// Package ratelimit limits the rate of a process's calls to what a provider accepts: one limiter
// for each API key, over all runs (P14).
//
// It does not make calls, does not retry (a limiter is not a retry policy, D11), and does not know
// what a call is.
//
// Processes that use the same key form a [Line], and each gets an equal share of the limits. If a
// key allows fewer calls in flight than there are processes, the processes take turns. A process
// that does not know its share makes no calls; a process that makes no calls releases its share. A
// rejected call pauses its key in its own process only.
//
// The flow: a caller takes a [Ticket] from its key's [Limiter] and waits until the ticket is
// [Ticket.Ready], that is, first in the queue and not blocked. Then it prepares the call (a driver
// takes a slot), and [Ticket.Start] either starts the call or sends the ticket back to wait.
// [Ticket.Done] reports the outcome of the call. A rejected call pauses the whole key for as long
// as the provider asked; after the pause calls resume one at a time, and their number grows with
// each success.
//
// Invariants: tickets start in the order in which they were taken; no two starts of a key are
// closer together than its limits allow; no call starts while the key is paused; every ticket that
// leaves or is done lets the next ticket proceed.
package ratelimit
