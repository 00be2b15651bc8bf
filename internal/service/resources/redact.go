package resources

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
)

// cleanModels redacts the used secrets in everything that models and their servers return, before
// the engine, a recording or a watcher sees it (SEC11).
type cleanModels struct {
	model.Client
	keeper *secret.Keeper
}

func (c cleanModels) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	finish := func() {}
	if onDelta != nil {
		onDelta, finish = cleanDeltas(c.keeper, onDelta)
	}
	reply, err := c.Client.Call(ctx, req, onDelta)
	if err != nil {
		return model.Reply{}, cleanError(c.keeper, err)
	}
	finish()
	reply.Message = cleanMessage(c.keeper, reply.Message)
	reply.Reasoning = c.keeper.Redact(reply.Reasoning)
	return reply, nil
}

// cleanDeltas holds back a possible prefix of a secret until the next delta; finish flushes the
// rest.
func cleanDeltas(k *secret.Keeper, onDelta func(model.Delta)) (write func(model.Delta), finish func()) {
	text, reasoning := k.Tail(), k.Tail()
	write = func(d model.Delta) {
		d.Text, d.Reasoning = text.Write(d.Text), reasoning.Write(d.Reasoning)
		d.ToolCall = nil // nothing reads partial tool calls; the reply has them whole
		onDelta(d)       // even if nothing is left: it is a heartbeat
	}
	return write, func() {
		if d := (model.Delta{Text: text.Flush(), Reasoning: reasoning.Flush()}); !d.IsEmpty() {
			onDelta(d)
		}
	}
}

func cleanMessage(k *secret.Keeper, m chat.Message) chat.Message {
	m.Text, m.Extra = chat.NewText(k.Redact(m.Text.String())), k.RedactJSON(m.Extra)
	var calls []chat.ToolCall
	for _, c := range m.ToolCalls {
		c.Name, c.Arguments, c.Extra = k.Redact(c.Name), k.RedactJSON(c.Arguments), k.RedactJSON(c.Extra)
		calls = append(calls, c)
	}
	m.ToolCalls = calls
	return m
}

// cleanTools does for tools and their servers what cleanModels does for models.
type cleanTools struct {
	driver.Tools
	keeper *secret.Keeper
}

func (c cleanTools) Defs(ctx context.Context, agent string) ([]chat.ToolDef, error) {
	defs, err := c.Tools.Defs(ctx, agent)
	for i := range defs {
		defs[i] = cleanDef(c.keeper, defs[i])
	}
	return defs, cleanError(c.keeper, err)
}

func cleanDef(k *secret.Keeper, d chat.ToolDef) chat.ToolDef {
	d.Description, d.Parameters = k.Redact(d.Description), k.RedactJSON(d.Parameters)
	return d
}

// NewPins implements driver.Pinner. The hashes are computed from the definitions as received, so a
// changed one is still detected.
func (c cleanTools) NewPins() tool.Pins {
	p, ok := c.Tools.(driver.Pinner)
	if !ok {
		return nil
	}
	pins := p.NewPins()
	for name, pin := range pins {
		pin.Def = cleanDef(c.keeper, pin.Def)
		pins[name] = pin
	}
	return pins
}

func (c cleanTools) Instructions(ctx context.Context, agent string) (string, error) {
	text, err := c.Tools.Instructions(ctx, agent)
	return c.keeper.Redact(text), cleanError(c.keeper, err)
}

func (c cleanTools) Policy(ctx context.Context, call tool.Call) (tool.Policy, error) {
	p, err := c.Tools.Policy(ctx, call)
	return p, cleanError(c.keeper, err)
}

func (c cleanTools) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	res, err := c.Tools.Call(ctx, call)
	if err != nil {
		return tool.Result{}, cleanError(c.keeper, err)
	}
	res.Text, res.Structured = c.keeper.Redact(res.Text), c.keeper.RedactJSON(res.Structured)
	return res, nil
}

// cleanedError has a redacted text and, ahead of the original error, its typed part with a redacted
// text: errors.As finds the redacted one.
type cleanedError struct {
	text   string
	causes []error
}

func (e *cleanedError) Error() string   { return e.text }
func (e *cleanedError) Unwrap() []error { return e.causes }

// cleanError redacts secrets in an error and in the typed errors in it that drivers read.
func cleanError(k *secret.Keeper, err error) error {
	if err == nil {
		return nil
	}
	var (
		me *model.Error
		te *tool.Error
	)
	if he := (*tool.HoldError)(nil); errors.As(err, &he) {
		c := *he
		// it can contain text from a server
		c.Hold.Prompt, c.Hold.Arguments = k.Redact(c.Hold.Prompt), k.RedactJSON(c.Hold.Arguments)
		c.Hold.Options = nil
		for _, o := range he.Hold.Options {
			c.Hold.Options = append(c.Hold.Options, k.Redact(o))
		}
		return &c
	}
	text := k.Redact(err.Error())
	var causes []error
	if errors.As(err, &me) && k.Redact(me.Message) != me.Message {
		c := *me
		c.Message, c.Err = k.Redact(me.Message), k.Error(me.Err)
		causes = append(causes, &c)
	}
	if errors.As(err, &te) && k.Redact(te.Message) != te.Message {
		c := *te
		c.Message, c.Err = k.Redact(te.Message), k.Error(te.Err)
		causes = append(causes, &c)
	}
	if text == err.Error() && causes == nil {
		return err
	}
	return &cleanedError{text, append(causes, err)}
}
