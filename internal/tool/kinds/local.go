package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Local describes what toolsets reach on this machine by themselves, in addition to the program
// that a spec names as its command (SEC5).
type Local struct {
	// Lines describe it to the person who decides whether a document is trusted; nil means that
	// nothing is reached.
	Lines []string
	// InStore is set if what is reached is in the store, and therefore the same on all machines.
	InStore bool
	// Programs are the programs that a toolset may start, as named in the options.
	Programs Programs
}

// Programs are the programs that a toolset may start at a model's request, and the files that it
// reads like programs, as named in the options.
type Programs struct {
	// Commands are resolved against WorkingDir.
	Commands   []string
	WorkingDir string
	// Lines are run by a shell, Argv without one.
	Lines []ProgramLine
	Argv  []ProgramWords
	// File is an OpenAPI document.
	File string
}

// ProgramLine is a command line for a shell, with its working directory.
type ProgramLine struct{ Text, Dir string }

// ProgramWords is a program with its arguments and working directory.
type ProgramWords struct {
	Words []string
	Dir   string
}

// At returns the location of a path in the options, resolved against their base folder.
type At func(parts ...string) string

// local turns a function of decoded options into a [Kind.Local]. Fields that cannot be decoded keep
// their zero values, and an error is returned as well.
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

// Variables holds environment variables by name. In JSON a value may also be a number or a boolean,
// because YAML reads `PORT: 8080` as a number.
type Variables map[string]string

// UnmarshalJSON decodes the values as strings.
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

// withEnv shows variables as written in the document, never their values.
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

// oneLine joins the lines of a command without leaving anything out, because a person decides based
// on it.
func oneLine(s string) string { return strings.Join(strings.Split(strings.TrimSpace(s), "\n"), "; ") }

// resolveDir resolves a folder against an outer folder.
func resolveDir(outer, dir string) string {
	if dir == "" {
		return outer
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(outer, dir)
}
