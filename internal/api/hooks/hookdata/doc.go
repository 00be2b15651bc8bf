// Package hookdata holds what is stored of webhooks, endpoints, notifications and used approve links, the port to the store that keeps them, and one in memory.
//
// It refuses to know who sends, signs or answers: that is package hooks, which builds on it. So a store can offer the port without knowing the use cases.
//
// Invariants: everything belongs to one namespace (SEC10); secrets are references or sealed (SEC11).
package hookdata
