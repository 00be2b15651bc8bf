package kinds

var openAPI = Kind{
	Name:    "openapi",
	Keys:    []string{"url", "file", "server", "headers", "auth"},
	Path:    "file",
	Guarded: true,
	Local: local(func(o struct {
		File string `json:"file"`
	}, at At,
	) Local {
		if o.File == "" {
			return Local{}
		}
		return Local{Lines: []string{"read the file " + at(o.File)}, Programs: Programs{File: o.File}}
	}),
	How: "toolset in a document or in --tools; files, private addresses and variables need --trust, or --tools " +
		"that names them",
	Gives: "the operations of an OpenAPI document",
	Wants: "for files, private addresses and variables",
	Page:  "toolsets/api.md#openapi",
}
