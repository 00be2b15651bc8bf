package kinds

import "fmt"

var memory = Kind{
	Name:  "memory",
	Keys:  []string{"path", "memory"},
	Tools: []string{"add_memory", "delete_memory", "get_memories", "search_memories", "update_memory"},
	Local: local(func(o struct {
		Memory string `json:"memory"`
	}, _ At,
	) Local {
		if o.Memory == "" {
			return Local{}
		}
		return Local{Lines: []string{fmt.Sprintf("read and write the memory %q, which workflows share", o.Memory)},
			InStore: true}
	}),
	How:   "toolset in a document or in --tools; kept in the store, across runs",
	Gives: "notes that are kept between runs",
	Wants: "yes, for files and shared memories",
	Page:  "toolsets/memory.md#memory",
}
