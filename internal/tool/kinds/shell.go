package kinds

var shell = Kind{
	Name:    "shell",
	Keys:    []string{"env", "working_dir", "commands"},
	Tools:   []string{"exec", "list_background_jobs", "run_background_job", "shell", "stop_background_job", "view_background_job"},
	Path:    "working_dir",
	Guarded: true,
	How:     "toolset in a document with --trust, or in --tools; programs of this machine",
	Gives:   "a shell, or a list of programs",
	Wants:   "yes",
	Page:    "toolsets/commands.md#shell",
}
