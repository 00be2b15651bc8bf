// Package formattest is what the tests of all document formats have in common: reading as package format does it, and corpora of documents.
//
// It refuses to know a format: each test gives its own Read.
//
// A corpus is the txtar archives of testdata. They hold documents (`.json`, `.yaml`), each followed by the workflow (`.ir`, left out where there are
// errors) and the problems (`.diag`, left out where there are none) that reading it gives. [Golden] checks them, or writes them anew.
package formattest
