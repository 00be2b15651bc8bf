// Package tables is what stores lend to packages with tables beside the journal: transactions, for catalogdb, accessdb, hookdb, checkpointdb and memorydb.
//
// Each of these packages is one program for all kinds of stores: the names of tables and columns are the same in each, and nearly all statements. Where SQLite and PostgreSQL differ,
// a package has a statement for both ([Dialect.Pick]). Tables come with the migrations of the store.
//
// The package refuses to know a database driver, and what the tables are for.
//
// Invariants: SQL text is constant, what varies is bound (SEC7); a text that a store cannot keep is refused with a [TextError], never changed.
package tables
