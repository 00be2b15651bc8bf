// Package checkpoint stores states of runs under labels (S2-65): in memory and in files; package
// checkpointdb stores them in the tables of a store.
//
// It does not interpret states, and no run depends on it: a run continues from its journal, never
// from a checkpoint. It reads no clock: order is the order of saves.
//
// The flow of a save in files: take the next number of the run, write the state next to the others
// under a name that no reader looks at, sync it, rename it to `<number>-<hash of the
// label>.checkpoint`, sync the directory, and only then remove the former state of the label. A
// process that dies in between leaves the former state or the new one, never half of one.
//
// Invariants, the same for all stores and checked by package checkpointtest:
//
//   - A label exists once per run; saving it again makes it the newest.
//   - Ids and labels are any UTF-8 strings within [MaxName]. None of them is a path (SEC16):
//     directories and files are named by hashes, under one [os.Root].
//   - A state is returned byte for byte as it was saved, or not at all: damage is a *[CorruptError]
//     (P17).
package checkpoint
