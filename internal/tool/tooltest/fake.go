package tooltest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

// Tool is a tool made from a function. If Fn is nil, it returns the arguments. It records every
// call.
type Tool struct {
	Name   string
	Desc   string
	Params json.RawMessage // null means no declared arguments
	Retry  bool            // policy retry instead of ask
	Fn     func(ctx context.Context, c tool.Call) (tool.Result, error)

	mu    sync.Mutex
	calls []tool.Call
}

// Def implements tool.Tool.
func (t *Tool) Def() chat.ToolDef {
	return chat.ToolDef{Name: t.Name, Description: t.Desc, Parameters: t.Params}
}

// Policy implements tool.Tool.
func (t *Tool) Policy() tool.Policy {
	if t.Retry {
		return tool.PolicyRetry
	}
	return tool.PolicyAsk
}

// Call implements tool.Tool.
func (t *Tool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	t.mu.Lock()
	t.calls = append(t.calls, c)
	t.mu.Unlock()
	if t.Fn == nil {
		return tool.Result{Text: string(c.Arguments)}, nil
	}
	return t.Fn(ctx, c)
}

// Calls returns the calls so far, in the order in which they started.
func (t *Tool) Calls() []tool.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Toolset is a toolset with a list of tools that a test may change while it is in use.
type Toolset struct {
	name string

	mu     sync.Mutex
	tools  []tool.Tool
	err    error
	opened int
	listed int
	closed bool
}

// NewToolset returns a toolset with the given tools.
func NewToolset(name string, tools ...tool.Tool) *Toolset { return &Toolset{name: name, tools: tools} }

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Tools implements tool.Toolset.
func (t *Toolset) Tools(ctx context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed++
	switch {
	case t.closed:
		return nil, tool.ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return slices.Clone(t.tools), t.err
}

// Close implements tool.Toolset.
func (t *Toolset) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

// SetTools changes the list, as a server does when it announces new definitions.
func (t *Toolset) SetTools(tools ...tool.Tool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tools = tools
}

// SetError makes listing fail with err; nil lets it succeed again.
func (t *Toolset) SetError(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// Listed returns how often Tools was called.
func (t *Toolset) Listed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listed
}

// Closed reports whether Close was called.
func (t *Toolset) Closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// Types returns a type "fake" that opens the toolset with the spec's name and counts how often it
// was opened.
func Types(sets ...*Toolset) map[string]tool.Type {
	return map[string]tool.Type{"fake": {Open: func(spec tool.Spec) (tool.Toolset, error) {
		for _, s := range sets {
			if s.name == spec.Name {
				s.mu.Lock()
				s.opened++
				s.mu.Unlock()
				return s, nil
			}
		}
		return nil, tool.Errorf(tool.KindFailed, spec.Name, "no fake toolset %q", spec.Name)
	}}}
}

// Opened returns how often the toolset was opened through [Types].
func (t *Toolset) Opened() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.opened
}

// Spec returns a spec that opens t through [Types].
func (t *Toolset) Spec() tool.Spec { return tool.Spec{Type: "fake", Name: t.name} }

// Countdown is a context that is done after Err was called Until times. It is not safe for
// concurrent use.
type Countdown struct {
	context.Context

	// Asked is the number of calls of Err; Until is how many of them return nil.
	Asked, Until int
}

// Err implements [context.Context].
func (c *Countdown) Err() error {
	if c.Asked++; c.Asked > c.Until {
		return context.Canceled
	}
	return nil
}
