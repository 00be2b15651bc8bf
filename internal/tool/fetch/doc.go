// Package fetch lets agents read web pages: one tool that takes addresses and answers with what is there, HTML as Markdown.
//
// It refuses to do anything but GET, to carry credentials, to go where its lists or the one HTTP client (SEC8) do not let it, and to give a model what is
// no text: other content is told by type and size.
//
// The flow of one call: each address is checked and asked for, all of them side by side; an address that fails says so beside what the others gave; what is
// too long is cut, and the cut is told.
//
// Invariants: the call ends in finite time (P11); its text is bounded (SEC17); asking again changes nothing, so its policy is retry (P12). What a page says
// is data: it is marked as such and never read as anything else.
package fetch
