package conformance_test

import (
	"slices"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// coder is a coding agent whose sessions record their calls.
type coder struct{ graphtest.Agent }

// runtime offers the agent as the type claude.
func (a *coder) runtime() graph.Runtime { return a.Runtime("claude") }

// noted returns the recorded calls except those for the usage.
func (a *coder) noted() []string {
	calls := slices.DeleteFunc(a.Calls(), func(call string) bool { return call == "usage" })
	return append([]string(nil), calls...)
}

// filled returns the usage of a window of 100 tokens.
func filled(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: percent, MaxTokens: 100}
}

type (
	crew    = graphtest.Team
	toolbox = graphtest.Tools
)
