// Package tables is the interface that stores provide to packages with tables in addition to the
// journal: transactions, for catalogdb, accessdb, hookdb, checkpointdb and memorydb.
//
// Each of these packages has the same code for all kinds of stores: the names of tables and columns
// are the same in each, and so are nearly all statements. If SQLite and PostgreSQL differ, a
// package has a statement for each ([Dialect.Pick]). Tables are created by the migrations of the
// store.
//
// The package does not depend on a database driver, or on the purpose of the tables.
//
// Invariants: SQL text is constant, everything variable is a bound parameter (SEC7); a text that a
// store cannot store is rejected with a [TextError], never changed.
package tables
