package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// AgentConfig is a node that creates a session with a coding agent, sends it one message, and
// destroys the session, whatever the outcome. From the second attempt on, the message says why the
// previous attempt failed.
//
// The answer is stored through [Once] before the node continues, so that it is not requested again
// after a crash. If a crash happens while the agent works, what the agent did is unknown. The
// function is then called again, and the client decides what happens: it continues the session,
// resends the message, or returns [ErrUnknownOutcome], see ResendUnknown.
type AgentConfig[S any] struct {
	ID string
	// AgentType is passed to [Runtime.ClientProvider]. Required.
	AgentType string
	// SystemPrompt overrides that of Session unless empty.
	SystemPrompt string
	// Tools overrides those of Session unless nil; an empty list allows no tools.
	Tools []string
	// Session holds the remaining settings of the session. [Context.Model] takes precedence over
	// its model. Name, Node and Key default to the node's id; the keys of attempts after the first
	// have the suffix `-<attempt>`.
	Session SessionConfig
	// Message is sent to the agent; MessageFunc derives it from the state and takes precedence. If
	// neither is set, the message is empty. MessageFunc must be pure.
	Message     string
	MessageFunc func(View[S]) string
	// Output writes the answer into the state. If nil, the list of messages is stored in the
	// outputs under ID.
	Output func(s *S, messages []AgentMessage) error
	// ResendUnknown resends a message whose outcome a crash left unknown, as a new attempt.
	// Otherwise the node fails with ErrUnknownOutcome and is not retried by its Retry, so that a
	// person decides: OnError may lead to a wait, or retry.
	ResendUnknown bool
	// Options.Retry defaults to that of nodes that call a function, Options.Name to `<AgentType>
	// agent`.
	Options NodeOptions
}

func (c AgentConfig[S]) define() *def[S] {
	c.Tools, c.Session.Tools, c.Session.Options = slices.Clone(c.Tools), slices.Clone(c.Session.Tools),
		maps.Clone(c.Session.Options)
	if c.Options.Name == "" {
		c.Options.Name = c.AgentType + " agent"
	}
	r := defaultRetry()
	if c.Options.Retry.isSet() {
		r = c.Options.Retry
	}
	if on := r.RetryOn; !c.ResendUnknown {
		r.RetryOn = func(err error) bool { return !errors.Is(err, ErrUnknownOutcome) && (on == nil || on(err)) }
	}
	c.Options.Retry = r
	d := &def[S]{id: c.ID, typ: TypeAgent, opts: c.Options, run: c.call}
	if c.AgentType == "" {
		d.problem = problemf("Agent node %q requires an agent type", c.ID)
	}
	return d
}

// keyMessage is the sub-step in which an agent node stores the answer; attempts after the first
// append their number.
const keyMessage = "message"

// agentAnswer is the stored part of a conversation.
type agentAnswer struct {
	Messages []AgentMessage      `json:"messages"`
	Usage    *ContextWindowUsage `json:"usage,omitempty"`
}

func (c AgentConfig[S]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	message := c.Message
	if c.MessageFunc != nil {
		message = c.MessageFunc(n.View())
	}
	message = withFailure(message, n)
	a, err := Once(ctx, attemptKey(keyMessage, n.Attempt), func(ctx context.Context) (agentAnswer, error) {
		return c.converse(ctx, n, message)
	})
	if err != nil {
		return Result[S]{}, err
	}
	r := Result[S]{Usage: a.Usage}
	if c.Output == nil {
		r.Output = a.Messages
	} else {
		if err := c.Output(&n.State, a.Messages); err != nil {
			return Result[S]{}, err
		}
		r.Update = &n.State
	}
	if u := a.Usage; u != nil && exceeds(*u, n.ContextWindowThreshold) {
		r.Signals = []Signal{{Type: SignalContextWindowWarning, Message: usageText(*u), Data: map[string]any{
			"usagePercent": u.UsagePercentage, "contextUsage": *u,
		}}}
	}
	return r, nil
}

// converse conducts one session from beginning to end.
func (c AgentConfig[S]) converse(ctx context.Context, n *Context[S], message string) (agentAnswer, error) {
	a := agentAnswer{Messages: []AgentMessage{}}
	var client Client
	if n.Runtime.ClientProvider != nil {
		client = n.Runtime.ClientProvider(c.AgentType)
	}
	if client == nil {
		return a, fmt.Errorf("No client provider set for agent type %q", c.AgentType) //nolint:staticcheck // S2-68
	}
	if err := n.mayUse(ctx, client); err != nil {
		return a, fmt.Errorf("agent of type %q: %w", c.AgentType, err)
	}
	session, err := client.CreateSession(ctx, c.session(n))
	if err != nil {
		return a, fmt.Errorf("create session with agent of type %q: %w", c.AgentType, err)
	}
	defer destroy(ctx, session)
	for m, err := range session.Stream(ctx, message) {
		if err != nil {
			return a, err
		}
		a.Messages = append(a.Messages, m)
	}
	// The answer exists and was paid for: an agent that cannot report its usage must not fail the
	// node.
	if u, err := usageOf(ctx, session); err == nil {
		a.Usage = &u
	}
	return a, nil
}

func (c AgentConfig[S]) session(n *Context[S]) SessionConfig {
	s := c.Session
	s.Model = firstModel(n.Model, s.Model)
	if c.SystemPrompt != "" {
		s.SystemPrompt = c.SystemPrompt
	}
	if c.Tools != nil {
		s.Tools = c.Tools
	}
	s.Tools, s.Options = slices.Clone(s.Tools), maps.Clone(s.Options)
	for _, name := range []*string{&s.Name, &s.Node, &s.Key} {
		if *name == "" {
			*name = c.ID
		}
	}
	s.Key = attemptKey(s.Key, n.Attempt)
	return s
}

// destroyWithin limits how long destroying a session may take.
const destroyWithin = 5 * time.Second

// destroy destroys a session, even if ctx is done. Errors are ignored, since they cannot be handled
// at this point.
func destroy(ctx context.Context, s Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
	defer cancel()
	_ = s.Destroy(ctx)
}

// attemptKey returns a key that is unique to the attempt.
func attemptKey(key string, attempt int) string {
	if attempt <= 1 {
		return key
	}
	return key + "-" + strconv.Itoa(attempt)
}

// withFailure adds to a prompt what failed before: the previous attempt, or the node whose failure
// this node handles.
func withFailure[S any](prompt string, n *Context[S]) string {
	f := n.Feedback
	if f == nil {
		return prompt
	}
	note := "The previous attempt failed: " + f.ErrorMessage
	if n.Attempt <= 1 {
		note = fmt.Sprintf("Node %q failed: %s", f.FailedNodeID, f.ErrorMessage)
	}
	if prompt == "" {
		return note
	}
	return prompt + "\n\n" + note
}
