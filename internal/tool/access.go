package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hocket-run/hocket/internal/tool/kinds"
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

// Options that toolsets and the list of types share.
type (
	Variables    = kinds.Variables
	PostEdit     = kinds.PostEdit
	Programs     = kinds.Programs
	ProgramLine  = kinds.ProgramLine
	ProgramWords = kinds.ProgramWords
)

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
	// Output is what a step with this tool has as its output: OutputText, what the program wrote without line breaks at the end; OutputJSON, the value that
	// it wrote; "": an object with the exit code and both texts.
	Output string `json:"output"`
}

// Values of [Script.Output].
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Access gives the lines of one spec, as [Access] does; nil for a toolset that reaches neither files nor programs by itself. A spec whose options
// cannot be read has lines too: it is not to be trusted less visibly than others.
func (s Spec) Access(dir string) []string {
	local, err := s.local(func(parts ...string) string {
		out := dir
		for _, p := range parts {
			if p != "" && filepath.IsAbs(p) {
				out = p
			} else if p != "" {
				out = filepath.Join(out, p)
			}
		}
		return cmp.Or(out, ".")
	})
	lines := local.Lines
	if err != nil {
		lines = append(lines, fmt.Sprintf("use these options: %s", s.Options))
	}
	for i := range lines {
		lines[i] += " (toolset " + s.Title() + ")"
	}
	return lines
}

// NeedsMachine tells whether the toolset reaches files or programs of the machine: it starts a command, or has lines of Access that are about the machine.
func (s Spec) NeedsMachine() bool {
	local, err := s.local(filepath.Join)
	return err != nil || len(Commands([]Spec{s})) > 0 || len(local.Lines) > 0 && !local.InStore
}

// local asks the type of the spec what it reaches of this machine.
func (s Spec) local(at kinds.At) (kinds.Local, error) {
	k, _ := kinds.Of(s.Type)
	if k.Local == nil {
		return kinds.Local{}, nil
	}
	return k.Local(s.Options, at)
}

// CheckTrusted refuses a spec that reaches files or programs of this machine without permission of the operator (SEC4, SEC5). The error is an *UntrustedError.
func (s Spec) CheckTrusted() error {
	if access := s.Access(""); len(access) > 0 && !s.Trusted {
		return &UntrustedError{Toolset: s.Title(), Access: access}
	}
	return nil
}

// Programs gives the programs of a spec beside its Command; none where its options cannot be read.
func (s Spec) Programs() Programs {
	local, err := s.local(filepath.Join)
	if err != nil {
		return Programs{}
	}
	return local.Programs
}
