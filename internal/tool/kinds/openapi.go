package kinds

var openAPI = Kind{
	Name:    "openapi",
	Keys:    []string{"url", "file", "server", "headers", "auth"},
	Path:    "file",
	Guarded: true,
	How:     "toolset in a document or in --tools; files, private addresses and variables need --trust, or --tools that names them",
	Gives:   "the operations of an OpenAPI document",
	Wants:   "for files, private addresses and variables",
	Page:    "toolsets/api.md#openapi",
}
