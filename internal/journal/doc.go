// Package journal keeps what happened to runs: the port through which a driver stores records, and a store in memory.
//
// A run's journal is the only truth about it. The engine produces, per activation, a list of events; their encoding is one [Record], or
// several where they are many, stored in one transaction. A store knows nothing of events: records and requests are opaque bytes, and everything that a list of runs
// shows without reading them is in the [Head].
//
// The package refuses to decide anything: it starts no goroutine, reads no clock, opens no file. Only store/sqlite opens files.
//
// The flow of one activation:
//
//  1. The driver that created or claimed the run holds its epoch.
//  2. It encodes the events as records, puts large values aside as blobs, and calls Append.
//  3. Append returns when the records are on disk. Only then may commands that depend on it start (D7).
//  4. After an error the driver discards the run in memory and reads the journal again.
//
// Invariants, the same for every store and checked by package journaltest:
//
//   - Records of a run are contiguous: First is the Last before it plus one, from 1 on.
//   - An append happens whole or not at all: records, blobs and head together.
//   - The store in memory may keep events as values; what it gives to readers is what a store of bytes gives (memory_events.go). It may drop ended runs (memory_retain.go).
//   - A run has at most one owner per epoch; an append of a former epoch fails with ErrFenced and changes nothing.
//   - Every record carries a checksum over all records before it, and the head carries the last one, so that a flipped bit, a record missing
//     in the middle and a journal cut at its end are each a *CorruptError, never an empty or shorter run (P17).
package journal
