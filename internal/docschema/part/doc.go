// Package part makes parts of JSON Schemas of documents: values of a type, maps with known keys, agents and their toolsets.
//
// It refuses to know a whole document: each format has its schema beside its reader, and package docschema has those of the other documents.
//
// Invariants: a key whose value is null counts as absent in all documents, so that every type takes null unless it is [Needed]; descriptions and keys of agents are
// those of the table that readers use.
package part
