package kinds

var mcp = Kind{
	Name:    "mcp", // its keys are fields of tool.Spec
	Guarded: true,
	How:     "toolset in a document or in --tools; commands need --trust, or --tools that names them",
	Gives:   "the tools of an MCP server",
	Wants:   "for commands, private addresses and variables",
	Page:    "toolsets/mcp.md",
}
