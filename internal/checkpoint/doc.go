// Package checkpoint keeps states of runs under labels (S2-65): in memory and in files; below it, in SQLite.
//
// It refuses to know what a state means, and to be needed: a run goes on from its journal, never from here. It reads no clock: order is the order of
// saves.
//
// The flow of a save in files: take the next number of the run, write the state beside the others under a name that no reader looks at, sync it,
// rename it to `<number>-<label>`, sync the folder, and only then remove what had the label before. A process that dies on the way leaves the former
// state or the new one, never half of one.
//
// Invariants, the same for all stores and checked by package checkpointtest:
//
//   - A label is there once for each run; saving it again makes it the newest.
//   - Ids and labels are any UTF-8 text within [MaxName]. None of them is a path (SEC16): folders and files are named by hashes, below one [os.Root].
//   - A state is handed out byte for byte as it was saved, or not at all: damage is a *[CorruptError] (P17).
package checkpoint
