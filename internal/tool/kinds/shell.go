package kinds

import "strings"

var shell = Kind{
	Name: "shell",
	Keys: []string{"env", "working_dir", "commands"},
	Tools: []string{"exec", "list_background_jobs", "run_background_job", "shell", "stop_background_job",
		"view_background_job"},
	Path:    "working_dir",
	Guarded: true,
	Local: local(func(o struct {
		Env        Variables `json:"env"`
		WorkingDir string    `json:"working_dir"`
		Commands   []string  `json:"commands"`
	}, at At,
	) Local {
		what := "run any command"
		if len(o.Commands) > 0 {
			what = "run " + strings.Join(o.Commands, ", ") + " with any arguments"
		}
		return Local{
			Lines:    []string{what + " in " + at(o.WorkingDir) + withEnv(o.Env)},
			Programs: Programs{Commands: o.Commands, WorkingDir: o.WorkingDir},
		}
	}),
	How:   "toolset in a document with --trust, or in --tools; programs of this machine",
	Gives: "a shell, or a list of programs",
	Wants: "yes",
	Page:  "toolsets/commands.md#shell",
}
