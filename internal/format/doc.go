// Package format knows the formats in which a workflow can be written: it detects the format of a
// document, reads it, and writes a workflow in another format.
//
// It does not know the content of documents: each format has a folder of its own, which reads a
// positioned tree of package source and returns a [workflow.Workflow]. Nothing after this package
// knows which format a workflow came from.
//
// The flow of [Read]: the text is parsed once (package source); the format is detected, or the
// caller names it; the format's reader compiles it; if that found no error, [workflow.Validate] and
// then [workflow.Lint] check the graph. All problems are returned in one list, each once, in the
// order of the document.
package format
