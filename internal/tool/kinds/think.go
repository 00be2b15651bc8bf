package kinds

var think = Kind{
	Name:  "think",
	Tools: []string{"think"},
	How:   "toolset in a document or in --tools",
	Gives: "a scratchpad for one run",
	Wants: "no",
	Page:  "toolsets/memory.md#think",
}
