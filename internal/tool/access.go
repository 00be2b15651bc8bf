package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// Access describes, in order and without duplicates, what the specs' toolsets would do on this
// machine in addition to the commands of [Commands]: which files they would reach, and which
// programs they would run at a model's request. It is meant to be read by a person before anything
// runs (SEC5). Relative paths are resolved against dir.
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

// Options shared by toolsets and the list of types.
type (
	// Variables is [kinds.Variables].
	Variables = kinds.Variables
	// PostEdit is [kinds.PostEdit].
	PostEdit = kinds.PostEdit
	// Programs is [kinds.Programs].
	Programs = kinds.Programs
	// ProgramLine is [kinds.ProgramLine].
	ProgramLine = kinds.ProgramLine
	// ProgramWords is [kinds.ProgramWords].
	ProgramWords = kinds.ProgramWords
)

// Script is one declared command of a toolset of type script: a command line for the system's shell
// in Cmd, or a program and its arguments in Argv.
type Script struct {
	Cmd         string   `json:"cmd"`
	Argv        []string `json:"argv"`
	Description string   `json:"description"`
	// Args are the properties of the JSON Schema of its arguments. Required lists the required
	// ones; nil means all of Args.
	Args       map[string]json.RawMessage `json:"args"`
	Required   []string                   `json:"required"`
	Env        Variables                  `json:"env"`
	WorkingDir string                     `json:"working_dir"`
	Policy     Policy                     `json:"policy"`
	// Output is the output of a step with this tool: OutputText is what the program printed,
	// without trailing line breaks; OutputJSON is the value that it printed; "" is an object with
	// the exit code and both output streams.
	Output string `json:"output"`
}

// Values of [Script.Output].
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Access returns the lines of one spec, as [Access] does; nil for a toolset that by itself reaches
// neither files nor programs. A spec whose options cannot be read has lines too, so that trusting
// it is as visible as trusting any other.
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

// NeedsMachine reports whether the toolset reaches files or programs of the machine: it starts a
// command, or its Access has lines about the machine.
func (s Spec) NeedsMachine() bool {
	local, err := s.local(filepath.Join)
	return err != nil || len(Commands([]Spec{s})) > 0 || len(local.Lines) > 0 && !local.InStore
}

// local returns what the spec's type reaches on this machine.
func (s Spec) local(at kinds.At) (kinds.Local, error) {
	k, _ := kinds.Of(s.Type)
	if k.Local == nil {
		return kinds.Local{}, nil
	}
	return k.Local(s.Options, at)
}

// CheckTrusted returns an *UntrustedError for a spec that reaches files or programs of this machine
// without the operator's permission (SEC4, SEC5).
func (s Spec) CheckTrusted() error {
	if access := s.Access(""); len(access) > 0 && !s.Trusted {
		return &UntrustedError{Toolset: s.Title(), Access: access}
	}
	return nil
}

// Programs returns the programs of a spec in addition to its Command; none if its options cannot be
// read.
func (s Spec) Programs() Programs {
	local, err := s.local(filepath.Join)
	if err != nil {
		return Programs{}
	}
	return local.Programs
}
