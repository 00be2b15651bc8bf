// Package postgres keeps journals in a schema of a PostgreSQL database that processes on many machines share.
//
// It refuses to know what records mean, and to wait for leases to expire: an owner is alive as long as a session of its process holds an advisory lock on the server.
//
// The flow of an append:
//
//  1. The caller takes hashes of its record, and queues it. Where fewer than two batches of the handle are under way, it takes what waits, up to 1,000 appends, one for a run; otherwise a batch that ends
//     leaves the queue to a goroutine.
//  2. Appends that only continue runs which the writer remembers are one statement: heads move where epoch, owner and last event are as believed, records and the rest are stored for those. A run
//     that did not move is looked up.
//  3. All others (new runs, runs to look up, blobs) share a transaction that locks their heads first, in order, refuses what must be refused, and stores the rest: two round trips, three with new runs.
//  4. After the commit all callers of the batch are answered, subscribers are signalled, and other processes are told, at most every 20 ms, in a statement of its own.
//
// A connection that is lost may have been lost in the commit. The batch goes on as in 3: the locks wait for the end of the lost transaction, and what is stored then is not stored again.
//
// A process has one pool of connections for each database, whatever number of namespaces it opens there ([Store.Beside]): each is a schema. Statements of the journal
// name the schema of their tables, because a statement is parsed before the batch runs in which a search path could be set. Transactions that are lent to packages with tables of their
// own ([Store.Tables]) begin with SET LOCAL search_path. Nothing is set for a session but on the one that holds the locks of owners, so that the pool may go through a
// pooler in transaction mode.
//
// The schema is migrated by the files in migrations, all in one transaction under an advisory lock; the numbers of the files that were applied are rows of the table hocket_store.
// Each row tells what a program must know to use the store after it, so that two neighbouring releases can use one store.
package postgres
