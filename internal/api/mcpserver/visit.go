package mcpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine"
)

// visit is an HTTP request that brought calls. A call may outlive its request, or begin after it: the SDK keeps the result for a client that comes back.
type visit struct {
	request context.Context

	mu    sync.Mutex
	ended bool
}

func (v *visit) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
}

// record adds an action to what the request did. It reports false if the request has ended: then it was audited without the action.
func (v *visit) record(action, target string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ended {
		transport.RecordAction(v.request, action, target)
	}
	return !v.ended
}

// visit returns the HTTP request that brought a call. A call over standard input has none, and one whose request is gone has one that ended.
func (s *Server) visit(extra *sdk.RequestExtra) *visit {
	if extra == nil || extra.Header == nil {
		return nil
	}
	if v, ok := s.visits.Load(extra.Header.Get(headerRequest)); ok {
		return v.(*visit)
	}
	return &visit{request: context.Background(), ended: true}
}

// caller is the principal of the account, whose calls reach no other one.
func (d *account) caller() *transport.Caller {
	return &transport.Caller{Principal: d.key.Principal, Service: d.key.service}
}

// record records for the audit log what the call did: with its HTTP request while that is in progress, otherwise by itself. It is done: a log that cannot be written
// is no error of the call.
func (c *call) record(action, target string) {
	if c.visit != nil && c.visit.record(action, target) || c.server.cfg.Audit == nil {
		return
	}
	d := transport.Deed{At: c.began.UTC().Truncate(time.Microsecond), Principal: c.Principal, Channel: string(engine.ChannelMCP), Action: action, Target: target, Status: http.StatusOK}
	if c.visit != nil {
		d.RequestID = transport.RequestID(c.visit.request)
	}
	if err := c.server.cfg.Audit(context.Background(), d); err != nil {
		c.server.log.Error("audit record not written", "action", action, "target", target, "err", err)
	}
}
