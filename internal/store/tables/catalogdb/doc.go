// Package catalogdb keeps the catalog in the store of the journal, so that agents, workflows and runs are one database.
//
// It refuses to know the database driver: it reads and writes in transactions that the journal's store lends, in turn with all other writers of its
// tables. The tables come with that store's migrations.
//
// Invariants:
//
//   - SQL text is constant; what varies is bound (SEC7). A test counts conversions to tables.Text.
//   - Rows of nodes and edges are in the order of the document by rowid, also after rows were changed in place; columns that other programs added keep
//     what they hold, unless rows are replaced.
//   - A text is checked by its hash whenever it is read.
package catalogdb
