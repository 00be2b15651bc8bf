package kinds

var script = Kind{
	Name:    "script",
	Keys:    []string{"shell", "env", "working_dir"},
	Path:    "working_dir",
	Guarded: true,
	How:     "toolset in a document with --trust, or in --tools; commands that the document declares",
	Gives:   "commands that the document declares, with typed arguments",
	Wants:   "yes",
	Page:    "toolsets/commands.md#script",
}
