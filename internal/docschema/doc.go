// Package docschema provides the JSON Schemas (draft 2020-12) of the documents that Hocket reads,
// for editors and other programs.
//
// It does not decide whether a document is valid; readers do. A schema says which keys exist, their
// types and their allowed words; only a reader can check names that refer to something elsewhere in
// the document, and expressions.
//
// Flow: [Names] lists the kinds of documents; [Get] builds one schema. Keys and descriptions of
// agents, of sections of steps documents and of hocket.yaml come from the tables that their readers
// use; tests compare the others with the readers and with all documents of the corpora.
//
// Invariant: a document that its reader accepts without a problem validates against its schema.
package docschema
