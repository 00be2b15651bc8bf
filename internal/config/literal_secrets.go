package config

import (
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
)

// checkSecrets reports variables, headers and keys of a toolset that are literal secrets (SEC11).
func (r *reader) checkSecrets(n *source.Node, s tool.Spec) {
	check := func(at *source.Node, values map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if secret.LooksWritten(name, values[name]) {
				span := s.Span
				if v := at.Get(name); v != nil {
					span = v.Span
				}
				r.diags.Errorf(span, n.Path(), CodeBareSecret,
					"%s must be a reference to a secret, not the secret itself", name).Hint = "write ${env.NAME}, or " +
					"${file:PATH} for a file that only its owner can read"
			}
		}
	}
	if s.Type == tool.TypeMCP {
		check(n.Get("env"), s.Env)
		if s.Remote != nil {
			check(n.Get("remote").Get("headers"), s.Remote.Headers)
		}
		return
	}
	places := []*source.Node{n, n.Get("env"), n.Get("headers"), n.Get("auth"), n.Get("api_config").Get("headers")}
	if scripts := n.Get("shell"); scripts != nil && scripts.Kind == source.Map {
		for _, e := range scripts.Entries {
			places = append(places, e.Value.Get("env"))
		}
	}
	for _, at := range places {
		check(at, textsOf(at))
	}
}

// textsOf returns the strings that are direct values of a map, by key.
func textsOf(n *source.Node) map[string]string {
	out := map[string]string{}
	if n != nil && n.Kind == source.Map {
		for _, e := range n.Entries {
			if e.Value.Kind == source.String {
				out[e.Key] = e.Value.Text
			}
		}
	}
	return out
}
