package mcp

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool/refs"
)

// environment returns the environment of a server: the inherited variables and those that the spec
// names, which take precedence.
func environment(e *refs.Expander, environ []string, vars map[string]string) ([]string, error) {
	out := process.Inherited(environ)
	for name, text := range vars {
		value, err := e.Named(name, text, false)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		out[name] = value
	}
	return process.Environ(out), nil
}
