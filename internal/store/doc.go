// Package store opens the home of a namespace: everything that Hocket stores for it, at the single
// location that a locator names.
//
// A [Home] provides the journal of runs, the catalog, access tokens and audit log, hooks,
// checkpoints of Go graphs, memories of agents, and the key that seals secrets. The parts of a home
// share one lifetime: they are opened, migrated and closed together.
//
// The package does not depend on what is stored: each part is the port of the package that it
// belongs to. Files and memory are opened here; a kind of store on a database server is supplied by
// the program ([Servers]), so that a program that does not use one does not link it. All higher
// layers use a Home.
//
// The flow: [Parse] reads a [Locator], [Locator.Open] opens the home it names. [Locator.Namespace]
// returns the locator of another namespace's home.
package store
