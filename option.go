package hocket

import (
	"errors"
	"fmt"
	"maps"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Option gives an engine something of the program's own: [WithTool], [WithModel], [WithAgent], [WithSessions], provider.All. Those that cannot be are
// errors of [Open].
type Option func(*settings)

// settings are what the options say.
type settings struct {
	tools    []goTool
	models   map[string]model.Client
	adapters map[model.Protocol]model.Factory
	agents   []Agent
	sessions map[string]graph.Client
	registry toolRegistry
	problems []error
}

// client gives the client of an agent type, nil where there is none.
func (s *settings) client(agentType string) graph.Client {
	if c := s.sessions[agentType]; c != nil {
		return c
	}
	return nil
}

func settingsOf(options []Option) (*settings, error) {
	s := &settings{models: map[string]model.Client{}, adapters: map[model.Protocol]model.Factory{}, sessions: map[string]graph.Client{}}
	for _, o := range options {
		if o == nil {
			s.problemf("an option is nil")
			continue
		}
		o(s)
	}
	s.registry = toolRegistry{}
	for i := range s.tools {
		s.registry[s.tools[i].def.Name] = &s.tools[i]
	}
	return s, errors.Join(s.problems...)
}

func (s *settings) problemf(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// Adapters are the ways to speak to model providers, as package provider gives them.
type Adapters = map[model.Protocol]model.Factory

// WithAdapters lets agents use the model providers that Hocket knows by name (openai, anthropic, google, ollama, …), with keys from [Config.Env]. Programs
// say provider.All() or one of its kind, and get the SDK of that provider with it.
func WithAdapters(a Adapters) Option {
	return func(s *settings) {
		maps.Copy(s.adapters, a)
	}
}

// Agent is an agent that documents may name, and that subagent nodes of graphs may spawn.
type Agent struct {
	// Name is its id: letters, digits, `_`, `-` and spaces.
	Name string
	// Description tells whoever chooses among agents what it is for.
	Description  string
	SystemPrompt string
	// Model is a reference such as openai/gpt-5-mini; "" is that of the run, else HOCKET_MODEL.
	Model string
	// Tools are the names of the tools that it may use; nil: none (SEC13).
	Tools []string
}

// definition is the agent as workflows have it.
func (a Agent) definition() workflow.Agent {
	return workflow.Agent{ID: a.Name, Name: a.Name, Description: a.Description, Model: a.Model, System: a.SystemPrompt, Tools: a.Tools}
}

// WithAgent adds an agent. Names must be unique.
func WithAgent(a Agent) Option {
	return func(s *settings) {
		if a.Name == "" {
			s.problemf("an agent has no name")
			return
		}
		for _, other := range s.agents {
			if other.Name == a.Name {
				s.problemf("two agents have the name %q", a.Name)
				return
			}
		}
		s.agents = append(s.agents, a)
	}
}

// WithSessions gives agent nodes of the type agentType the client of their sessions (S2-68).
func WithSessions(agentType string, c graph.Client) Option {
	return func(s *settings) {
		switch {
		case agentType == "" || c == nil:
			s.problemf("sessions need an agent type and a client")
		case s.sessions[agentType] != nil:
			s.problemf("agent type %q has two clients", agentType)
		default:
			s.sessions[agentType] = c
		}
	}
}

// definitions are the agents as workflows have them.
func (s *settings) definitions() []workflow.Agent {
	out := make([]workflow.Agent, len(s.agents))
	for i, a := range s.agents {
		out[i] = a.definition()
	}
	return out
}

// internalTools are the tools as runs use them.
func (s *settings) internalTools() []tool.Tool {
	out := make([]tool.Tool, len(s.tools))
	for i := range s.tools {
		out[i] = &s.tools[i]
	}
	return out
}
