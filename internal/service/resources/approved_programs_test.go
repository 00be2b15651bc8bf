package resources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestPrograms_Data checks that only what is started counts as a program: the data files of a
// server may change, and be created, between two calls.
func TestPrograms_Data(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		argv     []string
		env      map[string]string
		programs []string // of files, those whose change is noticed
	}{
		"program and its data":      {[]string{"./server", "--db", "data.db"}, nil, []string{"server"}},
		"data behind an equal sign": {[]string{"./server", "--db=data.db"}, nil, []string{"server"}},
		"data without an extension": {[]string{"./server", "notes"}, nil, []string{"server"}},
		"data in a variable": {[]string{"./server"}, map[string]string{"MEMORY_FILE_PATH": "data.db"},
			[]string{"server"}},
		"script":                {[]string{"python3", "srv.py", "data.db"}, nil, []string{"srv.py"}},
		"script, no extension":  {[]string{"sh", "notes", "data.db"}, nil, []string{"notes"}},
		"script behind options": {[]string{"python3.12", "-u", "notes", "data.db"}, nil, []string{"notes"}},
		"script in a variable": {[]string{"sh", "-c", "x"}, map[string]string{"BASH_ENV": "notes"},
			[]string{"notes"}},
		"module":             {[]string{"python3", "-m", "srv", "data.db"}, nil, []string{"srv.py"}},
		"text":               {[]string{"sh", "-c", "cat data.db", "data.db"}, nil, nil},
		"launcher":           {[]string{"npx", "-y", "some-server", "data.db"}, nil, nil},
		"launcher of a file": {[]string{"uv", "run", "srv.py", "data.db"}, nil, []string{"srv.py"}},
		"launcher of a script": {[]string{"uv", "run", "--env-file", "data.db", "./notes", "data.db"}, nil,
			[]string{"notes"}},
		"launcher of an interpreter": {[]string{"npx", "-y", "tsx", "./notes", "data.db"}, nil,
			[]string{"notes"}},
		"launcher with a subcommand": {[]string{"poetry", "run", "python", "notes", "stack.yml"}, nil,
			[]string{"notes"}},
		"interpreter in an environment": {[]string{"env", "-u", "HOME", "A=1", "python3", "./notes", "stack.yml"}, nil,
			[]string{"notes"}},
		"interpreter with a limit": {[]string{"timeout", "-k", "5", "9", "python3", "notes", "stack.yml"}, nil,
			[]string{"notes"}},
		"shell with a priority": {[]string{"nice", "-n", "5", "bash", "notes", "stack.yml"}, nil,
			[]string{"notes"}},
		"wrapper in a wrapper": {[]string{"nohup", "env", "node", "notes", "stack.yml"}, nil,
			[]string{"notes"}},
		"data of a wrapped program":    {[]string{"env", "cat", "notes", "stack.yml"}, nil, nil},
		"script of a strict shell":     {[]string{"bash", "-e", "./notes", "stack.yml"}, nil, []string{"notes"}},
		"script of a restricted shell": {[]string{"bash", "-r", "notes", "stack.yml"}, nil, []string{"notes"}},
		"text in a strict shell":       {[]string{"bash", "-ec", "x", "notes"}, nil, nil},
		"script behind a file of an option": {[]string{"node", "--env-file", "stack.yml", "notes"}, nil,
			[]string{"stack.yml", "notes"}},
		"module that is required": {[]string{"node", "-r", "hook.js", "notes", "stack.yml"}, nil,
			[]string{"hook.js", "notes"}},
		"long option of a shell": {[]string{"bash", "-norc", "notes", "stack.yml"}, nil, []string{"notes"}},
		"code for PHP":           {[]string{"php", "-r", "x", "notes"}, nil, nil},
		"executable":             {[]string{"env", "./server", "data.db"}, nil, []string{"server"}},
		"first line":             {[]string{"nice", "tool.txt"}, nil, []string{"tool.txt"}},
		"option that names code": {[]string{"node", "--require", "hook.js", "srv.py"}, nil,
			[]string{"hook.js", "srv.py"}},
		"composition": {[]string{"docker", "compose", "-f", "stack.yml", "up"}, nil,
			[]string{"stack.yml"}},
		"configuration": {[]string{"./server", "--config", "stack.yml"}, nil, []string{"server"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"server": "x", "notes": "x", "srv.py": "x", "hook.js": "x",
				"tool.txt":  "#!/bin/x",
				"stack.yml": "x", "data.db": ""} // data.db does not exist yet
			for changed := range files {
				dir := t.TempDir()
				write := func(name, text string) {
					mode := os.FileMode(0o600)
					if name == "server" {
						mode = 0o700
					}
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
						t.Fatal(err)
					}
				}
				for name, text := range files {
					if text != "" {
						write(name, text)
					}
				}
				a := approval{Dir: dir, Programs: programsOf(dir, tool.Spec{Type: tool.TypeMCP, Command: tc.argv[0],
					Args: tc.argv[1:], Env: tc.env})}
				write(changed, "changed")
				if got, want := a.changes(false), slices.Contains(tc.programs, changed); len(got) > 0 != want {
					t.Errorf("%s was changed: found %q, want a change: %t", changed, got, want)
				}
			}
		})
	}
}
