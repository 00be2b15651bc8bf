package hocket

import (
	"context"
	"iter"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/program"
)

// uncounted is a client of the program's own, whose sessions do not report what they use: under a budget of tokens or money they work only where it allows that.
type uncounted struct{ graph.Client }

var _ program.Counted = uncounted{}

// Counted implements program.Counted.
func (uncounted) Counted() {}

// CreateSession implements graph.Client.
func (c uncounted) CreateSession(ctx context.Context, cfg graph.SessionConfig) (graph.Session, error) {
	if err := program.Uncounted(ctx); err != nil {
		return nil, err
	}
	s, err := c.Client.CreateSession(ctx, cfg)
	if err != nil || s == nil {
		return s, err
	}
	return uncountedSession{s}, nil
}

// uncountedSession asks again for each message: a session may outlive the run that it was made in.
type uncountedSession struct{ graph.Session }

// Stream implements graph.Session.
func (s uncountedSession) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	if err := program.Uncounted(ctx); err != nil {
		return func(yield func(graph.AgentMessage, error) bool) { yield(graph.AgentMessage{}, err) }
	}
	return s.Session.Stream(ctx, message)
}

// Summarize implements graph.Session.
func (s uncountedSession) Summarize(ctx context.Context) error {
	if err := program.Uncounted(ctx); err != nil {
		return err
	}
	return s.Session.Summarize(ctx)
}
