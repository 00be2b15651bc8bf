package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Commands gives the commands that the specs would start, in order and each once, to be shown to a person before anything starts (SEC5). A
// command that would get variables or a folder of its own is shown as it would be typed: env -C DIR NAME=VALUE COMMAND ARG…; references to
// variables are shown as they are written, never their values.
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

// Argv gives the spec's command as [Commands] shows it, nil for a spec that starts none.
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

// TrustHash fingerprints what the specs want to start and reach ([Commands], [Access]), whatever their order. A person's yes holds for the same hash,
// later and in another process (D19). "" means that nothing would be started or reached.
func TrustHash(specs []Spec) string {
	commands := Commands(specs)
	var local []string
	for _, s := range specs {
		if len(s.Access("")) == 0 {
			continue
		}
		// The whole of the spec: lines for people are no place to look for differences.
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
