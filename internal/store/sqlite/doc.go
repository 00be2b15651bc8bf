// Package sqlite keeps journals in one SQLite file that several processes may share.
//
// It refuses to know what records mean, to serve more than one machine (its locks are those of a local file system), and to wait for
// leases to expire: an owner is alive as long as its process holds a lock on a file beside the database.
//
// The flow of an append:
//
//  1. The caller takes hashes of its record, and puts an operation in line.
//  2. If no other goroutine writes, the caller does: it takes the write lock of the file and does all operations in line in one transaction, each on
//     condition that its run still has the epoch and the last record that the caller believes in. A refused one drops out alone. Appends that only continue a run are done
//     by two statements for up to 32 of them; where one of these runs was changed by another process, the batch is done again without what the writer remembers.
//  3. After the commit (WAL, synchronous=FULL: one sync) all callers of the batch are answered. Those who came meanwhile are written by a
//     goroutine, up to 1,000 together; of many busy runs about half, so that the others go on during the commit.
//  4. Every few milliseconds the writer looks whether another process waits for the lock, and steps aside.
//
// Readers have connections of their own, which cannot write, and never wait for writers. Rooms that keep tables of their own in the file (the catalog)
// work in transactions that are lent to them ([Store.Write], [Store.View], package tables): they take their turn in the same line.
//
// Invariants:
//
//   - records only grows at its end, so that 1,000 busy runs touch few pages; a run's records are a chain from its head back. heads is apart
//     from runs for the same reason.
//   - SQL text is constant (sqlText); what varies is bound.
//   - No SQLITE_BUSY reaches a caller. The log is at most 64 MB while readers are short. Another goroutine copies it into the file while writers write (limitLog).
//   - Pruning gives space back: it deletes in steps of milliseconds, moves records of half-empty pages together, and cuts file and log.
//   - Nothing ever closes a plain file handle on the database: that would drop this process's locks on it.
//
// The schema is migrated by the files in migrations, each in a transaction; the number of a file's name is the version of the schema after it, in user_version. The first one makes
// all tables; stores of smaller versions were made before the first release and are refused. No migration library does
// it: there is one dialect, and the loop has a dozen lines.
package sqlite
