// Package formattest provides what the tests of all document formats have in common: reading as in
// package format, and corpora of documents.
//
// It does not know any format: each test provides its own Read.
//
// A corpus is the set of txtar archives in testdata. They contain documents (`.json`, `.yaml`),
// each followed by the workflow (`.ir`, omitted if there are errors) and the problems (`.diag`,
// omitted if there are none) that result from reading it. [Golden] checks or rewrites them.
package formattest
