package kinds

var fetch = Kind{
	Name:  "fetch",
	Keys:  []string{"allowed_domains", "blocked_domains"},
	Tools: []string{"fetch"},
	How:   "toolset in a document or in --tools; private addresses need allowed_domains in hocket.yaml",
	Gives: "web pages",
	Wants: "for private addresses",
	Page:  "toolsets/web.md#fetch",
}
