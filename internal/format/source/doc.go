// Package source reads YAML and JSON documents into trees in which every value and key knows its
// position. All document formats start here.
//
// It does not know any format, does not build Go structs by reflection, does not follow anything
// outside the text (no includes, no type tags), and does not work for long on a small hostile
// input: size, depth, number of values after aliases are expanded, and number of problems are
// limited (SEC17).
//
// The flow:
//
//  1. [Parse] parses a text. A text that starts with `{` or `[` is JSON, strictly; everything else
//     is YAML. It returns a [Node] and a diag.List; a document with problems still yields whatever
//     could be read, or nil if nothing could.
//  2. A format reads maps through [Node.Fields], whose accessors add diagnostics for anything
//     missing or of the wrong type, and ends with [Fields.Unknown] for the keys that were not read.
//  3. Problems inside a text (a template in an instruction) are located with [Node.SpanAt].
//
// Invariants:
//
//   - Keys are their source text, so `true:`, `"true":`, `on:` and `yes:` are strings and never
//     booleans (S4-33).
//   - Aliases and merge keys are expanded: the tree has no cycles and no sharing, and every Node
//     has one path.
//   - Numbers keep their digits: [Node.JSON] returns an integer of any length unchanged.
//
// A Node is immutable after Parse and safe for concurrent use; a [Fields] is not.
package source
