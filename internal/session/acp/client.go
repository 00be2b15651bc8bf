package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/process"
)

// Config specifies how an agent is started and what it may do. Command is required; all other
// fields have a useful zero value.
type Config struct {
	// Command is the program and its arguments; no shell is involved. See [PresetOf].
	Command []string
	// Env holds variables for the agent, by name. PassEnv names variables of our environment that
	// it also gets; unset ones are left out. Apart from both it gets PATH, HOME and the other
	// variables that programs need to find their files, and nothing that could be a key.
	Env     map[string]string
	PassEnv []string
	// Allow names what the agent may do without asking: kinds of tool calls of the protocol (read,
	// edit, delete, move, search, execute, think, fetch, switch_mode, other) or titles of tools,
	// compared as a whole with the agent's strings; "*" is everything. Nil means nothing (SEC13).
	// Kind and title are reported by the agent itself.
	Allow []string
	// Deny names what the agent may not do, in the form of Allow; it takes precedence over Allow
	// and Decide.
	Deny []string
	// Decide is called for what neither names; nil means that it is denied. It may ask a person and
	// take its time; ctx ends when the answer is no longer awaited. An error is a denial. It is
	// called by several goroutines concurrently if an agent asks concurrently.
	Decide func(ctx context.Context, p Permission) (bool, error)
	// ReadFiles and WriteFiles let the agent read and write text files through us, only inside the
	// session's folder (SEC16). Agents have their own means as well: they do themselves what we do
	// not offer.
	ReadFiles, WriteFiles bool
	// SummarizeCommand is the command with which the agent summarizes its conversation, without
	// slash, for agents that have one without announcing it; "" means whichever of compact,
	// summarize and compress the agent offers.
	SummarizeCommand string
	// RepeatUnknown sends a message again if it is unknown whether the agent processed it, since
	// the program died meanwhile (D23). If false, this results in graph.ErrUnknownOutcome.
	RepeatUnknown bool
	// StartTimeout limits starting the agent, negotiating and beginning a session together; 0 means
	// 1 minute. IdleTimeout limits the time between two heartbeats within a turn; 0 means 10
	// minutes, since a command that the agent runs may be silent. TurnTimeout limits a whole turn;
	// 0 means 1 hour (P11). While an agent waits for Decide, neither counts.
	StartTimeout, IdleTimeout, TurnTimeout time.Duration
	// CloseGrace is the time an agent has to stop a turn, and the time between the steps of ending
	// it (closed input, SIGTERM, SIGKILL); 0 means 1 s.
	CloseGrace time.Duration
	// Environ returns our environment; nil means os.Environ.
	Environ func() []string
	// Version is the version reported to agents; "" means dev.
	Version string
	// Logger receives what agents write to standard error, at debug level; nil means that it is
	// dropped.
	Logger *slog.Logger
}

// Permission is a request of an agent for permission.
type Permission struct {
	// Session is the session's id; Agent and Node are from its config.
	Session, Agent, Node string
	// Kind is the protocol's term for what the tool does, "" if the agent does not say. Tool is the
	// title of the call.
	Kind, Tool string
	// Arguments are the arguments of the call, as JSON; nil if the agent does not report them.
	Arguments json.RawMessage
}

const (
	defaultStartTimeout = time.Minute
	defaultIdleTimeout  = 10 * time.Minute
	defaultTurnTimeout  = time.Hour
	defaultCloseGrace   = time.Second
)

func (c Config) withDefaults() Config {
	c.StartTimeout = cmp.Or(c.StartTimeout, defaultStartTimeout)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, defaultIdleTimeout)
	c.TurnTimeout = cmp.Or(c.TurnTimeout, defaultTurnTimeout)
	c.CloseGrace = cmp.Or(c.CloseGrace, defaultCloseGrace)
	c.Version = cmp.Or(c.Version, "dev")
	c.Command, c.Allow, c.PassEnv, c.Env = slices.Clone(c.Command), slices.Clone(c.Allow), slices.Clone(c.PassEnv),
		maps.Clone(c.Env)
	c.Deny = slices.Clone(c.Deny)
	if c.Environ == nil {
		c.Environ = os.Environ
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Client creates sessions with one agent. It is a graph.Client. It is safe for concurrent use.
type Client struct {
	cfg Config
	env []string
	red process.Redactor
}

// New returns a client. It starts nothing. It returns an error if there is no command or a time is
// negative.
func New(cfg Config) (*Client, error) {
	var errs []error
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		errs = append(errs, errors.New("field Command is missing"))
	}
	for _, b := range []struct {
		name  string
		value time.Duration
	}{{"StartTimeout", cfg.StartTimeout}, {"IdleTimeout", cfg.IdleTimeout}, {"TurnTimeout", cfg.TurnTimeout},
		{"CloseGrace", cfg.CloseGrace}} {
		if b.value < 0 {
			errs = append(errs, fmt.Errorf("field %s is negative", b.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("config of ACP sessions: %w", err)
	}
	cl := &Client{cfg: cfg.withDefaults()}
	vars, secrets := environment(cl.cfg)
	cl.env, cl.red = process.Environ(vars), process.NewRedactor(secrets)
	return cl, nil
}

// environment returns the agent's environment, and those of its values that are redacted in text
// about the agent.
func environment(c Config) (vars map[string]string, secrets []string) {
	environ := c.Environ()
	vars = process.Inherited(environ)
	env := map[string]string{}
	for _, kv := range environ {
		if name, value := cut(kv); slices.Contains(c.PassEnv, name) {
			env[name] = value
		}
	}
	maps.Copy(env, c.Env)
	maps.Copy(vars, env)
	for name, value := range env {
		if process.LooksSecret(name) && len(value) >= process.MinSecretLen {
			secrets = append(secrets, value)
		}
	}
	return vars, secrets
}

var _ graph.Client = (*Client)(nil)
