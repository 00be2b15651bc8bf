package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// MetaKey is the key of the idempotency key in the `_meta` of a call (P12).
const MetaKey = "hocket/idempotencyKey"

// remoteTool is one tool as listed by a server at some point.
type remoteTool struct {
	set    *Toolset
	def    chat.ToolDef
	policy tool.Policy
	// reads is the server's claim that the tool changes nothing. Only the order of calls depends on
	// it.
	reads bool
	hash  string
}

func (t *remoteTool) Def() chat.ToolDef { return t.def }

// Policy returns retry for tools that their server declares to be read-only or idempotent, if the
// operator trusts the server, because MCP annotations are only claims (P12).
func (t *remoteTool) Policy() tool.Policy { return t.policy }

// Concurrent implements tool.Concurrent.
func (t *remoteTool) Concurrent() bool { return t.reads }

// Resources returns what the strings of a call could be interpreted as, since it is not known what
// a server does with them. A server started by Hocket works in its configured folder.
func (t *remoteTool) Resources(ctx context.Context, c tool.Call) ([]tool.Resource, error) {
	dir := ""
	if t.set.dial.endpoint == nil {
		var err error
		if dir, err = filepath.Abs(t.set.dial.dir); err != nil {
			return nil, fmt.Errorf("find the folder of toolset %q: %w", t.set.Name(), err)
		}
	}
	return tool.Guess(ctx, dir, t.def.Name, c.Arguments)
}

func (t *remoteTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	for attempt := 0; ; attempt++ {
		conn, tools, err := t.set.ready(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		now := find(tools, t.def.Name)
		if now == nil || now.hash != t.hash {
			return tool.Result{}, tool.Errorf(tool.KindChanged, t.def.Name,
				"tool %q of toolset %q was not called: the server changed its definition", t.def.Name, t.set.Name())
		}
		res, sent, err := t.send(ctx, conn, c)
		if err == nil {
			return t.set.result(res)
		}
		if attempt == 0 && !sent && t.set.life.Err() == nil && ctx.Err() == nil {
			if !refused(err) {
				conn.broken.Store(true) // the next attempt reconnects
				continue
			}
			if sleep(ctx, t.set.cfg.ReconnectDelay) == nil {
				continue
			}
		}
		return tool.Result{}, t.callError(ctx, conn, sent, err)
	}
}

// send makes one attempt. The only time limit that it sets is the one on the time without a
// heartbeat. sent reports whether the server may have seen the request.
func (t *remoteTool) send(ctx context.Context, conn *conn, c tool.Call) (
	res *sdk.CallToolResult, sent bool, err error) {
	ctx, cancel := t.set.join(ctx)
	defer cancel(nil)
	limit := t.set.cfg.IdleTimeout
	idle := time.AfterFunc(limit, func() { cancel(errIdleTimeout) })
	defer idle.Stop()
	token := conn.watch(func() { idle.Reset(limit) })

	args := c.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	meta := sdk.Meta{MetaKey: c.Key}
	tracecontext.Inject(ctx, func(name, value string) { meta[name] = value }) // SEP-414
	params := &sdk.CallToolParams{Name: t.def.Name, Arguments: args, Meta: meta}
	params.SetProgressToken(token)
	res, err = do(ctx, conn, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return conn.sess.CallTool(ctx, params)
	})
	sent = conn.unwatch(token) && !unsent(err)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return res, sent, err
}

// callError returns an error that says why there is no response.
func (t *remoteTool) callError(ctx context.Context, conn *conn, sent bool, err error) error {
	name := t.def.Name
	if ctx.Err() != nil {
		return fmt.Errorf("call tool %q: %w", name, context.Cause(ctx))
	}
	if errors.Is(err, tool.ErrClosed) {
		return tool.ErrClosed
	}
	if errors.Is(err, errIdleTimeout) {
		e := tool.Errorf(tool.KindTimeout, name, "tool %q sent no data for %s (idle_timeout)", name,
			t.set.cfg.IdleTimeout)
		e.OutcomeUnknown, e.Err = sent, err
		return e
	}
	red := t.set.red
	if said := answer(err); said != nil {
		kind := tool.KindFailed
		if said.Code == jsonrpc.CodeInvalidParams {
			kind = tool.KindInvalidArguments
		}
		return tool.Errorf(kind, name, "tool %q failed: %w", name, red.Error(said))
	}
	if he, ok := errors.AsType[*httpError](err); ok {
		kind := tool.KindFailed
		if he.isTransient() {
			kind = tool.KindNetwork
		}
		e := tool.Errorf(kind, name, "tool %q failed: the server answered with %w", name, red.Error(he))
		e.OutcomeUnknown = he.ofGateway()
		return e
	}
	e := tool.Errorf(tool.KindNetwork, name, "tool %q did not respond: %w", name, red.Error(plain(err)))
	if conn.proc != nil && conn.proc.WaitFor(conn.grace) {
		e.Message = fmt.Sprintf("tool %q did not respond: the server %s", name, conn.proc.ExitMessage(red))
	}
	e.OutcomeUnknown = sent
	return e
}

// answer returns the error that the server itself sent, or nil. The SDK uses the same type for
// errors of its own transport.
func answer(err error) *jsonrpc.Error {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself, past those of the transport
	case nil:
		return nil
	case *jsonrpc.Error:
		switch e.Message {
		case "rejected by transport", "server is closing", "client is closing":
			return nil
		}
		return e
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if found := answer(inner); found != nil {
				return found
			}
		}
		return nil
	}
	return answer(errors.Unwrap(err))
}

// errorWithMessage wraps err with a different message.
type errorWithMessage struct {
	text string
	err  error
}

func (w *errorWithMessage) Error() string { return w.text }
func (w *errorWithMessage) Unwrap() error { return w.err }

// plain removes the SDK's internal wording from the message of err.
func plain(err error) error {
	return &errorWithMessage{strings.ReplaceAll(err.Error(), "rejected by transport: ", ""), err}
}

// unsent reports whether the server cannot have seen the whole request, which may then be sent
// again over a new connection.
func unsent(err error) bool {
	switch {
	case errors.Is(err, sdk.ErrConnectionClosed): // the SDK found the connection closed before writing
		return true
	case errors.Is(err, sdk.ErrSessionMissing): // rejected: the server has forgotten the session
		return true
	case errors.Is(err, syscall.EPIPE): // the line was not written completely
		return true
	}
	return refused(err)
}

// refused reports whether no network connection could be made; an existing session may still be
// valid.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
