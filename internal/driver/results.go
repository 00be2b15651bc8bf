package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// badJSON returns a failure for values that no journal can hold, or nil if all are JSON or absent.
func badJSON(kind, name string, values ...event.Value) *event.Failure {
	for _, v := range values {
		if v != nil && !json.Valid(v) {
			return &event.Failure{Code: codeInternal, Message: fmt.Sprintf("%s %q returned a value that is not JSON",
				kind, name)}
		}
	}
	return nil
}

// badFields is badJSON for the fields of a function's result: records contain their names
// unchanged.
func badFields(name string, fields map[string]event.Value) *event.Failure {
	for key, v := range fields {
		if !utf8.ValidString(key) {
			return &event.Failure{Code: codeInternal,
				Message: fmt.Sprintf("function %q returned a field whose name %q is not UTF-8", name, key)}
		}
		if f := badJSON("function", name, v); f != nil {
			return f
		}
	}
	return nil
}

func badMessage(m chat.Message) *event.Failure {
	values := []event.Value{m.Extra}
	for _, c := range m.ToolCalls {
		values = append(values, c.Arguments, c.Extra)
	}
	if badJSON("", "", values...) == nil {
		return nil
	}
	return &event.Failure{Code: string(model.KindServer),
		Message: "the model's answer contains a value that is not JSON", Retryable: true}
}

// Unsent returns the result of a command that was cancelled before it started, in which case a
// model call cost nothing. It returns nil for commands without a result.
func Unsent(c engine.Command) engine.InputData {
	d := Cancelled(c)
	if res, ok := d.(engine.ModelResult); ok {
		res.Usage, res.CostUSD = &chat.Usage{}, new(float64)
		return res
	}
	return d
}

// Cancelled returns the result of a command that was cancelled and will not be executed, or nil for
// commands without a result.
func Cancelled(c engine.Command) engine.InputData {
	return resultOf(c, event.CodeCancelled, "cancelled")
}

// GivenUp returns the result of a call that did not end although it was told to.
func GivenUp(c engine.Command, why error) engine.InputData {
	return resultOf(c, event.CodeTimeout, why.Error())
}

// Gone returns the result of a call whose function ended its goroutine with runtime.Goexit instead
// of returning.
func Gone(c engine.Command) engine.InputData {
	return resultOf(c, event.CodeFunc, "the function exited its goroutine without a result")
}

func resultOf(c engine.Command, code, message string) engine.InputData {
	f := &event.Failure{Code: code, Message: message}
	switch c := c.(type) {
	case *engine.CallModel:
		return engine.ModelResult{ID: c.ID, Failure: f}
	case *engine.CallTool:
		res := engine.ToolResult{ID: c.ID, Failure: f}
		if code == event.CodeTimeout {
			res.Unknown = string(tool.PolicyAsk) // it ignored its cancellation, so its outcome is unknown
		}
		return res
	case *engine.CallFunc:
		return engine.FuncResult{ID: c.ID, Failure: f}
	}
	return nil
}

func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: the limit is %s", errTimeout, limit))
}

func panicked(who string, v any) *event.Failure {
	return &event.Failure{Code: codeInternal, Message: fmt.Sprintf("%s panicked: %v", who, v)}
}

func agentID(a *workflow.Agent) string {
	if a == nil {
		return ""
	}
	return a.ID
}
