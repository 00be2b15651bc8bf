// Package markup writes HTML such that no value becomes markup. Markup is a constant of the
// program: its type is not exported, so that only untyped constants convert to it and a variable
// does not compile. All other text is passed to [Page.Text], which escapes it for elements and for
// attributes in double quotes.
//
// The package knows no elements and no contexts: values must not be written inside scripts, styles,
// event handlers, comments, tag names, attribute names or unquoted attributes, and the value of a
// URL attribute must start with a constant path. It uses no reflection, unlike html/template, which
// makes the linker keep every method of the program (ADR 52).
package markup

import (
	"html"
	"strings"
)

// literal is markup written in the source of the program.
type literal string

// Page is HTML under construction. The zero value is an empty page. It is not safe for concurrent
// use.
type Page struct{ b strings.Builder }

// HTML appends markup.
func (p *Page) HTML(s literal) { p.b.WriteString(string(s)) }

// Text appends a string as content of an element or of an attribute in double quotes. Invalid UTF-8
// and zero bytes become U+FFFD.
func (p *Page) Text(s string) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	p.b.WriteString(html.EscapeString(s))
}

// String returns the page as written so far.
func (p *Page) String() string { return p.b.String() }
