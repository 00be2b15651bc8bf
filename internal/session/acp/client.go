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

// Config says how an agent is started and what it may do. Command is required; all else has a useful zero value.
type Config struct {
	// Command is the program and its arguments; no shell is involved. See [PresetOf].
	Command []string
	// Env are variables for the agent, by name. PassEnv names variables of our environment that it gets, too; those that are not set are left out. Beyond
	// both it gets PATH, HOME and what else programs need to find themselves, and nothing that could be a key.
	Env     map[string]string
	PassEnv []string
	// Allow names what the agent may do without being asked about: kinds of tool calls of the protocol (read, edit, delete, move, search, execute, think,
	// fetch, switch_mode, other) or titles of tools, compared as whole words of the agent; "*" is everything. Nil: nothing (SEC13). Kind and title are what the
	// agent says of itself.
	Allow []string
	// Deny names what the agent may not do, as Allow does; it wins over Allow and Decide.
	Deny []string
	// Decide is asked about what neither names; nil: denied. It may ask a person and take its time; ctx ends when the answer is not awaited any more. An
	// error is a denial. Called by several goroutines at once where an agent asks so.
	Decide func(ctx context.Context, p Permission) (bool, error)
	// ReadFiles and WriteFiles let the agent read and write text files through us, inside of the session's folder and nowhere else (SEC16). Agents have their own
	// means as well; what we do not offer they do themselves.
	ReadFiles, WriteFiles bool
	// SummarizeCommand is the command by which the agent summarizes its conversation, without slash, for agents that have one without saying so; "" is
	// what the agent offers of compact, summarize and compress.
	SummarizeCommand string
	// RepeatUnknown sends a message again of which is not known whether the agent carried it out, since the program died meanwhile (D23). False: that is
	// graph.ErrUnknownOutcome.
	RepeatUnknown bool
	// StartTimeout bounds starting, agreeing and beginning a session together; 0: 1 minute. IdleTimeout bounds the time between two signs of life within a turn, 0: 10
	// minutes, since a command that the agent runs may be silent; TurnTimeout a whole turn, 0: 1 hour (P11). While an agent waits for Decide, neither counts.
	StartTimeout, IdleTimeout, TurnTimeout time.Duration
	// CloseGrace is given to an agent to stop a turn, and to each way of ending it (closed input, SIGTERM, SIGKILL) before the next; 0: 1 s.
	CloseGrace time.Duration
	// Environ is our environment; nil: os.Environ.
	Environ func() []string
	// Version is told to agents; "" is dev.
	Version string
	// Logger gets what agents write to standard error, at debug level; nil: dropped.
	Logger *slog.Logger
}

// Permission is what an agent asks leave for.
type Permission struct {
	// Session is the session's id, Agent and Node are those of its config.
	Session, Agent, Node string
	// Kind is the protocol's word for what the tool does, "" where the agent does not say. Tool is the title of the call.
	Kind, Tool string
	// Arguments are those of the call, as JSON; nil where the agent does not tell them.
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
	c.Command, c.Allow, c.PassEnv, c.Env = slices.Clone(c.Command), slices.Clone(c.Allow), slices.Clone(c.PassEnv), maps.Clone(c.Env)
	c.Deny = slices.Clone(c.Deny)
	if c.Environ == nil {
		c.Environ = os.Environ
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Client makes sessions with one agent. It is a graph.Client. Safe for concurrent use.
type Client struct {
	cfg Config
	env []string
	red process.Redactor
}

// New makes a client. It starts nothing. Errors: no command, negative times.
func New(cfg Config) (*Client, error) {
	var errs []error
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		errs = append(errs, errors.New("field Command is missing"))
	}
	for _, b := range []struct {
		name  string
		value time.Duration
	}{{"StartTimeout", cfg.StartTimeout}, {"IdleTimeout", cfg.IdleTimeout}, {"TurnTimeout", cfg.TurnTimeout}, {"CloseGrace", cfg.CloseGrace}} {
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

// environment gives what an agent gets, and which values of it are redacted in texts about the agent.
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
