package graphtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
)

// Agent is a client whose sessions record the requests they receive. The zero value answers [Hello]
// and reports no usage. Its methods may be called concurrently; its fields must be set before the
// first call.
type Agent struct {
	// Answer returns the reply to the n-th message across all sessions, counting from 1. Nil means
	// Hello.
	Answer func(ctx context.Context, n int, message string) ([]graph.AgentMessage, error)
	// Usage is the result of ContextUsage; nil makes it return [graph.ErrUnknownUsage]. Summarize
	// sets Usage to Summarized.
	Usage, Summarized *graph.SessionUsage
	// CreateErr, UsageErr, SummarizeErr and DestroyErr are the errors that the respective calls
	// return.
	CreateErr, UsageErr, SummarizeErr, DestroyErr error

	mu      sync.Mutex
	configs []graph.SessionConfig
	sent    []string
	calls   []string
}

// Hello returns the default reply of an agent.
func Hello() []graph.AgentMessage {
	return []graph.AgentMessage{{Type: graph.MessageText, Role: "assistant", Content: "hello"}}
}

// Note adds a call to the record.
func (a *Agent) Note(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
}

// Calls returns the recorded calls: create, send, usage, summarize, destroy, and those added with
// Note.
func (a *Agent) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// Messages returns the messages of all sessions so far.
func (a *Agent) Messages() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

// Configs returns the configurations of the sessions so far.
func (a *Agent) Configs() []graph.SessionConfig {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.configs)
}

// Runtime returns a runtime that offers the agent under one type.
func (a *Agent) Runtime(agentType string) graph.Runtime {
	return graph.Runtime{ClientProvider: func(t string) graph.Client {
		if t == agentType {
			return a
		}
		return nil
	}}
}

// CreateSession implements [graph.Client].
func (a *Agent) CreateSession(_ context.Context, c graph.SessionConfig) (graph.Session, error) {
	a.Note("create")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.configs = append(a.configs, c)
	if a.CreateErr != nil {
		return nil, a.CreateErr
	}
	return &session{a, fmt.Sprintf("s%d", len(a.configs))}, nil
}

// Session returns a session whose creation is not recorded.
func (a *Agent) Session() graph.Session { return &session{a, "s"} }

type session struct {
	*Agent

	id string
}

func (s *session) ID() string { return s.id }

func (s *session) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		s.Note("send")
		s.mu.Lock()
		s.sent = append(s.sent, message)
		n := len(s.sent)
		s.mu.Unlock()
		answer, err := Hello(), error(nil)
		if s.Answer != nil {
			answer, err = s.Answer(ctx, n, message)
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

func (s *session) ContextUsage(context.Context) (graph.SessionUsage, error) {
	s.Note("usage")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.UsageErr != nil:
		return graph.SessionUsage{}, s.UsageErr
	case s.Usage == nil:
		return graph.SessionUsage{}, graph.ErrUnknownUsage
	}
	return *s.Usage, nil
}

func (s *session) Summarize(context.Context) error {
	s.Note("summarize")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.SummarizeErr != nil {
		return s.SummarizeErr
	}
	s.Usage = s.Summarized
	return nil
}

// Destroy records whether its context is still usable.
func (s *session) Destroy(ctx context.Context) error {
	call := "destroy"
	if ctx.Err() != nil {
		call += " too late"
	}
	if _, bounded := ctx.Deadline(); !bounded {
		call += " without end"
	}
	s.Note(call)
	return s.DestroyErr
}
