// Package pghome opens homes in PostgreSQL: it is the kind of store that a program passes in
// store.Servers. Only programs that import it link the PostgreSQL driver.
//
// It implements what the parts of a home on a server have in common: which server and which user
// can be used (probe.go), readable error messages (explain.go), the schema of a namespace
// (open.go), the key whose fingerprint the store has (key.go), and what a server reports about
// itself (facts.go).
//
// The package rejects servers on which a stored result could be lost or runs could not be owned:
// read-only ones, those that acknowledge commits before they are on disk, and poolers without the
// address of the server. None of its errors contains a password.
//
// The flow: the URL is converted to a driver configuration; one connection queries the server's
// properties; the store of the default schema is opened, and along with it that of the namespace.
// Homes of one process on one database share its connections.
package pghome
