package llm

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Config is what sessions are made of. Models is required; the rest has useful zero values.
type Config struct {
	// Models answers model calls; requests name models by reference.
	Models model.Client
	// Model is for sessions that name none.
	Model string
	// SystemPrompt is for sessions that have none.
	SystemPrompt string
	// Tools carries out tool calls; nil: sessions that ask for tools cannot be made.
	Tools Tools
	// Params go along with each call of the agent, but not with the request for a summary.
	Params model.Params
	// MaxTurns bounds the model calls for one message; 0: 50. NoProgress ends a turn after that many identical tool calls one after another (P27); 0: 5.
	MaxTurns, NoProgress int
	// Window is the size of the model's context window in tokens; 0: what the table of this package says, which may be that it is not known. Then nothing is
	// compacted by itself.
	Window int
	// KeepGroups is how many of the last groups of a conversation (a message of the user, or an answer with the results of its calls) a compaction leaves
	// alone; 0: 6. Where the window's size is known and they fill more than a quarter of it, fewer are, but always the last.
	KeepGroups int
	// ModelTimeout and ModelIdle bound one model call as model.WithTimeouts says (P11); 0: 10 and 2 minutes. ToolTimeout bounds one tool call; 0: 5 minutes.
	ModelTimeout, ModelIdle, ToolTimeout time.Duration
	// Account makes of the client for one model call, with its timeouts, one that counts the call and may withhold it; key names the call, and ctx is that of the function which makes it. Nil: no call is counted.
	Account func(ctx context.Context, models model.Client, key string) model.Client
	// Logger gets a record of each compaction, failed ones too; nil: none.
	Logger *slog.Logger
}

// The agents of documents have the same bounds (workflow.DefaultMaxTurns, workflow.DefaultNoProgress).
const (
	defaultMaxTurns    = 50
	defaultNoProgress  = 5
	defaultKeepGroups  = 6
	defaultToolTimeout = 5 * time.Minute
)

// How full the context is, as a fraction, when a conversation is compacted before a message and between the model calls of a turn (S2-60).
const (
	compactAt   = 0.45
	exhaustedAt = 0.6
)

func (c Config) withDefaults() Config {
	c.MaxTurns = cmp.Or(c.MaxTurns, defaultMaxTurns)
	c.NoProgress = cmp.Or(c.NoProgress, defaultNoProgress)
	c.KeepGroups = cmp.Or(c.KeepGroups, defaultKeepGroups)
	c.ToolTimeout = cmp.Or(c.ToolTimeout, defaultToolTimeout)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Tools carries out the tool calls of sessions. Implementations are safe for concurrent use.
type Tools interface {
	// Defs gives the definitions of the tools that were granted, in the order of names. A name that nothing answers to is an error.
	Defs(ctx context.Context, names []string) ([]chat.ToolDef, error)
	// Call carries out one call of a tool that Defs gave. Arguments is a JSON object; whether it fits the definition is the callee's to check. It heeds ctx.
	// An error is told to the model like a result that IsError, unless it is ctx's, or matches graph.ErrUnknownOutcome or ErrWithheld, which end the turn (P12).
	Call(ctx context.Context, c ToolCall) (ToolResult, error)
}

// ErrWithheld is matched by errors of Tools.Call for a call that was not made and is to be made later. It ends the turn.
var ErrWithheld = errors.New("the tool call was withheld")

// ToolCall is one call of a tool.
type ToolCall struct {
	// Session is the id of the session, Agent and Node are the Name and the Node of its config.
	Session, Agent, Node string
	Name                 string
	Arguments            json.RawMessage
	// Key is equal whenever this call is made again after a crash, and different for every other call (P12).
	Key string
}

// ToolResult is what the model reads of a call. IsError marks the tool's own report of a failure.
type ToolResult struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
}

// Client makes sessions. It is a graph.Client. Safe for concurrent use.
type Client struct{ cfg Config }

// Counted implements program.Counted: where Config.Account is set, each model call is.
func (cl *Client) Counted() {}

// New makes a client. Errors: a config without models, or with negative bounds.
func New(cfg Config) (*Client, error) {
	var errs []error
	if cfg.Models == nil {
		errs = append(errs, errors.New("field Models is missing"))
	}
	for _, b := range []struct {
		name  string
		value int
	}{{"MaxTurns", cfg.MaxTurns}, {"NoProgress", cfg.NoProgress}, {"Window", cfg.Window}, {"KeepGroups", cfg.KeepGroups}} {
		if b.value < 0 {
			errs = append(errs, fmt.Errorf("field %s is negative", b.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("config of LLM sessions: %w", err)
	}
	return &Client{cfg: cfg.withDefaults()}, nil
}

// CreateSession implements graph.Client. It calls no model. Errors: graph.ErrNoLoad for c.Load; a model or a tool that is not known; options, of which there
// are none.
func (cl *Client) CreateSession(ctx context.Context, c graph.SessionConfig) (graph.Session, error) {
	if c.Load != "" {
		return nil, fmt.Errorf("session %q: %w: its conversation was in the memory of another process", c.Load, graph.ErrNoLoad)
	}
	for name := range c.Options {
		return nil, fmt.Errorf("an LLM session has no option %q", name)
	}
	s := &session{
		cfg:    cl.cfg,
		agent:  c.Name,
		node:   c.Node,
		key:    keyPrefix(cmp.Or(c.Key, c.Name, "session")),
		model:  cmp.Or(c.Model, cl.cfg.Model),
		system: cmp.Or(c.SystemPrompt, cl.cfg.SystemPrompt),
	}
	if s.model == "" {
		return nil, errors.New("an LLM session needs a model")
	}
	if s.window = cl.cfg.Window; s.window == 0 {
		s.window = model.Window(s.model)
	}
	if len(c.Tools) > 0 {
		if cl.cfg.Tools == nil {
			return nil, fmt.Errorf("tool %q is not available: no tools are configured", c.Tools[0])
		}
		defs, err := cl.cfg.Tools.Defs(ctx, slices.Clone(c.Tools))
		if err != nil {
			return nil, fmt.Errorf("tools of the session: %w", err)
		}
		s.tools = defs
	}
	var err error
	s.id, err = graph.Once(ctx, s.key+"/id", func(context.Context) (string, error) { return "llm-" + rand.Text(), nil })
	if err != nil {
		return nil, err
	}
	return s, nil
}
