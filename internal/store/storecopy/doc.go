// Package storecopy copies all that a store holds into another one, whatever kinds of stores they are, and verifies it.
//
// It refuses to merge: what both have must be equal, and a row that only TO has ends the copy. It refuses stores that living processes use, unless it leaves out the runs that go on
// ([Config.Live]). It knows rows, not events or documents, so that nothing has to be decoded and nothing is lost by it; keys of namespaces are the same in all kinds of stores, so that
// what is sealed stays as it is.
//
// The flow of a copy:
//
//  1. Plan: each namespace of FROM is read in one transaction, and each table of both stores in the order of its key. Differences end the copy before TO is changed. A dry run ends here.
//  2. Mark: TO gets a table that keeps others from opening it (journal.ErrUnfinished).
//  3. Copy: rows that TO lacks are added in pieces of some megabytes, each in a transaction. Runs come with their heads and records, whose checksums are verified on the way, without an
//     owner. Killed at any moment, TO has whole pieces, which the next call finds to be equal.
//  4. Verify: both are compared again, FROM in a new transaction, which finds a process that changed it meanwhile; the checksums of all that TO has are verified.
//  5. The mark is removed.
//
// Invariants: memory is bounded by a piece and the largest row, however large the stores are; a table of a store is in the list or in that of those that are not copied, which a test
// holds for both kinds; rows keep their numbers, so that numbers that others remember stay true.
package storecopy
