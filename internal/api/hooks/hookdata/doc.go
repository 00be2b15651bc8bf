// Package hookdata defines the stored data of webhooks, endpoints, notifications and used approve
// links, the store interface that persists them, and an in-memory implementation.
//
// The package does not know who sends, signs or answers: that is the job of package hooks, which
// builds on it. So a store can implement the interface without knowing the use cases.
//
// Invariants: everything belongs to one namespace (SEC10); secrets are references or encrypted
// (SEC11).
package hookdata
