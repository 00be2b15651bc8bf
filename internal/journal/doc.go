// Package journal stores the history of runs: the port through which a driver stores records, and
// an in-memory store.
//
// A run's journal is the only source of truth about it. The engine produces a list of events per
// activation; their encoding is one [Record], or several if there are many events, stored in one
// transaction. A store knows nothing about events: records and requests are opaque bytes, and
// everything that a list of runs shows without reading them is in the [Head].
//
// The package makes no decisions: it starts no goroutine, reads no clock, opens no file. Only
// store/sqlite opens files.
//
// The flow of one activation:
//
//  1. The driver that created or claimed the run holds its epoch.
//  2. It encodes the events as records, stores large values as blobs, and calls Append.
//  3. Append returns when the records are on disk. Only then may commands that depend on it start
//     (D7).
//  4. After an error the driver discards the run in memory and reads the journal again.
//
// Invariants, the same for every store and checked by package journaltest:
//
//   - Records of a run are contiguous: First is the previous Last plus one, starting at 1.
//   - An append happens entirely or not at all: records, blobs and head together.
//   - The in-memory store may keep events as values; readers get the same from it as from a store
//     of bytes (memory_events.go), and a trail that makes the events when they are read
//     (memory_trails.go). It may drop ended runs (memory_retain.go).
//   - A run has at most one owner per epoch; an append with an earlier epoch fails with ErrFenced
//     and changes nothing.
//   - Every record carries a checksum over all records before it, and the head carries the last
//     one, so that a flipped bit, a record missing in the middle and a journal cut at its end are
//     each a *CorruptError, never an empty or shorter run (P17).
package journal
