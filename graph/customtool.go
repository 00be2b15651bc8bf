package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// CustomToolConfig is a node that calls a tool of [Runtime.Tools], which is looked up when the node
// runs. A is the type from which the arguments are encoded, R the type into which the result is
// decoded, both as JSON.
type CustomToolConfig[S, A, R any] struct {
	ID string
	// ToolName is the tool's name in the registry; "" means ID.
	ToolName string
	// InputSchema is checked against the arguments before each call; nil means no check.
	InputSchema *Schema
	// Args holds the arguments, one value for all calls; ArgsFunc derives them from the state and
	// takes precedence. It must be pure.
	Args     A
	ArgsFunc func(View[S]) A
	// Output writes the result into the state. The result is stored in the outputs under ID if
	// Output is nil, or if Keep is set.
	Output func(s *S, result R) error
	Keep   bool
	// Timeout is the timeout of one attempt; 0 means none. A tool that ignores its context is then
	// abandoned.
	Timeout time.Duration
	// Options.Name defaults to ToolName.
	Options NodeOptions
}

func (c CustomToolConfig[S, A, R]) define() *def[S] {
	if c.ToolName == "" {
		c.ToolName = c.ID
	}
	if c.Options.Name == "" && c.ToolName != c.ID {
		c.Options.Name = c.ToolName
	}
	d := &def[S]{id: c.ID, typ: TypeTool, opts: c.Options, run: c.call}
	if c.Timeout < 0 {
		d.problem = problemf("Custom tool node %q has a negative timeout", c.ID)
	}
	if text := c.InputSchema.unusable(); text != "" {
		d.problem = problemf("The InputSchema of custom tool node %q %s", c.ID, text)
	}
	return d
}

func (c CustomToolConfig[S, A, R]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	registry := n.Runtime.Tools
	if registry == nil {
		return Result[S]{}, fmt.Errorf("custom tool node %q needs a tool registry: Runtime.Tools is not set", c.ID)
	}
	handler, ok := registry.Get(c.ToolName)
	if !ok || handler == nil {
		//nolint:staticcheck // S2-67
		return Result[S]{}, fmt.Errorf("Custom tool %q not found in registry. Available tools: %s", c.ToolName,
			listed(registry.Names()))
	}
	result, err := c.callByName(ctx, n, handler)
	if err != nil {
		return Result[S]{}, c.failure(ctx, err)
	}
	if c.Output == nil {
		return Result[S]{Output: result}, nil
	}
	if err := c.Output(&n.State, result); err != nil {
		return Result[S]{}, c.failure(ctx, err)
	}
	r := Result[S]{Update: &n.State}
	if c.Keep {
		r.Output = result
	}
	return r, nil
}

// callByName derives the arguments, calls the tool and decodes its result.
func (c CustomToolConfig[S, A, R]) callByName(ctx context.Context, n *Context[S], handler ToolHandler) (
	result R, err error) {
	args := c.Args
	if c.ArgsFunc != nil {
		args = c.ArgsFunc(n.View())
	}
	raw, err := encodeValue(args)
	if err != nil {
		return result, fmt.Errorf("encode arguments: %w", err)
	}
	if err := c.InputSchema.checkValue(fmt.Sprintf("Tool %q input", c.ToolName), raw); err != nil {
		return result, err
	}
	state, err := encodeValue(n.State)
	if err != nil {
		return result, fmt.Errorf("encode state: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return result, err
	}
	out, err := callTool(ctx, c.ToolName, c.Timeout, func(ctx context.Context) (json.RawMessage, error) {
		return handler(ctx, raw, ToolContext{
			SessionID: n.ExecutionID, MessageID: n.Key, Agent: "workflow", Directory: dir, NodeID: n.NodeID,
			ExecutionID: n.ExecutionID, State: state,
		})
	})
	if err != nil || len(out) == 0 {
		return result, err
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return result, fmt.Errorf("decode result: %w", err)
	}
	return result, nil
}

// failure wraps an error in the error type of the node; input that does not fit, a timeout and the
// end of the run have types of their own.
func (c CustomToolConfig[S, A, R]) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*SchemaValidationError](err); ok {
		return err
	}
	if timeout, ok := errors.AsType[*TimeoutError](err); ok && timeout.Tool == c.ToolName {
		return err
	}
	//nolint:staticcheck // S2-67
	return &NodeExecutionError{NodeID: c.ID, Cause: fmt.Errorf("Custom tool %q failed: %w", c.ToolName,
		err)}
}

// callTool calls a function of the program and abandons it at the timeout, or when the run abandons
// it. A panic is returned as an error.
func callTool[R any](ctx context.Context, tool string, timeout time.Duration, fn func(context.Context) (R, error)) (
	R, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, &TimeoutError{Tool: tool, After: timeout})
		defer cancel()
	}
	type answer struct {
		result R
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: fmt.Errorf("tool %q exited its goroutine without a result", tool)}
		defer func() {
			if v := recover(); v != nil {
				a.err = panicked("tool %q panicked: %v", tool, v)
			}
			done <- a
		}()
		a.result, a.err = fn(ctx)
	}()
	select {
	case a := <-done:
		if a.err != nil && ctx.Err() != nil {
			return a.result, context.Cause(ctx)
		}
		return a.result, a.err
	case <-ctx.Done():
		var none R
		return none, context.Cause(ctx)
	}
}
