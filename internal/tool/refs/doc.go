// Package refs replaces references to variables in toolsets, which a document uses instead of
// values that it must not hold (SEC11): `${NAME}`, `${env.NAME}` and `$NAME`.
//
// It looks up nothing by itself: the wiring provides the lookup function, and provides none for
// untrusted toolsets. References are expanded once: a value is never scanned for references.
//
// Invariant: an expanded secret can be redacted, with [Expander.Redactor].
package refs
