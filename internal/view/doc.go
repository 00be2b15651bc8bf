// Package view shows runs in bounded memory: the run object, logs, trail, step context and events,
// a page at a time, with references in place of long values, and each of those values as a stream.
//
// A value above [Limit] is shown as
//
//	{"$value": {"bytes": 4194304, "sha256": "…", "head": "its beginning", "href": "where all of it is"}}
//
// A user's value that is such an object itself, or contains one, is always shown as a reference,
// however short it is: the content at href is the value and nothing in it is a reference. So an
// object with the single key "$value" is always a reference (SEC6).
//
// It works in these stages:
//
//  1. A [Reader] reads the events of a run. A token, which cannot be guessed, replaces each long
//     value; a [Table] maps tokens to values.
//  2. Package project folds these events like any others. What it derives from a token contains the
//     token: a view is small, whatever it shows.
//  3. [Reader.Write] writes a view as JSON. A token becomes a reference, or the value, which is
//     read and written piece by piece.
//  4. [Reader.Find] returns the value that a reference names, from this run only: a value that the
//     run's events do not show is not found.
//
// Invariants: no token leaves the package's writer; a reader holds at most keepBytes of values, and
// fillBytes more while a view is written; a value that is read is verified against its hash.
package view
