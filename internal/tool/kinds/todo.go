package kinds

var todo = Kind{
	Name:  "todo",
	Tools: []string{"create_todo", "create_todos", "list_todos", "update_todo", "update_todos"},
	How:   "toolset in a document or in --tools",
	Gives: "a task list for one run",
	Wants: "no",
	Page:  "toolsets/memory.md#todo",
}
