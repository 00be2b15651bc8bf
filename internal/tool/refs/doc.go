// Package refs replaces the references to variables that toolsets hold where a document must not hold a value (SEC11): `${NAME}`, `${env.NAME}` and `$NAME`.
//
// It refuses to look anything up by itself: the wiring gives the lookup, and gives none to toolsets that nobody trusts. It expands once: what a value
// holds is never read as a reference.
//
// Invariant: whoever expanded a secret can blot it out again, with [Expander.Redactor].
package refs
