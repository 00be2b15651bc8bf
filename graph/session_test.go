package graph_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
)

// TestSessionUsage checks that percent is fraction times 100 (S2-60), never above 100, and never
// guessed if the window's size is unknown.
func TestSessionUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage   graph.SessionUsage
		percent float64
		err     error
	}{
		"half":    {graph.SessionUsage{InputTokens: 400, OutputTokens: 100, MaxTokens: 1000}, 50, nil},
		"empty":   {graph.SessionUsage{MaxTokens: 1000}, 0, nil},
		"over":    {graph.SessionUsage{InputTokens: 1200, MaxTokens: 1000}, 100, nil},
		"unknown": {graph.SessionUsage{InputTokens: 1200}, 0, graph.ErrUnknownUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.usage.Window()
			want := graph.ContextWindowUsage{
				InputTokens: c.usage.InputTokens, OutputTokens: c.usage.OutputTokens, MaxTokens: c.usage.MaxTokens,
				UsagePercentage: c.percent,
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Errorf("got %v, %v; -want +got:\n%s", got, err, diff)
			}
		})
	}
}

func TestStopError(t *testing.T) {
	t.Parallel()
	if got, want := (&graph.StopError{Reason: graph.StopRefusal}).Error(), "the agent stopped: refusal"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&graph.StopError{Reason: graph.StopMaxTurns, Message: "50 model calls"}).Error(),
		"the agent stopped: max_turns: 50 model calls"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
