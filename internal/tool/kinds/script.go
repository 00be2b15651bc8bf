package kinds

import (
	"maps"
	"slices"
	"strings"
)

var script = Kind{
	Name:    "script",
	Keys:    []string{"shell", "env", "working_dir"},
	Path:    "working_dir",
	Guarded: true,
	Local: local(func(o struct {
		Shell map[string]struct {
			Cmd        string    `json:"cmd"`
			Argv       []string  `json:"argv"`
			Env        Variables `json:"env"`
			WorkingDir string    `json:"working_dir"`
		} `json:"shell"`
		Env        Variables `json:"env"`
		WorkingDir string    `json:"working_dir"`
	}, at At,
	) (l Local) {
		l.Programs.WorkingDir = o.WorkingDir
		for _, name := range slices.Sorted(maps.Keys(o.Shell)) {
			s := o.Shell[name]
			command, dir := oneLine(s.Cmd), resolveDir(o.WorkingDir, s.WorkingDir)
			if len(s.Argv) > 0 {
				command = strings.Join(s.Argv, " ")
				l.Programs.Argv = append(l.Programs.Argv, ProgramWords{s.Argv, dir})
			} else {
				l.Programs.Lines = append(l.Programs.Lines, ProgramLine{s.Cmd, dir})
			}
			l.Lines = append(l.Lines, "run "+command+" in "+at(o.WorkingDir, s.WorkingDir)+withEnv(o.Env, s.Env))
		}
		if len(o.Shell) == 0 {
			l.Lines = []string{"run scripts"}
		}
		return l
	}),
	How:   "toolset in a document with --trust, or in --tools; commands that the document declares",
	Gives: "commands that the document declares, with typed arguments",
	Wants: "yes",
	Page:  "toolsets/commands.md#script",
}
