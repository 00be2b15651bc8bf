// Package postgres stores journals in a schema of a PostgreSQL database that processes on many
// machines share.
//
// It does not depend on the meaning of records, and does not wait for leases to expire: an owner is
// alive as long as a session of its process holds an advisory lock on the server.
//
// The flow of an append:
//
//  1. The caller computes hashes of its record, and queues it. If fewer than two batches of the
//     handle are in flight, the caller takes what is queued, up to 1,000 appends, one per run;
//     otherwise a batch that ends hands the queue to a goroutine.
//  2. Appends that only continue runs which the writer remembers are one statement: heads are
//     updated if epoch, owner and last event are as expected, and records and everything else are
//     stored for those runs. A run whose head was not updated is looked up.
//  3. All others (new runs, runs to look up, blobs) share a transaction that first locks their
//     heads, in order, rejects invalid appends, and stores the rest: two round trips, three with
//     new runs.
//  4. After the commit all callers of the batch are answered, subscribers are signalled, and other
//     processes are notified, at most every 20 ms, in a separate statement.
//
// If the connection is lost, the transaction may have been committed. The batch continues as in 3:
// the locks wait for the end of the lost transaction, and what is already stored then is not stored
// again.
//
// A process has one connection pool per database, however many namespaces it opens there
// ([Store.Beside]): each is a schema. Statements of the journal name the schema of their tables,
// because a statement is parsed before the batch that could set a search path runs. Transactions
// that are provided to packages with their own tables ([Store.Tables]) start with SET LOCAL
// search_path. Session settings are used only on the connection that holds the locks of owners, so
// that the pool may go through a pooler in transaction mode.
//
// The schema is migrated by the files in migrations, all in one transaction under an advisory lock;
// the numbers of the applied files are rows of the table hocket_store. Each row records what a
// program must know to use the store after it, so that two adjacent releases can use one store.
package postgres
