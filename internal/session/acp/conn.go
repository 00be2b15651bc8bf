package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/process"
)

// conn is a running agent and the connection to it.
type conn struct {
	cfg  Config
	red  process.Redactor
	proc *process.Process
	rpc  *sdk.ClientSideConnection
	can  sdk.AgentCapabilities
	auth []string // the agent's login methods
	// ctx is the context of all requests: it ends with the connection, not with a request.
	ctx  context.Context
	end  context.CancelFunc
	kill func()
	stop func() error
	// inputClosed means that the agent no longer accepts input. The SDK reports that as a response
	// of the agent.
	inputClosed atomic.Bool
}

// input writes to an agent and records when it no longer accepts input.
type input struct {
	io.Writer
	broke *atomic.Bool
}

func (i *input) Write(p []byte) (int, error) {
	n, err := i.Writer.Write(p)
	if err != nil {
		i.broke.Store(true)
	}
	return n, err
}

// dial starts the agent and negotiates the protocol. If it fails, the processes that it started are
// gone.
func (cl *Client) dial(ctx context.Context, dir string, p *peer, files sdk.FileSystemCapabilities) (*conn, error) {
	proc, err := process.Start(ctx, cl.cfg.Command, dir, cl.env, cl.cfg.Logger, func(line string) {
		cl.cfg.Logger.Debug("coding agent", "command", cl.cfg.Command[0], "stderr", cl.red.Text(line))
	})
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	c := &conn{cfg: cl.cfg, red: cl.red, proc: proc}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.kill = sync.OnceFunc(proc.Kill)
	c.stop = sync.OnceValue(func() error {
		err := proc.Stop(c.cfg.CloseGrace)
		c.end()
		if c.rpc != nil {
			<-c.rpc.Done()
		}
		return err
	})
	ready := make(chan struct{})
	p.pace = newPacer(process.Messages(proc.Stdout, jsontext.Filter{Line: func(line string) {
		proc.Note(line)
		cl.cfg.Logger.Debug("coding agent", "command", cl.cfg.Command[0], "stdout", cl.red.Text(line))
	}}), ready)
	c.rpc = sdk.NewClientSideConnection(p, &input{Writer: proc.Stdin, broke: &c.inputClosed}, p.pace)
	c.rpc.SetLogger(cl.cfg.Logger)
	close(ready)

	r, err := do(ctx, c, func(ctx context.Context) (sdk.InitializeResponse, error) {
		return c.rpc.Initialize(ctx, sdk.InitializeRequest{
			ProtocolVersion:    sdk.ProtocolVersionNumber,
			ClientInfo:         &sdk.Implementation{Name: "hocket", Version: cl.cfg.Version},
			ClientCapabilities: sdk.ClientCapabilities{Fs: files},
		})
	})
	if err == nil && r.ProtocolVersion != sdk.ProtocolVersionNumber {
		err = fmt.Errorf("unsupported protocol version %d; version %d is supported", r.ProtocolVersion,
			sdk.ProtocolVersionNumber)
	}
	if err != nil {
		c.kill()
		return nil, errors.Join(fmt.Errorf("initialize the agent: %w", err), c.stop())
	}
	c.can = r.AgentCapabilities
	for _, m := range r.AuthMethods {
		if m.Agent != nil {
			c.auth = append(c.auth, m.Agent.Name)
		}
	}
	return c, nil
}

// do makes a request and returns when ctx is done, even if the agent does not read what it is sent;
// such an agent is killed. If the agent ended, the error says how.
func do[R any](ctx context.Context, c *conn, request func(context.Context) (R, error)) (R, error) {
	type outcome struct {
		res R
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := request(c.ctx)
		done <- outcome{res, err}
	}()
	select {
	case o := <-done:
		return o.res, c.explain(o.err)
	case <-ctx.Done():
		c.kill()
		<-done
		var none R
		return none, c.timeoutError(context.Cause(ctx))
	}
}

// timeoutError returns the error for an agent that did not respond in time, with its output so far.
func (c *conn) timeoutError(cause error) error {
	if words := c.proc.StderrTail(); words != "" {
		return fmt.Errorf("no response: %w; the agent said: %s", cause, c.red.Text(words))
	}
	return fmt.Errorf("no response: %w", cause)
}

// codeAuthRequired is the protocol's code for an agent that requires a login first.
const codeAuthRequired = -32000

// explain converts an error of the SDK to one of ours.
func (c *conn) explain(err error) error {
	if err == nil {
		return nil
	}
	if c.inputClosed.Load() || c.isDown() {
		// The end of its output arrives shortly before the end of the process.
		if c.proc.WaitFor(c.cfg.CloseGrace) {
			return fmt.Errorf("the agent %s", c.proc.ExitMessage(c.red))
		}
		return fmt.Errorf("the connection to the agent was lost%s", said(c.red.Text(c.proc.StderrTail())))
	}
	refused, ok := errors.AsType[*sdk.RequestError](err)
	switch {
	case !ok:
		return c.red.Error(err)
	case refused.Code == codeAuthRequired:
		text := "the agent requires a login"
		if len(c.auth) > 0 {
			text += " (" + strings.Join(c.auth, ", ") + ")"
		}
		return errors.New(text + ": log in with its own command, or pass a key with Env or PassEnv")
	}
	text := refused.Message
	if refused.Data != nil {
		text = refused.Error()
	}
	return fmt.Errorf("the agent answered with an error: %s", c.red.Text(text))
}

func said(words string) string {
	if words == "" {
		return ""
	}
	return ", last output: " + words
}

func (c *conn) isDown() bool {
	select {
	case <-c.rpc.Done():
		return true
	default:
		return false
	}
}

// withTimeoutCause returns ctx with a timeout whose cause says how long it was.
func withTimeoutCause(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("timed out after %s", d))
}

func cut(kv string) (name, value string) {
	name, value, _ = strings.Cut(kv, "=")
	return name, value
}
