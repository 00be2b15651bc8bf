// Package toolsets lets programs that embed Hocket run documents whose agents read web pages: toolsets of type fetch.
//
// It stands apart because it brings along a parser of HTML and a converter to Markdown, which package hocket itself refuses to. It holds no state: [All] is
// an option of hocket.Open. Nothing is fetched before an agent asks, and nothing from an address that is private (SEC8).
package toolsets

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
)

// All gives an engine every toolset that Hocket knows and that package hocket alone does not open. It may be given once or often, to one engine or several.
func All() hocket.Option { return hocket.WithPages(page.Reader{}) }
