// Package catalogdb stores the catalog in the journal's store, so that agents, workflows and runs
// are in one database.
//
// It does not depend on the database driver: it reads and writes in transactions that the journal's
// store provides, queued with all other writers of its tables. The tables are created by that
// store's migrations.
//
// Invariants:
//
//   - SQL text is constant; everything variable is a bound parameter (SEC7). A test counts
//     conversions to tables.Text.
//   - Rows of nodes and edges are in document order by rowid, even after rows were changed in
//     place; columns that other programs added keep their values, unless rows are replaced.
//   - A text is checked against its hash whenever it is read.
package catalogdb
