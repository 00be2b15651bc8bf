package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// CompactionAction is the reaction to a full context window.
type CompactionAction string

const (
	// CompactSummarize has the session replace its conversation with a summary.
	CompactSummarize CompactionAction = "summarize"
	// CompactRecreate requests a new session.
	CompactRecreate CompactionAction = "recreate"
	// CompactWarn only warns.
	CompactWarn CompactionAction = "warn"
	// CompactNone does nothing.
	CompactNone CompactionAction = "none"
)

// DefaultCompactionAction returns the action that suits an agent type: summarize for opencode,
// recreate for claude, warn for copilot and all others.
func DefaultCompactionAction(agentType string) CompactionAction {
	switch agentType {
	case "opencode":
		return CompactSummarize
	case "claude":
		return CompactRecreate
	}
	return CompactWarn
}

// exceeds reports whether the usage of a context window is at least threshold percent.
func exceeds(u ContextWindowUsage, threshold float64) bool {
	return u.UsagePercentage >= threshold
}

func usageOf(ctx context.Context, s Session) (ContextWindowUsage, error) {
	u, err := s.ContextUsage(ctx)
	if err != nil {
		return ContextWindowUsage{}, err
	}
	return u.Window()
}

func usageText(u ContextWindowUsage) string {
	return fmt.Sprintf("Context usage at %.1f%%", u.UsagePercentage)
}

func thresholdOr(percent, otherwise float64) float64 {
	if percent == 0 {
		return otherwise
	}
	return percent
}

// ContextMonitorConfig is a node that checks the usage of a context window, passes it to later
// nodes, and acts if it is too high. The usage comes from Usage, else from Session, else from
// [Context.ContextWindowUsage]: the first source that knows it. If none does, nothing happens.
type ContextMonitorConfig[S any] struct {
	ID string
	// AgentType determines the action that suits the agent, see [DefaultCompactionAction].
	AgentType string
	// Threshold is the percentage, between 0 and 100, from which the node acts; 0 means 45.
	Threshold float64
	// Action defaults to the action that suits the agent type.
	Action CompactionAction
	// Session returns the session to check and summarize; if it is nil or returns nil, there is
	// none.
	Session func(View[S]) Session
	// Usage returns the usage of the window; a nil usage means unknown.
	Usage func(ctx context.Context, v View[S]) (*ContextWindowUsage, error)
	// OnCompaction is called with the previous usage, after a summary was made and before a new
	// session is requested.
	OnCompaction func(before ContextWindowUsage, action CompactionAction)
	// Options.Name defaults to "context-monitor".
	Options NodeOptions
}

func (c ContextMonitorConfig[S]) define() *def[S] {
	if c.Options.Name == "" {
		c.Options.Name = "context-monitor"
	}
	if c.Action == "" {
		c.Action = DefaultCompactionAction(c.AgentType)
	}
	d := &def[S]{id: c.ID, typ: TypeTool, opts: c.Options, run: c.call}
	switch c.Action {
	case CompactSummarize, CompactRecreate, CompactWarn, CompactNone:
	default:
		d.problem = problemf("Context monitor node %q has the unknown action %q", c.ID, c.Action)
	}
	if !percentage(c.Threshold) {
		d.problem = problemf("Context monitor node %q: the threshold is %v; it must be between 0 and 100", c.ID,
			c.Threshold)
	}
	c.Threshold = thresholdOr(c.Threshold, defaultThreshold)
	d.run = c.call
	return d
}

func (c ContextMonitorConfig[S]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	var session Session
	if c.Session != nil {
		session = c.Session(n.View())
	}
	u, err := c.usage(ctx, n, session)
	if err != nil || u == nil {
		return Result[S]{}, err
	}
	r := Result[S]{Usage: u}
	if !exceeds(*u, c.Threshold) {
		return r, nil
	}
	switch c.Action {
	case CompactSummarize:
		if err := summarize(ctx, session); err != nil {
			if ctx.Err() != nil {
				return Result[S]{}, context.Cause(ctx)
			}
			r.Signals = c.warn(*u, "; it was not summarized: "+err.Error(), map[string]any{"error": err.Error()})
			return r, nil
		}
		c.compacted(*u)
		r.Usage = nil
		if after, err := usageOf(ctx, session); err == nil {
			r.Usage = &after
		}
	case CompactRecreate:
		c.compacted(*u)
		r.Signals = c.warn(*u, "; a new session is needed", map[string]any{"shouldRecreateSession": true})
	case CompactWarn:
		r.Signals = c.warn(*u, "", nil)
	}
	return r, nil
}

// usage returns the usage of the window from the first source that knows it, or nil if none does.
func (c ContextMonitorConfig[S]) usage(ctx context.Context, n *Context[S], session Session) (
	*ContextWindowUsage, error) {
	if c.Usage != nil {
		if u, err := c.Usage(ctx, n.View()); err != nil || u != nil {
			return u, err
		}
	}
	if session != nil {
		u, err := usageOf(ctx, session)
		if err == nil {
			return &u, nil
		}
		if !errors.Is(err, ErrUnknownUsage) {
			return nil, err
		}
	}
	return n.ContextWindowUsage, nil
}

func (c ContextMonitorConfig[S]) compacted(before ContextWindowUsage) {
	if c.OnCompaction != nil {
		c.OnCompaction(before, c.Action)
	}
}

func (c ContextMonitorConfig[S]) warn(u ContextWindowUsage, more string, data map[string]any) []Signal {
	all := map[string]any{"usagePercentage": u.UsagePercentage, "threshold": c.Threshold, "nodeId": c.ID,
		"action": c.Action}
	maps.Copy(all, data)
	return []Signal{{Type: SignalContextWindowWarning, Message: usageText(u) + more, Data: all}}
}

func summarize(ctx context.Context, s Session) error {
	if s == nil {
		return errors.New("there is no session")
	}
	return s.Summarize(ctx)
}

// ClearContextConfig is a node that requests that the context window be cleared, with a signal that
// carries the threshold with which the graph was compiled, or else 60.
type ClearContextConfig[S any] struct {
	ID string
	// Message defaults to "Clearing context window"; MessageFunc takes precedence.
	Message     string
	MessageFunc func(View[S]) string
	// Options.Name defaults to "clear-context".
	Options NodeOptions
}

func (c ClearContextConfig[S]) define() *def[S] {
	if c.Options.Name == "" {
		c.Options.Name = "clear-context"
	}
	return &def[S]{id: c.ID, typ: TypeTool, opts: c.Options,
		run: func(_ context.Context, n *Context[S]) (Result[S], error) {
			text := c.Message
			if c.MessageFunc != nil {
				text = c.MessageFunc(n.View())
			}
			if text == "" {
				text = "Clearing context window"
			}
			return Result[S]{Signals: []Signal{{Type: SignalContextWindowWarning, Message: text, Data: map[string]any{
				"usage": 100, "threshold": thresholdOr(n.Config.ContextWindowThreshold, clearThreshold), "nodeId": c.ID,
				"action": CompactSummarize,
			}}}}, nil
		}}
}
