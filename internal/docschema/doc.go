// Package docschema gives the JSON Schemas (draft 2020-12) of the documents that Hocket reads, for editors and for other programs.
//
// It refuses to decide whether a document is good: readers do. A schema says which keys there are, of which type and with which words; what names something
// elsewhere in the document, or is an expression, only a reader can check.
//
// The flow: [Names] lists the kinds of documents; [Get] makes one schema. Keys and descriptions of agents, of sections of steps documents and of hocket.yaml
// come from the tables that their readers use; tests hold the others against the readers and all documents of the corpora.
//
// Invariant: a document that its reader takes without a problem validates.
package docschema
