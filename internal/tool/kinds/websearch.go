package kinds

var webSearch = Kind{
	Name:  "web_search",
	Keys:  []string{"provider", "api_key", "base_url"},
	Tools: []string{"web_search"},
	How: "toolset, or a tool that agents list; needs TAVILY_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or search: " +
		"{native: true} in hocket.yaml",
	Gives: "web searches",
	Wants: "for `base_url` and variables",
	Page:  "toolsets/web.md#web_search",
}
