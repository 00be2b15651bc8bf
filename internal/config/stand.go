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

// fileText matches a file secret in a string.
var fileText = regexp.MustCompile(`\$\{\s*file:([^}]+)\}`)

// stand resolves the paths of a toolset relative to the directory of the file: a command with a
// slash in it, the working directory, options that are paths, and secret files.
func (r *reader) stand(s tool.Spec) tool.Spec {
	if strings.ContainsAny(s.Command, "/"+string(filepath.Separator)) {
		s.Command = r.inFolder(s.Command)
	}
	if s.Dir != "" {
		s.Dir = r.inFolder(s.Dir)
	}
	text := func(v string) string {
		return fileText.ReplaceAllStringFunc(v, func(ref string) string {
			path := strings.TrimSpace(fileText.FindStringSubmatch(ref)[1])
			return "${" + secret.FilePrefix + r.inFolder(path) + "}"
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
	s.Options = r.standOptions(s, text)
	if s.Remote != nil {
		remote := *s.Remote
		remote.URL, remote.Headers = text(remote.URL), all(remote.Headers)
		s.Remote = &remote
	}
	return s
}

// standOptions is stand for the options of a type; text is applied to each string in them.
func (r *reader) standOptions(s tool.Spec, text func(string) string) json.RawMessage {
	var options map[string]any
	d := json.NewDecoder(bytes.NewReader(s.Options))
	d.UseNumber()
	if d.Decode(&options) != nil {
		return s.Options // opening the toolset reports the error
	}
	own, _ := kinds.Of(s.Type)
	if p, ok := options[own.Path].(string); ok && p != "" {
		options[own.Path] = r.inFolder(p)
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
