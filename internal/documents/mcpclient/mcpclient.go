// Package mcpclient opens toolsets of type mcp with the client of package mcp.
//
// It is separate from package linked for programs whose agents have such toolsets but that read no
// documents. It holds no state.
package mcpclient

import (
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
)

// Open implements documents.MCP.
func Open(c documents.MCPConfig) tool.Type {
	return mcp.Type(mcp.Config{HTTPClient: c.HTTPClient, Lookup: c.Lookup, Environ: c.Environ, Version: c.Version,
		Logger: c.Logger})
}
