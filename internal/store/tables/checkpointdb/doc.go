// Package checkpointdb stores checkpoints in a database file of their own, or in the journal's,
// next to the runs.
//
// It does not depend on the database driver: it reads and writes in transactions that the journal's
// store provides. The table is created by that store's migrations.
//
// Invariants: SQL text is constant (SEC7); a state is checked against its hash whenever it is read
// (P17).
package checkpointdb
