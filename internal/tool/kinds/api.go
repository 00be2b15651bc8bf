package kinds

var api = Kind{
	Name: "api",
	Keys: []string{"api_config"},
	How: "toolset in a document or in --tools; private addresses and variables need --trust, or --tools that " +
		"names them",
	Gives: "one HTTP call",
	Wants: "for private addresses and variables",
	Page:  "toolsets/api.md#api",
}
