// Package checkpointdb keeps checkpoints in a database file: one of their own, or the journal's, beside the runs.
//
// It refuses to know the database driver: it reads and writes in transactions that the journal's store lends. The table comes with that store's
// migrations.
//
// Invariants: SQL text is constant (SEC7); a state is checked by its hash whenever it is read (P17).
package checkpointdb
