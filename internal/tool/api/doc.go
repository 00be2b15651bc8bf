// Package api makes tools of HTTP APIs: of one call that a document describes (type `api`), or of all operations of an OpenAPI document (type `openapi`).
//
// It refuses to let an argument be more than a value: what a model says is percent-encoded into the place that was meant for it, and never changes a host, the
// shape of a path, the name of a parameter or a header. It refuses to follow references to other documents, and to send credentials to another host than the
// one that they are for (SEC8, SEC11).
//
// The flow: the options are read and their references replaced when the toolset is opened; an OpenAPI document is fetched or read at the first listing; a
// call fills the template, asks once, and answers with status and body.
//
// Invariants: everything that a document of strangers may make large has a limit that names itself (SEC17); reading and idempotent methods may be repeated
// after a crash, POST and PATCH are put to a person (P12); whatever writes carries the call's key as Idempotency-Key.
package api
