// Package documents lets programs that embed Hocket read and run documents of all formats.
//
// It stands apart because it brings along the readers of the formats, CEL for the expressions in documents, and a client of MCP, none of which a program that runs graphs of Go functions alone needs.
// It holds no state: [All] is an option of hocket.Open.
package documents

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/parts"
)

// All gives an engine every format of documents, with their expressions and toolsets of type mcp. Without it [hocket.Engine.Load] and [hocket.Engine.Parse] are errors that name this package, and so
// is what continues stored runs of documents. It may be given once or often, to one engine or several. Toolsets of type fetch need toolsets.All() as well.
func All() hocket.Option { return func(p *parts.Parts) { p.Documents = linked.Kit() } }
