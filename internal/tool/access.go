package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Access says, in order and each once, what the specs' toolsets would do with this machine beside the commands of [Commands]: which files they would
// reach, and which programs they would run at a model's wish. It is for a person to read before anything happens (SEC5). dir is the folder that
// relative paths are resolved against.
func Access(specs []Spec, dir string) []string {
	var out []string
	for _, s := range specs {
		for _, line := range s.Access(dir) {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// localOptions are the options of toolsets that say what of this machine they reach.
type localOptions struct {
	Path       string            `json:"path"`
	ReadOnly   bool              `json:"read_only"`
	PostEdit   []PostEdit        `json:"post_edit"`
	OwnFiles   []string          `json:"own_files"`
	Env        Variables         `json:"env"`
	WorkingDir string            `json:"working_dir"`
	Commands   []string          `json:"commands"`
	Shell      map[string]Script `json:"shell"`
	File       string            `json:"file"`
	Memory     string            `json:"memory"`
}

// Variables are variables of an environment by name. In JSON a value may be a number or a boolean too, as YAML reads `PORT: 8080`.
type Variables map[string]string

// UnmarshalJSON reads the values as text.
func (v *Variables) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	out := Variables{}
	for name, value := range raw {
		text := string(value)
		switch text[0] {
		case '{', '[':
			return fmt.Errorf("variable %s must be text", name)
		case '"':
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
		}
		if string(value) == "null" {
			text = ""
		}
		out[name] = text
	}
	*v = out
	return nil
}

// PostEdit is a command of a toolset of type filesystem, run after a file was written whose path matches the pattern Path.
type PostEdit struct {
	Path string `json:"path"`
	Cmd  string `json:"cmd"`
}

// Script is one declared command of a toolset of type script: a line for the system's shell in Cmd, or a program and its arguments in Argv.
type Script struct {
	Cmd         string   `json:"cmd"`
	Argv        []string `json:"argv"`
	Description string   `json:"description"`
	// Args are the properties of the JSON Schema of its arguments, Required those that must be given; nil: all of Args.
	Args       map[string]json.RawMessage `json:"args"`
	Required   []string                   `json:"required"`
	Env        Variables                  `json:"env"`
	WorkingDir string                     `json:"working_dir"`
	Policy     Policy                     `json:"policy"`
}

// Access gives the lines of one spec, as [Access] does; nil for a toolset that reaches neither files nor programs by itself. A spec whose options
// cannot be read has lines too: it is not to be trusted less visibly than others.
func (s Spec) Access(dir string) []string {
	var o localOptions
	bad := len(s.Options) > 0 && json.Unmarshal(s.Options, &o) != nil
	at := func(parts ...string) string {
		out := dir
		for _, p := range parts {
			if p != "" && filepath.IsAbs(p) {
				out = p
			} else if p != "" {
				out = filepath.Join(out, p)
			}
		}
		return cmp.Or(out, ".")
	}
	from := fmt.Sprintf(" (toolset %s)", s.Title())
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)+from) }
	switch s.Type {
	case TypeFilesystem:
		verb := "read and write files"
		if o.ReadOnly {
			verb = "read files"
		}
		add("%s under %s", verb, at(o.Path))
		if len(o.OwnFiles) > 0 {
			add("access the operator's own files: %s", strings.Join(o.OwnFiles, ", "))
		}
		for _, p := range o.PostEdit {
			add("run %s after edits of %s", oneLine(p.Cmd), p.Path)
		}
	case TypeShell:
		what := "run any command"
		if len(o.Commands) > 0 {
			what = "run " + strings.Join(o.Commands, ", ") + " with any arguments"
		}
		add("%s in %s%s", what, at(o.WorkingDir), withEnv(o.Env))
	case TypeScript:
		for _, name := range slices.Sorted(maps.Keys(o.Shell)) {
			sc := o.Shell[name]
			command := oneLine(sc.Cmd)
			if len(sc.Argv) > 0 {
				command = strings.Join(sc.Argv, " ")
			}
			add("run %s in %s%s", command, at(o.WorkingDir, sc.WorkingDir), withEnv(o.Env, sc.Env))
		}
		if len(o.Shell) == 0 {
			add("run scripts")
		}
	case TypeOpenAPI:
		if o.File == "" {
			return nil
		}
		add("read the file %s", at(o.File))
	case TypeMemory:
		if o.Memory == "" && !bad {
			return nil
		}
		add("read and write the memory %q, which workflows share", o.Memory)
	default:
		return nil
	}
	if bad {
		add("use these options: %s", s.Options)
	}
	return lines
}

// CheckTrusted refuses a spec that reaches files or programs of this machine without permission of the operator (SEC4, SEC5). The error is an *UntrustedError.
func (s Spec) CheckTrusted() error {
	if access := s.Access(""); len(access) > 0 && !s.Trusted {
		return &UntrustedError{Toolset: s.Title(), Access: access}
	}
	return nil
}

// withEnv shows variables as they are written, never their values.
func withEnv(envs ...map[string]string) string {
	all := map[string]string{}
	for _, e := range envs {
		maps.Copy(all, e)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+"="+all[name])
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " ")
}

// oneLine joins the lines of a command; nothing of it is left out, since a person decides by it.
func oneLine(s string) string { return strings.Join(strings.Split(strings.TrimSpace(s), "\n"), "; ") }

// Programs are the programs that a toolset may start at a model's wish, and the files that it reads as their like: as the spec writes them.
type Programs struct {
	// Commands are those of a toolset of type shell, which are resolved against WorkingDir.
	Commands   []string
	WorkingDir string
	// Lines are read by a shell, Argv by none.
	Lines []ProgramLine
	Argv  []ProgramWords
	// File is an OpenAPI document.
	File string
}

// ProgramLine is a line for a shell, with the folder that it runs in.
type ProgramLine struct{ Text, Dir string }

// ProgramWords are a program and its words, with the folder that it runs in.
type ProgramWords struct {
	Words []string
	Dir   string
}

// Programs gives the programs of a spec beside its Command.
func (s Spec) Programs() Programs {
	var o localOptions
	if len(s.Options) == 0 || json.Unmarshal(s.Options, &o) != nil {
		return Programs{}
	}
	p := Programs{WorkingDir: o.WorkingDir}
	switch s.Type {
	case TypeShell:
		p.Commands = o.Commands
	case TypeOpenAPI:
		p.File = o.File
	case TypeFilesystem:
		for _, e := range o.PostEdit {
			p.Lines = append(p.Lines, ProgramLine{e.Cmd, o.Path})
		}
	case TypeScript:
		for _, name := range slices.Sorted(maps.Keys(o.Shell)) {
			sc := o.Shell[name]
			dir := cmp.Or(sc.WorkingDir, o.WorkingDir)
			if sc.WorkingDir != "" && !filepath.IsAbs(sc.WorkingDir) {
				dir = filepath.Join(o.WorkingDir, sc.WorkingDir)
			}
			if len(sc.Argv) > 0 {
				p.Argv = append(p.Argv, ProgramWords{sc.Argv, dir})
			} else {
				p.Lines = append(p.Lines, ProgramLine{sc.Cmd, dir})
			}
		}
	}
	return p
}
