package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
)

// fakeAgent is a client whose sessions note what they are asked. The zero value answers "hello" and knows no usage.
type fakeAgent struct {
	// answer gives what comes back for the n-th message of all sessions, from 1. Nil: the one message "hello".
	answer func(ctx context.Context, n int, message string) ([]graph.AgentMessage, error)
	// usage is told by ContextUsage; nil: it does not know. Summaries make it summarized.
	usage, summarized *graph.SessionUsage
	// createErr, usageErr, summarizeErr and destroyErr are what these fail with.
	createErr, usageErr, summarizeErr, destroyErr error

	mu      sync.Mutex
	configs []graph.SessionConfig
	sent    []string
	calls   []string
}

func (a *fakeAgent) note(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
}

// noted gives the calls so far.
func (a *fakeAgent) noted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func (a *fakeAgent) messages() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

// runtime offers the agent under one type.
func (a *fakeAgent) runtime(agentType string) graph.Runtime {
	return graph.Runtime{ClientProvider: func(t string) graph.Client {
		if t == agentType {
			return a
		}
		return nil
	}}
}

func (a *fakeAgent) CreateSession(_ context.Context, c graph.SessionConfig) (graph.Session, error) {
	a.note("create")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.configs = append(a.configs, c)
	if a.createErr != nil {
		return nil, a.createErr
	}
	return &fakeSession{a, fmt.Sprintf("s%d", len(a.configs))}, nil
}

type fakeSession struct {
	agent *fakeAgent
	id    string
}

func (s *fakeSession) ID() string { return s.id }

func (s *fakeSession) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		a := s.agent
		a.note("send")
		a.mu.Lock()
		a.sent = append(a.sent, message)
		n := len(a.sent)
		a.mu.Unlock()
		answer := hello
		var err error
		if a.answer != nil {
			answer, err = a.answer(ctx, n, message)
		}
		for _, m := range answer {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(graph.AgentMessage{}, err)
		}
	}
}

func (s *fakeSession) ContextUsage(context.Context) (graph.SessionUsage, error) {
	s.agent.note("usage")
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	switch {
	case s.agent.usageErr != nil:
		return graph.SessionUsage{}, s.agent.usageErr
	case s.agent.usage == nil:
		return graph.SessionUsage{}, graph.ErrUnknownUsage
	}
	return *s.agent.usage, nil
}

func (s *fakeSession) Summarize(context.Context) error {
	s.agent.note("summarize")
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.agent.summarizeErr != nil {
		return s.agent.summarizeErr
	}
	s.agent.usage = s.agent.summarized
	return nil
}

// Destroy notes whether it still can do its work.
func (s *fakeSession) Destroy(ctx context.Context) error {
	call := "destroy"
	if ctx.Err() != nil {
		call += " too late"
	}
	if _, bounded := ctx.Deadline(); !bounded {
		call += " without end"
	}
	s.agent.note(call)
	return s.agent.destroyErr
}

var hello = []graph.AgentMessage{{Type: graph.MessageText, Role: "assistant", Content: "hello"}}

var errAgent = errors.New("the agent broke")

// full is the usage of a window of 1,000 tokens.
func full(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: 10 * percent, MaxTokens: 1000}
}

func windowOf(percent int) graph.ContextWindowUsage {
	return graph.ContextWindowUsage{InputTokens: 10 * percent, MaxTokens: 1000, UsagePercentage: float64(percent)}
}
