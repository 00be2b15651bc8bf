package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Local is what toolsets reach of this machine by themselves, beside the program that a spec names as its command (SEC5).
type Local struct {
	// Lines say it to the person who decides whether a document is trusted; nil: nothing is reached.
	Lines []string
	// InStore: what is reached is in the store, and the same on all machines.
	InStore bool
	// Programs are those that a toolset may start, as the options name them.
	Programs Programs
}

// Programs are the programs that a toolset may start at a model's request, and the files that it reads like programs: as the options name them.
type Programs struct {
	// Commands are resolved against WorkingDir.
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

// At gives the place that a path of options has, below the folder against which they are resolved.
type At func(parts ...string) string

// local makes a [Kind.Local] of a function of decoded options. Fields that cannot be decoded keep their zero values, beside the error.
func local[T any](of func(o T, at At) Local) func(options []byte, at At) (Local, error) {
	return func(options []byte, at At) (Local, error) {
		var o T
		var err error
		if len(options) > 0 {
			err = json.Unmarshal(options, &o)
		}
		return of(o, at), err
	}
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

// below resolves a folder against an outer one.
func below(outer, dir string) string {
	if dir == "" {
		return outer
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(outer, dir)
}
