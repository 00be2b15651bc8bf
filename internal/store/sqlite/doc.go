// Package sqlite stores journals in one SQLite file that several processes may share.
//
// It does not depend on the meaning of records, does not serve more than one machine (its locks are
// those of a local file system), and does not wait for leases to expire: an owner is alive as long
// as its process holds a lock on a file next to the database.
//
// The flow of an append:
//
//  1. The caller computes hashes of its record, and queues an operation.
//  2. If no other goroutine is writing, the caller does: it takes the write lock of the file and
//     runs all queued operations in one transaction, each on condition that its run still has the
//     epoch and the last record that the caller expects. A rejected one is dropped alone. Appends
//     that only continue a run are stored with two statements for up to 32 of them; if one of these
//     runs was changed by another process, the batch is repeated without what the writer remembers.
//  3. After the commit (WAL, synchronous=FULL: one sync) all callers of the batch are answered.
//     Operations that arrived meanwhile are written by a goroutine, up to 1,000 together; if many
//     runs are busy, about half, so that the others continue during the commit.
//  4. Every few milliseconds the writer checks whether another process waits for the lock, and
//     yields to it.
//
// Readers have their own connections, which cannot write, and never wait for writers. Packages with
// their own tables in the file (the catalog) use transactions that are provided to them
// ([Store.Write], [Store.View], package tables), which share the same queue.
//
// Invariants:
//
//   - records only grows at its end, so that 1,000 busy runs touch few pages; a run's records are a
//     chain that leads back from its head. heads is separate from runs for the same reason.
//   - SQL text is constant (sqlText); everything variable is a bound parameter.
//   - No SQLITE_BUSY reaches a caller. The log is at most 64 MB while readers are short. Another
//     goroutine copies it into the file while writers write (limitLog).
//   - Pruning frees space: it deletes in steps of milliseconds, moves records of half-empty pages
//     together, and truncates file and log.
//   - Nothing ever closes a plain file handle on the database: that would release this process's
//     locks on it.
//
// The schema is migrated by the files in migrations, each in a transaction; the number in a file's
// name is the version of the schema after it, in user_version. The first one creates all tables;
// stores of smaller versions were created before the first release and are rejected. No migration
// library is used: there is one dialect, and the loop has a dozen lines.
package sqlite
