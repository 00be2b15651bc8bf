// Package refs replaces the references to variables that toolsets hold where a document must not hold a value (SEC11): `${NAME}`, `${env.NAME}` and `$NAME`.
//
// It refuses to look anything up by itself: the wiring gives the lookup, and gives none to untrusted toolsets. It expands once: what a value
// holds is never read as a reference.
//
// Invariant: an expanded secret can be redacted again, with [Expander.Redactor].
package refs
