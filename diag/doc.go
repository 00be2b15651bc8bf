// Package diag represents problems in documents with their positions: where a problem is, what is
// wrong, and what to do about it.
//
// The package does no I/O, knows no document format, and does not stop at the first problem: a
// reader collects a [List] and returns whatever it could still build. A List becomes an error only
// through [List.Err].
//
// Loaders assign every value a [Span]; readers add [Diagnostic] values to a List; the command line,
// the HTTP API and the editor print the same List.
package diag
