package hocket

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/session/llm"
	"github.com/hocket-run/hocket/internal/tool"
)

// AgentLLM is the agent type that every engine with models has: LLM sessions as created by
// [LLMSessions] without fields. A client that [WithSessions] or [WithLLMSessions] sets for this
// type replaces it.
const AgentLLM = "llm"

// LLMSessions configures sessions whose agent is a model with tools, and whose conversation Hocket
// itself keeps. The zero value is valid.
//
// Models are those of the engine: from [WithModel] and from package provider. Tools are those of
// [WithTool]; a session may use only the tools that the node or its [graph.SessionConfig] names.
// Each model call and each tool call is a separate [graph.Once], so a node that runs again after a
// crash or an interruption pays for none of them twice.
//
// A conversation that fills more than 45 % of the context window is compacted before the next
// message, and one that fills more than 60 % within a turn: the model summarizes its middle; the
// task, the newest messages and calls without a result are kept. If the size of the window is
// unknown, nothing is compacted automatically, and the usage of the context is unknown.
type LLMSessions struct {
	// Model is the model for sessions that name none, a reference such as openai/gpt-6.1-terra;
	// empty means HOCKET_MODEL.
	Model string
	// SystemPrompt is the system prompt for sessions that have none.
	SystemPrompt string
	// Temperature and MaxTokens are nil if they are left to the model.
	Temperature *float64
	MaxTokens   *int64
	// MaxTurns is the maximum number of model calls for one message; 0 means 50. NoProgress is the
	// number of identical consecutive tool calls after which a turn ends; 0 means 5.
	MaxTurns, NoProgress int
	// ContextWindow is the size of the model's context window in tokens; 0 means the size that
	// Hocket knows for the model, if any.
	ContextWindow int
	// KeepGroups is how many of the last groups of a conversation (a message, or a reply with the
	// results of its calls) a compaction leaves unchanged; 0 means 6.
	KeepGroups int
	// ModelTimeout limits one model call, ModelIdle the time without output during it, and
	// ToolTimeout one tool call; 0 means 10, 2 and 5 minutes, respectively.
	ModelTimeout, ModelIdle, ToolTimeout time.Duration
}

// WithLLMSessions makes agent nodes of type agentType use sessions whose agent is a model. Several
// types may differ in model, prompt and limits.
//
// [Open] returns an error if the agent type is empty or already has a client, or if a limit is
// negative.
func WithLLMSessions(agentType string, c LLMSessions) Option {
	return option(func(s *settings) {
		switch {
		case agentType == "":
			s.problemf("LLM sessions need an agent type")
		case s.hasSessions(agentType):
			s.problemf("agent type %q has two clients", agentType)
		case min(c.ModelTimeout, c.ModelIdle, c.ToolTimeout) < 0:
			s.problemf("agent type %q has a negative timeout", agentType)
		default:
			s.llm[agentType] = c
		}
	})
}

func (s *settings) hasSessions(agentType string) bool {
	_, own := s.llm[agentType]
	return own || s.sessions[agentType] != nil
}

// Sessions returns the client for agent nodes of a type, or nil if there is none: those of
// [WithSessions] and [WithLLMSessions], and [AgentLLM] if the engine has models. It is for sessions
// that outlive a node, such as one that a context monitor observes; the caller that creates a
// session must destroy it.
func (e *Engine) Sessions(agentType string) graph.Client { return e.client(agentType, "") }

// client returns the client of a type for the nodes of a run; an empty run means no run.
func (e *Engine) client(agentType, run string) graph.Client {
	if c := e.given.sessions[agentType]; c != nil {
		return uncountedClient{c, e.service}
	}
	c, ok := e.llm[agentType]
	if !ok {
		return nil
	}
	if e.given.registry != nil {
		c.Tools = sessionTools{e.tools, e.given.registry, run, e.service}
	}
	client, err := llm.New(c)
	if err != nil { // Open has already checked it
		e.log.Error("create LLM sessions", "type", agentType, "err", err)
		return nil
	}
	return client
}

// openSessions sets up the sessions with models. operator may be nil.
func (e *Engine) openSessions(operator *config.Config) error {
	types := e.given.llm
	if len(e.given.models)+len(e.given.Adapters) > 0 && !e.given.hasSessions(AgentLLM) {
		types[AgentLLM] = LLMSessions{}
	}
	if len(types) == 0 {
		return nil
	}
	models, fallback := e.service.Models()
	e.llm = map[string]llm.Config{}
	for name, t := range types {
		c := llm.Config{
			Models: models, Model: t.Model, SystemPrompt: t.SystemPrompt,
			Params:   model.Params{Temperature: t.Temperature, MaxTokens: t.MaxTokens},
			MaxTurns: t.MaxTurns, NoProgress: t.NoProgress, Window: t.ContextWindow, KeepGroups: t.KeepGroups,
			ModelTimeout: t.ModelTimeout, ModelIdle: t.ModelIdle, ToolTimeout: t.ToolTimeout, Logger: e.log,
			Account: func(ctx context.Context, models model.Client, key string) model.Client {
				return e.service.AccountSession(callerOf(ctx), models, key)
			},
		}
		if c.Model == "" {
			c.Model = fallback
		}
		if _, err := llm.New(c); err != nil {
			return fmt.Errorf("agent type %q: %w", name, err)
		}
		e.llm[name] = c
	}
	var offered []tool.Tool
	for _, t := range e.given.registry {
		offered = append(offered, sessionTool{t})
	}
	cfg := tool.Config{Agents: map[string]tool.Grant{anySession: {Names: e.given.registry.Names()}}, Builtin: offered,
		Logger: e.log}
	if operator != nil {
		cfg.Permissions = operator.Permissions
	}
	var err error
	e.tools, err = tool.NewSet(cfg)
	return err
}

// anySession is the agent name that a tool.Set sees: which tools a session may use is determined by
// the session's own list.
const anySession = "session"

// sessionTools provides the engine's tools to the sessions of a run.
type sessionTools struct {
	set   *tool.Set
	known toolRegistry
	run   string

	service *service.Service
}

var _ llm.Tools = sessionTools{}

// Defs implements llm.Tools.
func (t sessionTools) Defs(_ context.Context, names []string) ([]chat.ToolDef, error) {
	var (
		defs []chat.ToolDef
		errs []error
	)
	for _, name := range names {
		if own, ok := t.known[name]; ok {
			defs = append(defs, own.def)
		} else {
			errs = append(errs, fmt.Errorf("tool %q not found; register it with WithTool", name))
		}
	}
	return defs, errors.Join(errs...)
}

// Call implements llm.Tools. The tool determines what happens to a call whose outcome is unknown: a
// note stored before the call shows, after a crash, that it had begun.
func (t sessionTools) Call(ctx context.Context, c llm.ToolCall) (llm.ToolResult, error) {
	own, ok := t.known[c.Name]
	if !ok {
		return llm.ToolResult{}, fmt.Errorf("tool %q not found", c.Name)
	}
	if policy := own.Policy(); policy != tool.PolicyRetry {
		before := true
		_, err := graph.Once(ctx, c.Key+"/begun", func(context.Context) (bool, error) {
			before = false
			return true, nil
		})
		switch {
		case err != nil:
			return llm.ToolResult{}, err
		case before && policy == tool.PolicySkip:
			return llm.ToolResult{Text: "the call was interrupted; its outcome is unknown", IsError: true}, nil
		case before:
			return llm.ToolResult{}, fmt.Errorf("tool %q: %w", c.Name, graph.ErrUnknownOutcome)
		}
	}
	settle, err := t.service.AccountTool(ctx, callerOf(ctx), c.Key)
	if err != nil {
		return llm.ToolResult{}, fmt.Errorf("%w: %w", llm.ErrWithheld, err)
	}
	defer settle()
	r, err := t.set.Call(ctx, tool.Call{
		Run: t.run, Agent: anySession, Node: c.Node, Name: c.Name, Arguments: c.Arguments, Key: c.Key,
		Caller: sessionAgent(c.Agent),
	})
	if hold := (*tool.HoldError)(nil); errors.As(err, &hold) {
		return llm.ToolResult{Text: fmt.Sprintf("The call of %q was not made: a person must approve it first, and "+
			"nobody can be asked in this session.", c.Name), IsError: true}, nil
	}
	return llm.ToolResult{Text: r.Text, IsError: r.IsError}, err
}

// sessionAgent is the agent whose session calls a tool. It is the Caller of the tool call.
type sessionAgent string

// sessionTool is a tool that receives the agent whose session calls it.
type sessionTool struct{ *goTool }

// Call implements tool.Tool.
func (t sessionTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if agent, ok := c.Caller.(sessionAgent); ok {
		c.Agent = string(agent)
	}
	return t.goTool.Call(ctx, c)
}

// uncountedClient is one of the program's own clients, whose sessions do not report their usage:
// under a budget of tokens or money they work only if the budget allows that.
type uncountedClient struct {
	graph.Client
	service *service.Service
}

var _ program.Counted = uncountedClient{}

// Counted implements program.Counted.
func (uncountedClient) Counted() {}

// CreateSession implements graph.Client.
func (c uncountedClient) CreateSession(ctx context.Context, cfg graph.SessionConfig) (graph.Session, error) {
	if err := c.service.AllowUncounted(ctx, callerOf(ctx)); err != nil {
		return nil, err
	}
	s, err := c.Client.CreateSession(ctx, cfg)
	if err != nil || s == nil {
		return s, err
	}
	return uncountedSession{s, c.service}, nil
}

// uncountedSession checks again for each message, because a session may outlive the run that it was
// created in.
type uncountedSession struct {
	graph.Session
	service *service.Service
}

// Stream implements graph.Session.
func (s uncountedSession) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	if err := s.service.AllowUncounted(ctx, callerOf(ctx)); err != nil {
		return func(yield func(graph.AgentMessage, error) bool) { yield(graph.AgentMessage{}, err) }
	}
	return s.Session.Stream(ctx, message)
}

// Summarize implements graph.Session.
func (s uncountedSession) Summarize(ctx context.Context) error {
	if err := s.service.AllowUncounted(ctx, callerOf(ctx)); err != nil {
		return err
	}
	return s.Session.Summarize(ctx)
}

// attachPoll is how long a call waits before checking again whether another call has stored the
// run.
const attachPoll = 5 * time.Millisecond

// attaching calls begin to start a run or attach to it, and retries while another call with the
// same ID has not stored the run yet.
func attaching[T any](ctx context.Context, attach bool, begin func() (T, error)) (T, error) {
	for {
		v, err := begin()
		if !attach || !errors.Is(err, ErrExists) {
			return v, err
		}
		t := time.NewTimer(attachPoll)
		select {
		case <-t.C:
		case <-ctx.Done(): // begin returns the error
		}
		t.Stop()
	}
}

// attach follows an existing run if o requests it. It returns nil if there is no run with that ID.
func attach[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], b *bound, o RunOptions) (*following, error) {
	last, err := e.check(ctx, b, o.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil //nolint:nilnil // it begins
	case err != nil:
		return nil, err
	}
	f := follow(ctx, e, b, o.ID)
	f.attached = true
	f.model, f.observer = g.Running().Model, observe(ctx, e, g, o.ID, last, o)
	if err := e.resumeIfInterrupted(ctx, o.ID); err != nil {
		f.done()
		f.release()
		return nil, err
	}
	return f, nil
}

// attachDocument resumes the existing run of a document; there is false if there is no run with
// that ID.
func (e *Engine) attachDocument(ctx context.Context, w *Workflow, o StartOptions) (there bool, err error) {
	h, err := e.service.Head(ctx, o.ID)
	if err = known(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	chosen, err := service.Choose(w.definition, o.Branch)
	if err != nil {
		return false, err
	}
	digest, err := chosen.Digest()
	if err != nil {
		return false, err
	}
	if h.Definition != digest {
		return false, &knownError{ErrConflict,
			fmt.Errorf("run %s belongs to another document (digest %.12s, not %.12s)", o.ID, h.Definition, digest)}
	}
	return true, e.resumeIfInterrupted(ctx, o.ID)
}

// resumeIfInterrupted resumes an interrupted run. It leaves ended, paused and active runs alone.
func (e *Engine) resumeIfInterrupted(ctx context.Context, run string) error {
	// With ctx itself, a cancellation would leave it unknown whether the run was resumed.
	err := e.Resume(context.WithoutCancel(ctx), run)
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrPaused) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// atMostOne returns the single value passed to a call, or the zero value if there was none.
func atMostOne[T any](list []T, what string) (one T, err error) {
	switch len(list) {
	case 0:
		return one, nil
	case 1:
		return list[0], nil
	}
	return one, fmt.Errorf("at most one %s may be given, not %d", what, len(list))
}
