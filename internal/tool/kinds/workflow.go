package kinds

var workflow = Kind{
	Name:  "workflow",
	Keys:  []string{"workflow", "version", "branch", "tool", "description", "input", "file"},
	How:   "toolset in a document or in --tools that names a stored workflow",
	Gives: "a stored workflow as a tool",
	Wants: "no",
	Page:  "toolsets/workflow.md",
}
