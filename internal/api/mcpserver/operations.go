package mcpserver

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
)

// operationTools returns the tools of entries of the table of operations.
func operationTools(entries ...*op.Operation) []*tool {
	var out []*tool
	for _, o := range entries {
		t := &tool{name: o.Tool.Name, title: o.Tool.Title, role: o.Role, effect: o.Effect, about: o.Tool.About,
			takes: propsOf(o.Arguments()), gives: outcomeOut, of: o, do: perform}
		if !o.ReturnsRun() {
			gives := propsOf(o.Results())
			if o.Tool.Next != nil {
				gives = append(gives, nextProp)
			}
			t.gives = closedObject(gives...)
		}
		out = append(out, t)
	}
	return out
}

func propsOf(args []op.Argument) []prop {
	var out []prop
	for _, a := range args {
		out = append(out, prop{a.Name, a.Schema, a.About, a.Required})
	}
	return out
}

// nextProp is the field of a result that says what a model should do.
var nextProp = req("next", aText, "What to do now.")

// perform carries out an operation of the table as a call of its tool.
func perform(ctx context.Context, c *call) (any, error) {
	o := c.tool.of
	raw, err := c.tool.valid(c.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	in, err := o.Decode(raw)
	if err != nil {
		return nil, err
	}
	out, err := o.Call(ctx, &op.Caller{Caller: c.Caller, Channel: event.ChannelMCP, Record: c.recordChange}, in)
	if err != nil {
		if about, ok := in.(interface{ RunID() string }); ok {
			err = noSuchRun(err, about.RunID())
		}
		return nil, err
	}
	run, ok := out.(op.Run)
	if !ok {
		return o.Result(out)
	}
	state, err := c.awaitOperation(ctx, o, in, run.ID)
	if err != nil {
		return nil, err
	}
	return c.render(ctx, run.ID, state)
}

// awaitOperation waits for the run of an operation, as the tool and the input say.
func (c *call) awaitOperation(ctx context.Context, o *op.Operation, in any, run string) (outcome, error) {
	if o.Tool.Stop == 0 {
		limit := time.Duration(0)
		if p, ok := in.(interface{ Waiting() op.WaitOptions }); ok {
			limit = seconds(p.Waiting().Seconds)
		}
		return c.await(ctx, run, limit, 0)
	}
	stopping, cancel := context.WithTimeout(ctx, o.Tool.Stop)
	defer cancel()
	if _, err := c.Service.Stopped(stopping, run); err != nil && stopping.Err() == nil {
		return outcome{}, err
	}
	return c.outcome(ctx, run)
}
