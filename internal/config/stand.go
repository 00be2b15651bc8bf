package config

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
)

// fileText is a secret of a file in a text.
var fileText = regexp.MustCompile(`\$\{\s*file:([^}]+)\}`)

// stand lets the paths of a toolset begin at the folder of the file: a command with a slash in it, the working directory, and files of secrets.
func (r *reader) stand(s tool.Spec) tool.Spec {
	if strings.ContainsRune(s.Command, filepath.Separator) {
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
	if s.Remote != nil {
		remote := *s.Remote
		remote.URL, remote.Headers = text(remote.URL), all(remote.Headers)
		s.Remote = &remote
	}
	return s
}
