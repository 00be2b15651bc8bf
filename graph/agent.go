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

// AgentConfig is a node that makes a session with a coding agent, sends it one message, and ends the session again, whatever came of it (S2-68). From
// the second attempt on, the message says why the one before failed (S2-58).
//
// The answer is kept by [Once] before the node goes on: after a crash it is not asked for again. A crash while the agent is at work leaves open what it
// did. Then the function is called again, and what happens is the client's to say: it goes on with the session, or sends the message again, or ends
// with [ErrUnknownOutcome], see ResendUnknown.
type AgentConfig[S any] struct {
	ID string
	// AgentType is what [Runtime.ClientProvider] is asked for. Required.
	AgentType string
	// SystemPrompt wins over that of Session where not empty.
	SystemPrompt string
	// Tools win over those of Session where not nil; an empty list allows none.
	Tools []string
	// Session is what else the session is made of. [Context.Model] wins over its model. Name, Node and Key are the node's id where empty; the keys of
	// attempts after the first have `-<attempt>` behind them.
	Session SessionConfig
	// Message is what the agent is sent; MessageFunc makes it of the state and wins. With neither the message is empty. It must be pure.
	Message     string
	MessageFunc func(View[S]) string
	// Output writes the answer into the state. Where it is nil the list of messages is in the outputs under ID.
	Output func(s *S, messages []AgentMessage) error
	// ResendUnknown makes a next attempt of a message whose outcome a crash left unknown. Otherwise the node fails with ErrUnknownOutcome and is not
	// tried again by its Retry, so that a person decides (D23): OnError may lead to a wait, or retry.
	ResendUnknown bool
	// Options.Retry is that of nodes that call a function where it is zero, Options.Name `<AgentType> agent` where empty.
	Options NodeOptions
}

func (c AgentConfig[S]) define() *def[S] {
	c.Tools, c.Session.Tools, c.Session.Options = slices.Clone(c.Tools), slices.Clone(c.Session.Tools), maps.Clone(c.Session.Options)
	if c.Options.Name == "" {
		c.Options.Name = c.AgentType + " agent"
	}
	r := defaultRetry()
	if c.Options.Retry.said() {
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

// keyMessage is the sub-step in which an agent node keeps the answer; attempts after the first have their number behind it.
const keyMessage = "message"

// agentAnswer is what is kept of a conversation.
type agentAnswer struct {
	Messages []AgentMessage      `json:"messages"`
	Usage    *ContextWindowUsage `json:"usage,omitempty"`
}

func (c AgentConfig[S]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	message := c.Message
	if c.MessageFunc != nil {
		message = c.MessageFunc(n.View())
	}
	message = retried(message, n)
	a, err := Once(ctx, attemptKey(keyMessage, n.Attempt), func(ctx context.Context) (agentAnswer, error) { return c.converse(ctx, n, message) })
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

// converse has one session from its begin to its end.
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
	// The answer is there and was paid for: an agent that cannot tell its usage does not make it fail.
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

// destroyWithin bounds the end of a session (P11).
const destroyWithin = 5 * time.Second

// destroy ends a session, also when ctx is done. What goes wrong then cannot be mended here.
func destroy(ctx context.Context, s Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
	defer cancel()
	_ = s.Destroy(ctx)
}

// attemptKey makes a key that each attempt has for itself.
func attemptKey(key string, attempt int) string {
	if attempt <= 1 {
		return key
	}
	return key + "-" + strconv.Itoa(attempt)
}

// retried adds to a prompt what failed before (S2-58): the attempt before this one, or the node whose failure this one handles.
func retried[S any](prompt string, n *Context[S]) string {
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
