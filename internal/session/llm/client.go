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

// Config configures a Client. Models is required; the other fields have useful zero values.
type Config struct {
	// Models answers model calls; requests name models by reference.
	Models model.Client
	// Model is the model of sessions that name none.
	Model string
	// SystemPrompt is the system prompt of sessions that have none.
	SystemPrompt string
	// Tools runs tool calls. If nil, sessions that request tools cannot be created.
	Tools Tools
	// Params are sent with each call of the agent, but not with summary requests.
	Params model.Params
	// MaxTurns limits the model calls for one message; 0 means 50. NoProgress ends a turn after
	// that many identical tool calls in a row (P27); 0 means 5.
	MaxTurns, NoProgress int
	// Window is the size of the model's context window in tokens. 0 means the size in this
	// package's table, if the table has the model. If the size is unknown, conversations are not
	// compacted automatically.
	Window int
	// KeepGroups is how many of the last groups of a conversation a compaction keeps unchanged; 0
	// means 6. A group is a user message, or an answer with the results of its calls. If the
	// window's size is known and the groups fill more than a quarter of it, fewer are kept, but
	// always the last.
	KeepGroups int
	// ModelTimeout and ModelIdle limit one model call as described in model.WithTimeouts (P11); 0
	// means 10 and 2 minutes. ToolTimeout limits one tool call; 0 means 5 minutes.
	ModelTimeout, ModelIdle, ToolTimeout time.Duration
	// Account wraps the client for one model call, including its timeouts, in a client that counts
	// the call and may withhold it. key identifies the call, and ctx is the context of the function
	// that makes it. If nil, no call is counted.
	Account func(ctx context.Context, models model.Client, key string) model.Client
	// Logger receives a record of each compaction, including failed ones; nil means no logging.
	Logger *slog.Logger
}

// The agents of documents have the same limits (workflow.DefaultMaxTurns,
// workflow.DefaultNoProgress).
const (
	defaultMaxTurns    = 50
	defaultNoProgress  = 5
	defaultKeepGroups  = 6
	defaultToolTimeout = 5 * time.Minute
)

// Fractions of the context window above which a conversation is compacted, before a message and
// between the model calls of a turn (S2-60).
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

// Tools runs the tool calls of sessions. Implementations must be safe for concurrent use.
type Tools interface {
	// Defs returns the definitions of the granted tools, in the order of names. It returns an error
	// for an unknown name.
	Defs(ctx context.Context, names []string) ([]chat.ToolDef, error)
	// Call runs one call of a tool that Defs returned. Arguments is a JSON object; the callee must
	// check it against the definition. Call respects ctx. An error is reported to the model like a
	// result with IsError set, unless it is the error of ctx or matches graph.ErrUnknownOutcome or
	// ErrWithheld; these end the turn (P12).
	Call(ctx context.Context, c ToolCall) (ToolResult, error)
}

// ErrWithheld is matched by errors of Tools.Call for a call that was not made and must be made
// later. It ends the turn.
var ErrWithheld = errors.New("the tool call was withheld")

// ToolCall is one call of a tool.
type ToolCall struct {
	// Session is the ID of the session; Agent and Node are the Name and the Node of its config.
	Session, Agent, Node string
	Name                 string
	Arguments            json.RawMessage
	// Key is the same whenever this call is repeated after a crash, and different for every other
	// call (P12).
	Key string
}

// ToolResult is the result of a call as the model sees it. IsError marks a failure that the tool
// itself reports.
type ToolResult struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
}

// Client creates sessions. It implements graph.Client and is safe for concurrent use.
type Client struct{ cfg Config }

// Counted implements program.Counted: if Config.Account is set, each model call is counted.
func (cl *Client) Counted() {}

// New returns a client. It returns an error if the config has no models or negative limits.
func New(cfg Config) (*Client, error) {
	var errs []error
	if cfg.Models == nil {
		errs = append(errs, errors.New("field Models is missing"))
	}
	for _, b := range []struct {
		name  string
		value int
	}{{"MaxTurns", cfg.MaxTurns}, {"NoProgress", cfg.NoProgress}, {"Window", cfg.Window},
		{"KeepGroups", cfg.KeepGroups}} {
		if b.value < 0 {
			errs = append(errs, fmt.Errorf("field %s is negative", b.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("config of LLM sessions: %w", err)
	}
	return &Client{cfg: cfg.withDefaults()}, nil
}

// CreateSession implements graph.Client. It calls no model. It returns graph.ErrNoLoad if c.Load is
// set, and an error for an unknown model or tool and for any option, since there are none.
func (cl *Client) CreateSession(ctx context.Context, c graph.SessionConfig) (graph.Session, error) {
	if c.Load != "" {
		return nil, fmt.Errorf("session %q: %w: its conversation was in the memory of another process", c.Load,
			graph.ErrNoLoad)
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
