package graph_test

import (
	"errors"

	"github.com/hocket-run/hocket/graph"
)

var errAgent = errors.New("the agent broke")

// full returns the usage of a window of 1,000 tokens.
func full(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: 10 * percent, MaxTokens: 1000}
}

func windowOf(percent int) graph.ContextWindowUsage {
	return graph.ContextWindowUsage{InputTokens: 10 * percent, MaxTokens: 1000, UsagePercentage: float64(percent)}
}
