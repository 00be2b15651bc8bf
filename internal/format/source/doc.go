// Package source reads YAML and JSON documents into trees whose every value and key knows where it stands. All document formats start here.
//
// It refuses to know any format, to build Go structs by reflection, to follow anything outside the text (no includes, no tags of types), and to
// work for long on a small hostile input: size, depth, number of values after aliases are expanded, and number of problems are bounded (SEC17).
//
// The flow:
//
//  1. [Parse] takes a text apart. What begins with `{` or `[` is JSON, strictly; everything else is YAML. It returns a [Node] and a diag.List; a
//     document with problems still gives whatever could be read, nil where that is nothing.
//  2. A format reads maps through [Node.Fields], whose accessors add diagnostics for what is missing or of the wrong type, and ends with
//     [Fields.Unknown] for the keys that were not asked for.
//  3. Problems inside a text (a template in an instruction) are placed with [Node.SpanAt].
//
// Invariants:
//
//   - Keys are their source text, so `true:`, `"true":`, `on:` and `yes:` are strings and never booleans (S4-33).
//   - Aliases and merge keys are expanded: the tree has no cycles and no sharing, and every Node has one path.
//   - Numbers keep their digits: an integer of any length comes out of [Node.JSON] as it went in.
//
// A Node is immutable after Parse and safe for concurrent use; a [Fields] is not.
package source
