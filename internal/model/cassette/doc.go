// Package cassette records model calls as a reply script (`--record`), so that the run can be done again without a model.
//
// It refuses to be clever about what was asked: an entry names who asked, and quotes the question only where that is needed to tell calls of
// one agent apart. Nothing of a request but such a quotation is written, no key, no header.
//
// The flow:
//
//  1. [New] empties the file and writes its head: from then on it is a valid reply script.
//  2. Each call goes through to the client behind. When its answer, or its failure, is there, one entry is appended in one write and only
//     then the answer is handed on. A call whose context ended is not recorded: there was no answer.
//  3. A replay of the file gives the same answers to the same calls, in whatever order concurrent calls of different agents come.
package cassette
