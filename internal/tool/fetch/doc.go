// Package fetch lets agents read web pages: one tool that accepts addresses and returns their
// contents, HTML as Markdown.
//
// It only makes GET requests, sends no credentials, goes only where its lists and the HTTP client
// (SEC8) allow, and returns only text to the model: other content is described by type and size.
//
// The flow of one call: the addresses are checked and fetched concurrently; an address that fails
// is reported along with the results of the others; contents that are too long are cut, and the cut
// is reported.
//
// Invariants: the call ends in finite time (P11); its text is limited (SEC17); repeating it changes
// nothing, so its policy is retry (P12). The contents of a page are data: they are marked as such
// and never interpreted as anything else.
package fetch
