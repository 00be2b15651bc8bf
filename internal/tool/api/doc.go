// Package api makes tools from HTTP APIs: from one call that a document describes (type `api`), or
// from all operations of an OpenAPI document (type `openapi`).
//
// An argument is never more than a value: model output is percent-encoded into its placeholder, and
// never changes a host, the structure of a path, the name of a parameter or a header. The package
// does not follow references to other documents, and does not send credentials to a host other than
// the one they are for (SEC8, SEC11).
//
// The flow: the options are read and their references replaced when the toolset is opened; an
// OpenAPI document is fetched or read at the first listing; a call fills the template, makes one
// request, and answers with status and body.
//
// Invariants: every size that an untrusted document determines has a limit, which the error names
// (SEC17); reading and idempotent methods may be repeated after a crash, POST and PATCH require a
// person's decision (P12); every writing request carries the call's key as Idempotency-Key.
package api
