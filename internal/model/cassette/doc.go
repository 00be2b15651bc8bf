// Package cassette records model calls as a reply script (`--record`), so that the run can be
// repeated without a model.
//
// It records as little of the request as possible: an entry names the caller, and quotes the prompt
// only if that is needed to tell calls of one agent apart. Apart from such a quotation, nothing of
// a request is written: no key, no header.
//
// The flow:
//
//  1. [New] empties the file and writes its head: from then on it is a valid reply script.
//  2. Each call is passed to the wrapped client. When its reply, or its failure, has arrived, one
//     entry is appended in one write and only then is the reply returned. A call whose context
//     ended is not recorded: there was no reply.
//  3. A replay of the file returns the same replies to the same calls, in whatever order concurrent
//     calls of different agents arrive.
package cassette
