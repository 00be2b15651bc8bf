// Package postgres keeps journals in a schema of a PostgreSQL database that processes on many machines share.
//
// It refuses to know what records mean, and to wait for leases to expire: an owner is alive as long as a session of its process holds an advisory lock on the server.
//
// A process has one pool of connections for each database, whatever number of namespaces it opens there ([Store.Beside]): each is a schema. Statements of the journal
// name the schema of their tables, because a statement is parsed before the batch runs in which a search path could be set. Transactions that are lent to packages with tables of their
// own ([Store.Write], [Store.View]) begin with SET LOCAL search_path. Nothing is set for a session but on the one that holds the locks of owners, so that the pool may go through a
// pooler in transaction mode.
//
// The schema is migrated by the files in migrations, all in one transaction under an advisory lock; the numbers of the files that were applied are rows of the table hocket_store.
package postgres
