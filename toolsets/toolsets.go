// Package toolsets lets agents of programs that embed Hocket use toolsets of the types mcp and
// fetch.
//
// It is separate because it depends on an MCP client, an HTML parser and a converter to Markdown,
// on which package hocket itself does not depend. It holds no state: [All] is an option of
// hocket.Open. Nothing is fetched before an agent requests it, and nothing from a private address.
package toolsets

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/documents/mcpclient"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
)

// All enables every type of toolset that Hocket knows and that package hocket alone does not open:
// mcp and fetch. It may be used more than once, for one engine or several.
func All() hocket.Option {
	return func(p *parts.Parts) {
		p.Pages, p.Documents.MCP = page.Reader{}, mcpclient.Open
	}
}
