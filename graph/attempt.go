package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/program"
)

// call makes one attempt of a node: it checks the input, calls the function, and checks the
// changes. A failure changes nothing.
func (c *compiler[S]) call(d *def[S]) func(context.Context, program.Call) program.Result {
	return func(ctx context.Context, call program.Call) program.Result {
		out, err := c.attempt(ctx, d, call)
		if err != nil {
			out = program.Result{Failure: failureOf(err), Output: out.Output}
			if ctx.Err() != nil && errors.Is(err, context.Canceled) { // the node stopped because the run did
				out.Failure.Code = codeCancelled
			}
		}
		return out
	}
}

func (c *compiler[S]) attempt(ctx context.Context, d *def[S], call program.Call) (out program.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked("node %q panicked: %v", d.id, v)
		}
	}()
	var (
		n     *Context[S] // nil for functions of Do, which see only the state
		state *S
		with  *program.CallerContext
	)
	if d.do != nil {
		sees := new(struct {
			state S
			with  program.CallerContext
		})
		state, with = &sees.state, &sees.with
	} else {
		n = c.context(d, &call)
		state, with = &n.State, &n.within
	}
	if call.Caller != nil {
		*with = program.CallerContext{Context: ctx, Caller: call.Caller}
		ctx = with
	}
	var before seen[S]
	if err := c.codec.read(call.State, state, &before); err != nil {
		return out, err
	}
	if err := c.validator.input(d.id, d.opts.InputSchema, state); err != nil {
		return out, err
	}
	var r Result[S]
	if n == nil {
		r.Update, err = state, d.do(ctx, state)
	} else if r, err = d.run(ctx, n); err == nil {
		err = n.problem
	}
	if r.Output != nil {
		var bad error
		if out.Output, bad = encodeValue(r.Output); bad != nil && err == nil {
			err = fmt.Errorf("encode output: %w", bad)
		}
	}
	for _, to := range r.Goto {
		if err == nil {
			err = c.crosses(d.id, to)
		}
	}
	if err != nil {
		return out, err
	}
	if r.Update == nil && before.base != nil {
		out.Native = before.base
	}
	if r.Update != nil {
		changed, err := c.codec.changes(&before, r.Update)
		if err != nil {
			return out, err
		}
		out.Update, out.Grown, out.Native = changed.Update, changed.Grown, changed.Native
		err = c.validator.output(d.id, d.opts.OutputSchema, r.Update)
		if err == nil {
			err = c.validator.state(r.Update)
		}
		if err != nil {
			if all := out.Whole(call.State); out.Output == nil && all != nil {
				out.Output, _ = encodeValue(all) // it has been encoded before
			}
			return out, err
		}
	}
	if r.Usage != nil {
		raw, err := encodeValue(r.Usage)
		if err != nil {
			return out, fmt.Errorf("encode usage: %w", err)
		}
		if out.Update == nil {
			out.Update = program.Fields{}
		}
		out.Update[program.FieldUsage] = raw
	}
	if out.Goto = r.Goto; n != nil {
		out.Signals = n.emitted
	}
	asked := false
	for _, sig := range r.Signals {
		if sig.Type == SignalHumanInputRequired && asked {
			return out, fmt.Errorf("the signal %s was raised twice; a node can ask one question", sig.Type)
		}
		asked = asked || sig.Type == SignalHumanInputRequired
		data, err := encodeFields(sig.Data)
		if err != nil {
			return out, fmt.Errorf("encode signal %s: %w", sig.Type, err)
		}
		out.Signals = append(out.Signals, program.Signal{Name: string(sig.Type), Message: sig.Message, Data: data})
	}
	return out, nil
}

// context returns the context of an attempt, except for the state.
func (c *compiler[S]) context(d *def[S], call *program.Call) *Context[S] {
	n := &Context[S]{
		ExecutionID: call.Run, NodeID: d.id, Attempt: call.Attempt, Key: call.Key,
		Input: c.input(call.Input, call.Outputs), Errors: executionErrors(call.Errors),
		LastUpdated: call.Updated, Config: &c.config,
	}
	n.Model, n.Runtime = c.model(d, call.State), runtimeFor(call.Services, c.config.Runtime)
	n.ContextWindowUsage, n.ContextWindowThreshold = usageIn(call.State), c.config.threshold()
	n.graph, n.seen, n.fields, n.services = c, call.Outputs, call.State, call.Services
	above := strings.TrimSuffix(call.Node, d.id) // an inner graph sees its own names
	switch {
	case call.Last != nil:
		f := *call.Last
		f.Node = strings.TrimPrefix(f.Node, above)
		n.Feedback = feedback(f, call.Attempt-1, d.attempts())
		n.Feedback.PreviousOutput = call.LastOutput
	case d.id == c.handler:
		f := caught(call.Input)
		f.Node = strings.TrimPrefix(f.Node, above)
		n.Feedback = feedback(f, 1, 1)
		id, _, _ := strings.Cut(f.Node, "/")
		if failed := c.index[id]; failed != nil {
			n.Feedback.Attempt, n.Feedback.MaxAttempts = failed.attempts(), failed.attempts()
		}
	}
	return n
}

// validator checks states against schemas with each attempt of a node.
type validator struct{ schema *Schema }

func (v validator) state(state any) error { return v.schema.Check("Graph state", state) }

func (v validator) input(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.Check(fmt.Sprintf("Node %q input", node), state)
}

func (v validator) output(node string, s *Schema, state any) error {
	if s == nil {
		return nil
	}
	return s.Check(fmt.Sprintf("Node %q output", node), state)
}
