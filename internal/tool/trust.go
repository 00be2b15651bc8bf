package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Commands returns the commands that the specs would start, in order and without duplicates, to be
// shown to a person before anything starts (SEC5). A command with its own variables or folder is
// shown as it would be typed: env -C DIR NAME=VALUE COMMAND ARG…; references to variables are shown
// as written, never their values.
func Commands(specs []Spec) [][]string {
	var out [][]string
	for _, s := range specs {
		argv := s.Argv()
		if argv == nil || slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, argv) }) {
			continue
		}
		out = append(out, argv)
	}
	return out
}

// Argv returns the spec's command as [Commands] shows it, or nil if the spec starts none.
func (s Spec) Argv() []string {
	if s.Command == "" {
		return nil
	}
	var argv []string
	if s.Dir != "" || len(s.Env) > 0 {
		argv = append(argv, "env")
	}
	if s.Dir != "" {
		argv = append(argv, "-C", s.Dir)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		argv = append(argv, name+"="+s.Env[name])
	}
	argv = append(argv, s.Command)
	return append(argv, s.Args...)
}

// TrustHash returns a fingerprint of what the specs would start and reach ([Commands], [Access]),
// independent of their order. A person's approval is valid for the same hash, later and in another
// process (D19). An empty hash means that nothing would be started or reached.
func TrustHash(specs []Spec) string {
	commands := Commands(specs)
	var local []string
	for _, s := range specs {
		if len(s.Access("")) == 0 {
			continue
		}
		// The whole spec is hashed: the lines shown to people may hide differences.
		b, err := json.Marshal(s)
		if err != nil {
			b = fmt.Appendf(nil, "%q", s.Options)
		}
		local = append(local, string(b))
	}
	if len(commands)+len(local) == 0 {
		return ""
	}
	slices.SortFunc(commands, slices.Compare[[]string])
	slices.Sort(local)
	wants := any(commands)
	if len(local) > 0 {
		wants = []any{commands, slices.Compact(local)}
	}
	b, _ := json.Marshal(wants) //nolint:errchkjson // strings cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
