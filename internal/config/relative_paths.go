package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// fileSecret matches a file secret in a string.
var fileSecret = regexp.MustCompile(`\$\{\s*file:([^}]+)\}`)

// resolvePaths resolves the paths of a toolset relative to the directory of the file: a command
// with a slash in it, the working directory, options that are paths, and secret files.
func (r *reader) resolvePaths(s tool.Spec) tool.Spec {
	if strings.ContainsAny(s.Command, "/"+string(filepath.Separator)) {
		s.Command = r.resolvePath(s.Command)
	}
	if s.Dir != "" {
		s.Dir = r.resolvePath(s.Dir)
	}
	text := func(v string) string {
		return fileSecret.ReplaceAllStringFunc(v, func(ref string) string {
			path := strings.TrimSpace(fileSecret.FindStringSubmatch(ref)[1])
			return "${" + secret.FilePrefix + r.resolvePath(path) + "}"
		})
	}
	all := func(m map[string]string) map[string]string {
		if m == nil {
			return nil
		}
		out := map[string]string{}
		for k, v := range m {
			out[k] = text(v)
		}
		return out
	}
	s.Env = all(s.Env)
	s.Options = r.resolveOptionPaths(s, text)
	if s.Remote != nil {
		remote := *s.Remote
		remote.URL, remote.Headers = text(remote.URL), all(remote.Headers)
		s.Remote = &remote
	}
	return s
}

// resolveOptionPaths is like resolvePaths for the options of a type; text is applied to each string
// in them.
func (r *reader) resolveOptionPaths(s tool.Spec, text func(string) string) json.RawMessage {
	var options map[string]any
	d := json.NewDecoder(bytes.NewReader(s.Options))
	d.UseNumber()
	if d.Decode(&options) != nil {
		return s.Options // opening the toolset reports the error
	}
	own, _ := kinds.Of(s.Type)
	if p, ok := options[own.Path].(string); ok && p != "" {
		options[own.Path] = r.resolvePath(p)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return text(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	out, err := json.Marshal(walk(options))
	if err != nil {
		return s.Options
	}
	return out
}
