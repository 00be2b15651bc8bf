// Package markup writes HTML in which no value becomes markup. Markup is a constant of the program: its type is not exported, so that only untyped constants
// convert to it and a variable does not compile. All other text passes [Page.Text], which escapes it for elements and for attributes in double quotes.
//
// It knows no elements and no contexts: values must not be written inside of scripts, styles, event handlers, comments, names of tags and attributes without
// quotes, and the value of a URL attribute must begin with a constant path. It uses no reflection, unlike html/template, which makes the linker keep every
// method of the program (ADR 52).
package markup

import (
	"html"
	"strings"
)

// literal is markup that is written in the source of the program.
type literal string

// Page is HTML under construction. The zero value is an empty page. It is not safe for concurrent use.
type Page struct{ b strings.Builder }

// HTML appends markup.
func (p *Page) HTML(s literal) { p.b.WriteString(string(s)) }

// Text appends a text as content of an element or of an attribute in double quotes. Bytes that are not UTF-8, and zero bytes, become U+FFFD.
func (p *Page) Text(s string) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	p.b.WriteString(html.EscapeString(s))
}

// String gives the page as it is so far.
func (p *Page) String() string { return p.b.String() }
