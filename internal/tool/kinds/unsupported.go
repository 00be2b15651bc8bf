package kinds

// unsupported lists the docker-agent types that Hocket cannot open.
var unsupported = []Kind{
	{Name: "a2a", Unsupported: true}, {Name: "background_agents", Unsupported: true},
	{Name: "files", Unsupported: true}, {Name: "handoff", Unsupported: true},
	{Name: "http", Unsupported: true}, {Name: "lsp", Unsupported: true}, {Name: "model_picker", Unsupported: true},
	{Name: "rag", Unsupported: true},
	{Name: "search", Unsupported: true}, {Name: "tasks", Unsupported: true},
}
