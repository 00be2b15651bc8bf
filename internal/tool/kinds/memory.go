package kinds

var memory = Kind{
	Name:  "memory",
	Keys:  []string{"path", "memory"},
	Tools: []string{"add_memory", "delete_memory", "get_memories", "search_memories", "update_memory"},
	How:   "toolset in a document or in --tools; kept in the store, across runs",
	Gives: "notes that are kept between runs",
	Wants: "yes, for files and shared memories",
	Page:  "toolsets/memory.md#memory",
}
