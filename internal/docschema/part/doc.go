// Package part builds parts of JSON Schemas of documents: values of a type, maps with known keys,
// agents and their toolsets.
//
// It does not know whole documents: each format keeps its schema next to its reader, and package
// docschema has those of the other documents.
//
// Invariants: in all documents a key whose value is null counts as absent, so every type accepts
// null unless it is [Needed]; descriptions and keys of agents come from the table that readers use.
package part
