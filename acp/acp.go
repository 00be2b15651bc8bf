package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/session/acp"
)

// Config specifies how a coding agent is started and what it may do. Preset or Command is required;
// every other field has a useful zero value.
type Config struct {
	// Preset is the name of a built-in agent, see [Presets]: claude, copilot, gemini, opencode. ""
	// means no preset.
	Preset string
	// Command is the program and its arguments, run without a shell. If nil, Preset's command is
	// used.
	Command []string
	// Dir is the working directory of sessions that do not set one; "" means that of the process.
	Dir string
	// Env holds environment variables for the agent. PassEnv names variables of this process to
	// pass to the agent in addition to those of Preset; unset variables are omitted. The agent also
	// gets PATH, HOME and the other variables that programs need to run, but nothing that could be
	// an API key.
	Env     map[string]string
	PassEnv []string
	// Allow lists what the agent may do without asking: the protocol's kinds of tool calls (read,
	// edit, delete, move, search, execute, think, fetch, switch_mode, other) or complete call
	// titles; "*" allows everything. Nil allows nothing. Deny lists what the agent may not do, and
	// takes precedence. Kind and title are reported by the agent itself, and many agents do some
	// things without asking.
	Allow, Deny []string
	// Decide is called for requests that match neither Allow nor Deny. If nil, such requests are
	// denied. Decide may ask a person and take its time: the turn's time limits are suspended
	// meanwhile. ctx is done when the answer is no longer needed. An error or a panic denies the
	// request. Decide may be called by several goroutines concurrently.
	Decide func(ctx context.Context, p Permission) (bool, error)
	// ReadFiles and WriteFiles let the agent read and write text files through Hocket, within the
	// session's folder and nowhere else.
	ReadFiles, WriteFiles bool
	// SummarizeCommand is the agent's command for summarizing its conversation, without the slash.
	// If "", Preset's command is used, or else whichever of compact, summarize and compress the
	// agent offers.
	SummarizeCommand string
	// RepeatUnknown resends a message if the program died before it was known whether the agent had
	// processed it. If false, the session fails with graph.ErrUnknownOutcome.
	RepeatUnknown bool
	// StartTimeout limits the start of a session; 0 means 1 minute. IdleTimeout limits the time
	// between two updates from the agent within a turn; 0 means 10 minutes. TurnTimeout limits a
	// whole turn; 0 means 1 hour.
	StartTimeout, IdleTimeout, TurnTimeout time.Duration
	// CloseGrace is how long to wait after each attempt to stop an agent before escalating to a
	// harder one; 0 means 1 s.
	CloseGrace time.Duration
	// Logger receives what agents write to standard error, at debug level. If nil, that output is
	// discarded.
	Logger *slog.Logger
}

// Permission is a request by an agent for permission to make a tool call.
type Permission struct {
	// Session is the id of the session; Agent and Node are the Name and Node of its config.
	Session, Agent, Node string
	// Kind is the protocol's word for what the call does, or "" if the agent does not report it.
	// Tool is the title of the call.
	Kind, Tool string
	// Arguments holds the arguments of the call as JSON; nil if the agent does not report them.
	Arguments json.RawMessage
}

// Client creates sessions with one coding agent. It implements graph.Client and is safe for
// concurrent use.
type Client struct {
	sessions *acp.Client
	dir      string
}

var _ graph.Client = (*Client)(nil)

// New returns a new client. It starts nothing and does not check whether the program exists;
// [Client.CreateSession] reports that.
//
// It returns an error if c has neither Preset nor Command, if the preset is unknown, or if a
// duration is negative.
func New(c Config) (*Client, error) {
	var p acp.Preset
	if c.Preset != "" {
		var ok bool
		if p, ok = acp.PresetOf(c.Preset); !ok {
			return nil, fmt.Errorf("unknown preset %q; known presets: %s", c.Preset, strings.Join(names(), ", "))
		}
	}
	if len(c.Command) > 0 {
		p.Command = c.Command
	}
	cfg := acp.Config{
		Command: p.Command, Env: c.Env, PassEnv: slices.Concat(p.PassEnv, c.PassEnv), Allow: c.Allow, Deny: c.Deny,
		ReadFiles: c.ReadFiles, WriteFiles: c.WriteFiles,
		SummarizeCommand: cmp.Or(c.SummarizeCommand, p.SummarizeCommand), RepeatUnknown: c.RepeatUnknown,
		StartTimeout: c.StartTimeout, IdleTimeout: c.IdleTimeout, TurnTimeout: c.TurnTimeout, CloseGrace: c.CloseGrace,
		Logger: c.Logger,
	}
	if c.Decide != nil {
		cfg.Decide = func(ctx context.Context, p acp.Permission) (bool, error) { return c.Decide(ctx, Permission(p)) }
	}
	sessions, err := acp.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{sessions, c.Dir}, nil
}

// CreateSession implements graph.Client. It starts the agent, and stops it when ctx is done.
//
// c.Model is one of the models that the agent offers. c.Tools must be empty, since a coding agent
// has its own tools. c.Options accepts `mode`, the id of one of the agent's modes. Errors describe
// what happened to the agent: it could not be started, it exited (with its last output), it did not
// respond in time, or it requires a login.
func (cl *Client) CreateSession(ctx context.Context, c graph.SessionConfig) (graph.Session, error) {
	c.Dir = cmp.Or(c.Dir, cl.dir)
	return cl.sessions.CreateSession(ctx, c)
}

// Preset describes a known agent. Agents change; the values were correct for the versions that
// Notes names.
type Preset struct {
	Name string
	// Command starts the agent; the program must be installed.
	Command []string
	// PassEnv names the environment variables that hold the agent's keys and settings; those that
	// are set are passed on.
	PassEnv []string
	// SummarizeCommand is used for agents that do not advertise their own.
	SummarizeCommand string
	// Install says how to install the agent; Notes describes what it can do.
	Install, Notes string
}

// Presets returns the known agents, by name. The caller owns the slices.
func Presets() []Preset {
	var out []Preset
	for _, p := range acp.Presets() {
		q := Preset(p)
		q.Command, q.PassEnv = slices.Clone(p.Command), slices.Clone(p.PassEnv)
		out = append(out, q)
	}
	return out
}

func names() []string {
	var out []string
	for _, p := range acp.Presets() {
		out = append(out, p.Name)
	}
	return out
}
