// Package format knows the languages in which a workflow can be written: it tells which one a document is of, reads it, and writes a workflow in
// another one.
//
// It refuses to know the content of documents: each language has a folder of its own, which reads a positioned tree of package source and
// gives a [workflow.Workflow]. Nothing after this package knows which language a workflow came from.
//
// The flow of [Read]: the text is parsed once (package source); the language is detected, or the caller names it; the language's reader compiles it; where
// that found no error, [workflow.Validate] and then [workflow.Lint] look at the graph. All problems come in one list, each once, in the order of
// the document.
package format
