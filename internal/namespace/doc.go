// Package namespace opens the store of each namespace (SEC10, ADR 22): one service per namespace,
// and no two services that see the same runs.
//
// The namespace `default` is the store that the operator names; every other one has its own file
// next to it, or its own part of the same database (store.Locator.Namespace). The list of
// namespaces, their tokens and the audit log are in the default store.
//
// It does not create namespaces: a namespace is created with its first token. An unknown name is an
// error, and creates no file.
//
// The flow: [Open] opens the default store. [Set.Service] opens the store of another namespace on
// the first request, once, however many callers ask at once, and has it tended from then on.
// [Set.Close] waits for stores that are being opened, ends the tending, and closes all services.
//
// Invariants: names are checked before they become part of a path (SEC16). A service belongs to one
// namespace. A process shares only service.Shared and the telemetry exporter among them, neither of
// which has access to runs.
package namespace
