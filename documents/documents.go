// Package documents lets programs that embed Hocket read and run documents of all formats.
//
// It is a separate package because it depends on the format readers, on CEL for the expressions in
// documents, and on an MCP client, none of which a program needs that only runs graphs of Go
// functions. It holds no state: [All] is an option of hocket.Open.
package documents

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/parts"
)

// All adds every document format to an engine, including expressions and toolsets of type mcp.
// Without it [hocket.Engine.Load], [hocket.Engine.Parse] and attempts to continue stored runs of
// documents fail with errors that name this package. It may be passed several times, to one engine
// or several. Toolsets of type fetch also need toolsets.All().
func All() hocket.Option { return func(p *parts.Parts) { p.Documents = linked.Kit() } }
