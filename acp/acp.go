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

// Config says how a coding agent is started and what it may do. Preset or Command is required; all else has a useful zero value.
type Config struct {
	// Preset is an agent that is known here, see [Presets]: claude, copilot, gemini, opencode. "" is none.
	Preset string
	// Command is the program and its arguments; no shell is involved. Nil is that of Preset.
	Command []string
	// Dir is the folder of sessions that name none; "" is that of the process.
	Dir string
	// Env are variables for the agent. PassEnv names variables of the process that it gets, too, beside those of Preset; those that are not set are left out.
	// Beyond that it gets PATH, HOME and what else programs need to find themselves, and nothing that could be a key.
	Env     map[string]string
	PassEnv []string
	// Allow names what the agent may do without being asked about: kinds of tool calls of the protocol (read, edit, delete, move, search, execute, think, fetch,
	// switch_mode, other) or titles of calls, each whole; "*" is everything. Nil: nothing (SEC13). Deny names what it may not do, and wins. Kind and title are
	// what the agent says of itself, and many do some things without asking.
	Allow, Deny []string
	// Decide is asked about what neither names; nil: denied. It may ask a person and take its time: no time limit of the turn runs meanwhile. ctx is done when
	// the answer is not awaited any more. An error and a panic are denials. It may be called by several goroutines at once.
	Decide func(ctx context.Context, p Permission) (bool, error)
	// ReadFiles and WriteFiles let the agent read and write text files through Hocket, inside of the session's folder and nowhere else (SEC16).
	ReadFiles, WriteFiles bool
	// SummarizeCommand is the agent's command for a summary of its conversation, without slash; "" is that of Preset, else what the agent offers of compact,
	// summarize and compress.
	SummarizeCommand string
	// RepeatUnknown sends a message again of which is not known whether the agent carried it out, since the program died meanwhile (D23). False: the session
	// fails with graph.ErrUnknownOutcome.
	RepeatUnknown bool
	// StartTimeout bounds the start of a session; 0 is 1 minute. IdleTimeout bounds the time between two signs of life within a turn, 0 is 10 minutes;
	// TurnTimeout a whole turn, 0 is 1 hour (P11).
	StartTimeout, IdleTimeout, TurnTimeout time.Duration
	// CloseGrace is given to each way of ending an agent before the next, harder one; 0 is 1 s.
	CloseGrace time.Duration
	// Logger gets what agents write to standard error, at debug level; nil: dropped.
	Logger *slog.Logger
}

// Permission is what an agent asks leave for.
type Permission struct {
	// Session is the id of the session, Agent and Node are the Name and the Node of its config.
	Session, Agent, Node string
	// Kind is the protocol's word for what the call does, "" where the agent does not say; Tool is the call's title.
	Kind, Tool string
	// Arguments are those of the call, as JSON; nil where the agent does not tell them.
	Arguments json.RawMessage
}

// Client makes sessions with one coding agent. It is a graph.Client. Safe for concurrent use.
type Client struct {
	sessions *acp.Client
	dir      string
}

var _ graph.Client = (*Client)(nil)

// New makes a client. It starts nothing, and does not look whether the program is there: [Client.CreateSession] tells.
//
// Errors: neither Preset nor Command; a preset that is not known; a negative time.
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
		ReadFiles: c.ReadFiles, WriteFiles: c.WriteFiles, SummarizeCommand: cmp.Or(c.SummarizeCommand, p.SummarizeCommand), RepeatUnknown: c.RepeatUnknown,
		StartTimeout: c.StartTimeout, IdleTimeout: c.IdleTimeout, TurnTimeout: c.TurnTimeout, CloseGrace: c.CloseGrace, Logger: c.Logger,
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

// CreateSession implements graph.Client. It starts the agent, and ends it when ctx is done.
//
// c.Model is one that the agent offers. c.Tools has to be empty: a coding agent has tools of its own. c.Options knows `mode`, the id of one of the agent's
// modes. Errors say what became of the agent: it cannot be started, it ended with its last words, it did not answer in time, it wants a login.
func (cl *Client) CreateSession(ctx context.Context, c graph.SessionConfig) (graph.Session, error) {
	c.Dir = cmp.Or(c.Dir, cl.dir)
	return cl.sessions.CreateSession(ctx, c)
}

// Preset is what is known of an agent. Agents change; what stands here was true of the versions that Notes names.
type Preset struct {
	Name string
	// Command starts it; the program has to be installed.
	Command []string
	// PassEnv are the variables that hold its keys and settings; those that are set are handed on.
	PassEnv []string
	// SummarizeCommand is for agents that do not tell of theirs.
	SummarizeCommand string
	// Install says how to get it, Notes what it can do.
	Install, Notes string
}

// Presets gives what is known of agents, by name. The slices are the caller's.
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
