// Package toolsets lets agents of programs that embed Hocket have toolsets of the types mcp and fetch.
//
// It stands apart because it brings along a client of MCP, a parser of HTML and a converter to Markdown, which package hocket itself refuses to. It holds no state: [All] is
// an option of hocket.Open. Nothing is fetched before an agent asks, and nothing from an address that is private (SEC8).
package toolsets

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/documents/mcpclient"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
)

// All gives an engine every type of toolsets that Hocket knows and that package hocket alone does not open: mcp and fetch. It may be given once or often, to one engine or several.
func All() hocket.Option {
	return func(p *parts.Parts) {
		p.Pages, p.Documents.MCP = page.Reader{}, mcpclient.Open
	}
}
