// Package page turns what web servers send into text for a model: HTML to Markdown or plain text, and text of any character set to UTF-8.
//
// It refuses to fetch anything and to pass on what a reader of the page would not see: scripts, styles, comments, hidden elements, and the navigation
// around the content. It is apart from package fetch because it brings the libraries along; the wiring hands it in as [fetch.Pages].
//
// Invariant: no page ends the process: one that is nested too deep, or that the converter cannot take, is an error.
package page
