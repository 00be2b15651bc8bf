package mcp

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool/refs"
)

// environment gives what a server gets: the inherited variables and what the spec names, which wins.
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
