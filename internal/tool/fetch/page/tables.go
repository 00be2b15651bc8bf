package page

import (
	"errors"
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on what a page of a few bytes could otherwise expand without limit (SEC17): the cells of a
// table that is rendered as a table, counting spans, and the nesting of lists and quotes, since
// each line begins with the markers of everything that encloses it.
const (
	maxCells = 20_000  // per table
	maxDrawn = 100_000 // all tables of a page
	maxDepth = 12
)

// flatten turns elements that are too large or too deep to render into plain blocks.
func flatten(doc *html.Node) {
	flattenDepth(doc, 0)
	flattenTables(doc)
}

func flattenDepth(n *html.Node, depth int) {
	switch n.DataAtom {
	case atom.Blockquote, atom.Ul, atom.Ol, atom.Menu:
		if depth++; depth > maxDepth {
			block(n)
		}
	case atom.Li:
		if depth > maxDepth {
			block(n)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		flattenDepth(c, depth)
	}
}

func flattenTables(doc *html.Node) {
	var large []*html.Node
	drawn := 0
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Table {
			continue
		}
		if c := cells(n); c > maxCells || drawn+c > maxDrawn {
			large = append(large, n)
		} else {
			drawn += c
		}
	}
	for _, table := range large {
		block(table)
		for n := range table.Descendants() {
			switch n.DataAtom {
			case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup,
				atom.Col:
				block(n)
			}
		}
	}
}

func block(n *html.Node) { n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil }

// cells returns the minimum number of cells with which a table would be rendered, including the
// cells of nested tables.
func cells(table *html.Node) int {
	rows, widest, spanned := 0, 0, 0
	for n := range table.Descendants() {
		if n.DataAtom != atom.Tr {
			continue
		}
		rows++
		width := 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				across, down := span(c, "colspan"), span(c, "rowspan")
				width += across
				spanned += across * down
				rows = max(rows, down)
			}
		}
		if widest = max(widest, width); spanned > maxCells {
			return spanned
		}
	}
	return max(spanned, rows*widest)
}

func span(n *html.Node, key string) int {
	for _, a := range n.Attr {
		if a.Key == key {
			v, err := strconv.Atoi(a.Val)
			if errors.Is(err, strconv.ErrRange) {
				return maxCells + 1
			}
			return min(max(v, 1), maxCells+1)
		}
	}
	return 1
}
