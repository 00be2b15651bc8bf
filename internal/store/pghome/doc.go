// Package pghome opens homes in PostgreSQL: the kind of store that a program passes in store.Servers. Only programs that import it link the driver of PostgreSQL.
//
// It decides what the parts of a home on a server have in common: which server and which user can be used (probe.go), what goes wrong in words for people (explain.go), which schema
// a namespace has (tenants.go), the key whose fingerprint the store knows (key.go), and what a server says of itself (facts.go).
//
// The package refuses servers on which a stored result could be lost or runs could not be owned: read-only ones, those that acknowledge commits before they are on disk, poolers without the address of the server.
// No error of it has a password.
//
// The flow: the URL gives a configuration of the driver; one connection asks the server what it is; the store of the default schema is opened, and beside it that of the namespace.
// Homes of one process on one database share its connections.
package pghome
