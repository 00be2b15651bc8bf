// Package diag holds positioned problems of documents: where something is, what is wrong with it, and what to do about it.
//
// It refuses to do I/O, to know any document format, and to stop at the first problem: a reader collects a [List] and
// returns whatever it could still build. A List is an error only through [List.Err].
//
// The flow: a loader gives every value a [Span]; readers add [Diagnostic] values to a List; the command line, the HTTP API and the
// editor print the same List.
package diag
