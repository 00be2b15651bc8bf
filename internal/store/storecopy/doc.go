// Package storecopy copies everything in a store to another one, whatever kinds of stores they are,
// and verifies it.
//
// It does not merge: what both stores have must be identical, and a row that only TO has ends the
// copy. It rejects stores that living processes use, unless it leaves out active runs
// ([Config.Live]). It copies rows, not events or documents, so that nothing has to be decoded and
// nothing is lost; keys of namespaces are the same in all kinds of stores, so that sealed data
// stays as it is.
//
// The flow of a copy:
//
//  1. Plan: each namespace of FROM is read in one transaction, and each table of both stores in key
//     order. Differences end the copy before TO is changed. A dry run ends here.
//  2. Mark: a table is created in TO that keeps others from opening it (journal.ErrUnfinished).
//  3. Copy: rows that TO lacks are added in pieces of some megabytes, each in a transaction. Runs
//     are copied with their heads and records, whose checksums are verified on the way, without an
//     owner. If the process is killed at any moment, TO contains whole pieces, which the next call
//     recognizes as copied.
//  4. Verify: both are compared again, FROM in a new transaction, which detects a process that
//     changed it meanwhile; the checksums of everything in TO are verified.
//  5. The mark is removed.
//
// Invariants: memory is bounded by a piece and the largest row, however large the stores are; each
// table of a store is either in the list or in the list of tables that are not copied, which a test
// checks for both kinds; rows keep their numbers, so that numbers stored elsewhere remain valid.
package storecopy
