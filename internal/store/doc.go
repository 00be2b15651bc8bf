// Package store opens the home of a namespace: everything that Hocket keeps of it, at the one place that a locator names.
//
// A [Home] gives the journal of runs, the catalog, access tokens and audit log, hooks, checkpoints of Go graphs, memories of agents, and the key that seals secrets.
// The parts of one home have one life: they are opened, migrated and closed together.
//
// The package refuses to know what is kept: each part is the port of the package that it belongs to. Files and memory are
// opened here; a kind of store on a database server comes from the program ([Servers]), so that a program that does not ask for one does not link it. Everything above asks for a Home.
//
// The flow: [Parse] reads a [Locator], [Locator.Open] opens what it names. [Locator.Namespace] gives the locator of another namespace's home.
package store
