package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// leaveTime is how long to wait for calls in progress after the client has closed its end.
const leaveTime = 5 * time.Second

// drainingTransport is a transport that reports the end of input only when all earlier calls have
// been answered, so that `hocket mcp < calls.jsonl` answers them all.
type drainingTransport struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (p drainingTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainingConn{Connection: c, ctx: ctx, answered: make(chan struct{}, 1)}, nil
}

// drainingConn counts calls received and answers sent.
type drainingConn struct {
	sdk.Connection
	ctx      context.Context
	answered chan struct{} // something was answered

	mu   sync.Mutex
	open int
}

// Read implements sdk.Connection.
func (p *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := p.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		p.mu.Lock()
		p.open++
		p.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		p.waitAnswered(ctx)
	}
	return msg, err
}

// waitAnswered waits for a limited time until everything is answered.
func (p *drainingConn) waitAnswered(ctx context.Context) {
	limit := time.NewTimer(leaveTime)
	defer limit.Stop()
	for {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-p.answered:
		case <-ctx.Done():
			return
		case <-p.ctx.Done():
			return
		case <-limit.C:
			return
		}
	}
}

// Write implements sdk.Connection.
func (p *drainingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := p.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
		select {
		case p.answered <- struct{}{}:
		default: // a wake-up is already pending
		}
	}
	return err
}
