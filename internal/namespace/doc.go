// Package namespace opens the store of each namespace (SEC10, ADR 22): one service for each, and no two that see the same runs.
//
// The namespace `default` is the store that the operator names; every other one is a file of its own beside it (store.Locator.Namespace). Which there are, their tokens and the audit
// log are in the default store.
//
// It refuses to make a namespace: that is done with its first token. An unknown name is an error, and no file comes of it.
//
// The flow: [Open] opens the default store. [Set.Service] opens that of another namespace when it is first asked for, once, however many ask at the same time, and has
// it tended from then on. [Set.Close] waits for those that are just being opened, ends the tending, and closes all services.
//
// Invariants: names are checked before they become part of a path (SEC16). A service belongs to one namespace. What a process shares among them is service.Shared and the
// exporter of telemetry, neither of which can be asked for runs.
package namespace
