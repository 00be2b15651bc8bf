package hocket

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Option gives an engine something of the program's own: [WithTool], [WithModel], [WithAgent], [WithSessions], [WithLLMSessions], [WithTelemetry], [WithConfig], provider.All. Those that
// cannot be are errors of [Open].
type Option func(*settings)

// settings are what the options say.
type settings struct {
	tools    []goTool
	models   map[string]model.Client
	adapters map[model.Protocol]model.Factory
	agents   []Agent
	sessions map[string]graph.Client
	llm      map[string]LLMSessions
	pages    Pages
	registry toolRegistry
	// telemetry is where traces and metrics go; nil: nowhere but where the configuration says.
	telemetry *otlp.Config
	// config is the operator's file; "": none.
	config   string
	problems []error
}

func settingsOf(options []Option) (*settings, error) {
	s := &settings{models: map[string]model.Client{}, adapters: map[model.Protocol]model.Factory{}, sessions: map[string]graph.Client{}, llm: map[string]LLMSessions{}}
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

// Adapters are the ways to speak to model providers. Package provider makes them and nobody else can, since what they stand for is Hocket's own port; a
// program gives a provider of its own by [WithModel].
type Adapters interface {
	// Protocols names the protocols that are spoken, sorted.
	Protocols() []string
}

// WithAdapters lets agents use the model providers that Hocket knows by name (openai, anthropic, google, ollama, …), with keys from [Config.Env]. Programs
// say provider.All(), and get the SDKs of those providers with it. Errors, of [Open]: adapters that package provider did not make.
func WithAdapters(a Adapters) Option {
	return func(s *settings) {
		f, ok := a.(model.Factories)
		if !ok {
			s.problemf("the adapters are not from package provider; use WithModel for a model that the program implements")
			return
		}
		maps.Copy(s.adapters, f)
	}
}

// WithConfig has an engine heed a configuration, hocket.yaml, as the command line does: model providers and their limits, models, the default model, MCP servers
// and toolsets, permissions, budgets, prices, limits of calls, hosts that requests may reach, the collector of telemetry (docs/configuration.md). Without it an
// engine reads none. Only who may say what documents do on this machine should write the file; nobody finds it by itself, least of all in the working directory.
//
// What the program says comes first: Config.MaxCalls, the names of [WithModel] and [WithTool], [WithTelemetry]. store.path holds where Config.DB is "", in which
// case runs are kept there. Model providers need [WithAdapters] as well. Sessions of [WithLLMSessions] are the program's alone and heed none of it. The last one
// given counts.
//
// Errors, of [Open]: the file, or the one of prices that it names, cannot be read; what stands in them is wrong, each problem with its place.
func WithConfig(path string) Option {
	return func(s *settings) {
		if path == "" {
			s.problemf("the path of the configuration is empty")
			return
		}
		s.config = path
	}
}

// Pages turns what web servers send into text for a model. Package toolsets has one; a program may give its own. Safe for concurrent use.
type Pages interface {
	// Decode gives text of any character set as UTF-8. contentType is the server's header, "" for none.
	Decode(body []byte, contentType string) string
	// Markdown gives the content of an HTML page as Markdown, its relative links made whole by address, which is where the page came from. It ends with ctx, since a page
	// can be made to take long.
	Markdown(ctx context.Context, html, address string) (string, error)
	// Text gives the content of an HTML page as plain text. It ends with ctx.
	Text(ctx context.Context, html string) (string, error)
}

// WithPages lets agents of documents have toolsets of type fetch. Programs say toolsets.All(), and get the libraries for it. The last one given counts.
// Errors, of [Open]: p is nil.
func WithPages(p Pages) Option {
	return func(s *settings) {
		if p == nil {
			s.problemf("pages are nil")
			return
		}
		s.pages = p
	}
}

// Agent is an agent that documents may name, and that subagent nodes of graphs may spawn.
type Agent struct {
	// Name is its id: letters, digits, `_`, `-` and spaces.
	Name string
	// Description tells whoever chooses among agents what it is for.
	Description  string
	SystemPrompt string
	// Model is a reference such as openai/gpt-6.1-terra; "" is that of the run, else HOCKET_MODEL.
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

// WithSessions gives agent nodes of the type agentType the client of their sessions (S2-68): one of package acp, or the program's own. Nothing starts
// a coding agent that no option names (SEC5); sessions with a model need no client, see [AgentLLM].
func WithSessions(agentType string, c graph.Client) Option {
	return func(s *settings) {
		switch {
		case agentType == "" || c == nil:
			s.problemf("sessions need an agent type and a client")
		case s.hasSessions(agentType):
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
