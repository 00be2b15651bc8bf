package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/service"
)

// callRequest is an HTTP request that made calls. A call may outlive its request, or start after it
// has ended: the SDK keeps the result for a client that reconnects.
type callRequest struct {
	request context.Context // nil if the request had ended when the call started
	// id and remote are the fields of transport.Request.
	id, remote string

	mu    sync.Mutex
	ended bool
}

// begin creates the callRequest of r and sets headerRequest, which the SDK passes on to calls and
// under which visit finds it. The caller must end it.
func (s *Server) begin(r *http.Request) *callRequest {
	v := &callRequest{request: r.Context(), id: transport.RequestID(r.Context()), remote: transport.Remote(r.Context())}
	header := fmt.Sprintf("%d %s %s", s.last.Add(1), v.id, v.remote)
	s.visits.Store(header, v)
	r.Header.Set(headerRequest, header)
	return v
}

func (s *Server) end(r *http.Request, v *callRequest) {
	s.visits.Delete(r.Header.Get(headerRequest))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
}

// visit returns the HTTP request that made a call, or nil for standard input. If the request has
// ended, it returns a callRequest with ended set.
func (s *Server) visit(extra *sdk.RequestExtra) *callRequest {
	if extra == nil || extra.Header == nil {
		return nil
	}
	header := extra.Header.Get(headerRequest)
	if v, ok := s.visits.Load(header); ok {
		return v.(*callRequest)
	}
	_, rest, _ := strings.Cut(header, " ")
	id, remote, _ := strings.Cut(rest, " ")
	return &callRequest{id: id, remote: remote, ended: true}
}

// with returns a context that carries the claim of the request on bytes in flight: the context of a
// call is that of its session.
func (v *callRequest) with(ctx context.Context) context.Context {
	if v == nil || v.request == nil {
		return ctx
	}
	return inflight.With(ctx, inflight.From(v.request))
}

// record adds an action to the record of the request. It returns false if the request has ended: it
// was then audited without the action.
func (v *callRequest) record(action, target string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ended {
		transport.RecordAction(v.request, action, target)
	}
	return !v.ended
}

// closing returns a channel that is closed when the surrounding server starts to shut down. For a
// call that started after its request ended, it returns nil, which is never closed.
func (v *callRequest) closing() <-chan struct{} {
	if v == nil || v.request == nil {
		return nil
	}
	return transport.Closing(v.request)
}

// with returns a context that carries the account's principal as the caller. All sessions of an
// account belong to this principal. The service may be used until ctx is done.
func (d *account) with(ctx context.Context) (context.Context, error) {
	svc := d.own
	if open := d.server.cfg.Service; open != nil {
		var err error
		if svc, err = open(ctx, d.key.Namespace); err != nil {
			return ctx, fmt.Errorf("open the namespace: %w", err)
		}
	}
	return transport.With(ctx, &transport.Caller{Principal: d.key.Principal, Service: svc}), nil
}

// require returns the caller, and a context that carries it, if the account's principal has the
// role. The error is transport.ErrUnauthorized if its token was revoked, a
// *transport.ForbiddenError, or one of Config.Service.
func (d *account) require(ctx context.Context, need access.Role) (context.Context, *transport.Caller, error) {
	if d.revoked.Load() {
		return ctx, nil, transport.ErrUnauthorized
	}
	ctx, err := d.with(ctx)
	if err != nil {
		return ctx, nil, err
	}
	c, err := transport.Require(ctx, need)
	return ctx, c, err
}

// hasEnded reports whether the request has ended, or there is none, as over standard input, so that
// actions are not part of its record.
func (v *callRequest) hasEnded() bool {
	if v == nil {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended
}

// intend records that a call is about to change something; if it cannot be recorded, the call is
// refused. An HTTP request in progress has such a record of its own.
func (c *call) intend() (err error) {
	if c.tool.effect == reads || !c.visit.hasEnded() || c.server.cfg.Audit == nil {
		return nil
	}
	if c.intent, err = c.server.cfg.Audit.Intend(c.server.ctx, c.deed(c.tool.name, "", 0)); err != nil {
		return fmt.Errorf("%w: the audit log cannot be written: %w", service.ErrUnavailable, err)
	}
	return nil
}

// conclude stores the outcome of a call that has recorded no action.
func (c *call) conclude(err error) {
	if c.intent == 0 {
		return
	}
	status := http.StatusOK
	if err != nil {
		status = problemOf(err).Status
	}
	c.write(c.deed(c.tool.name, "", status))
}

// record adds an action to the audit log: as part of its HTTP request while that is in progress,
// otherwise as a separate record, which replaces that of the intent.
func (c *call) record(action, target string) {
	if c.visit != nil && c.visit.record(action, target) || c.server.cfg.Audit == nil {
		return
	}
	c.write(c.deed(action, target, http.StatusOK))
}

func (c *call) deed(action, target string, status int) transport.Deed {
	d := transport.Deed{At: c.began.UTC().Truncate(time.Microsecond), Principal: c.Principal,
		Channel: string(event.ChannelMCP), Action: action, Target: target, Status: status, Intent: c.intent}
	if c.visit != nil {
		d.RequestID, d.Remote = c.visit.id, c.visit.remote
	}
	return d
}

// write writes a record to the audit log. An error is only logged, since the action has already
// happened; the record of the intent stays, with an unknown outcome.
func (c *call) write(d transport.Deed) {
	c.intent = 0
	if err := c.server.cfg.Audit.Record(c.server.ctx, d); err != nil {
		c.server.log.Error("audit record not written", "action", d.Action, "target", d.Target, "err", err)
	}
}
