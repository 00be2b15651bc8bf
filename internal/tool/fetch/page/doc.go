// Package page converts what web servers send into text for a model: HTML into Markdown or plain
// text, and text in any character set into UTF-8.
//
// It does not fetch anything, and it drops what a reader of the page would not see: scripts,
// styles, comments, hidden elements, and the navigation around the content. It is separate from
// package fetch because of the libraries it depends on; the wiring passes it in as [fetch.Pages].
//
// Invariant: no page can crash the process; a page that is nested too deeply, or that the converter
// cannot handle, is an error.
package page
