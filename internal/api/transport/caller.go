package transport

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// Caller is who makes a request, with the service of their namespace.
type Caller struct {
	access.Principal
	Service *service.Service
	// Session is the secret of the session that a browser sent; "": the caller sent a token.
	Session string
}

type callerKey struct{}

// With gives a context that carries the caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From gives the caller of a request. A context without one has a caller that may do nothing and has no service: ask Require first.
func From(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// Require gives the caller if they may do what needs the role. Errors: ErrUnauthorized, *ForbiddenError.
func Require(ctx context.Context, need access.Role) (*Caller, error) {
	c := From(ctx)
	switch {
	case c.Service == nil || c.Role == "":
		return nil, ErrUnauthorized
	case !c.May(need):
		return nil, &ForbiddenError{fmt.Sprintf("the role %s is required; the token %q has %s", need, c.Name, c.Role)}
	}
	return c, nil
}

// Actor gives the caller as answers are recorded that came by a channel.
func (c *Caller) Actor(channel service.Channel) service.Actor {
	by := service.Actor{Name: c.Name, Token: c.Token, Channel: channel}
	if c.Token != "" { // others have no role that a wait may ask for
		by.Role = string(c.Role)
	}
	return by
}

// SeesDrafts tells whether the caller sees documents that are not published: drafts, and former versions.
func (c *Caller) SeesDrafts() bool { return c.May(access.RoleEdit) }

// RequireDrafts is SeesDrafts as an error. Errors: *ForbiddenError.
func (c *Caller) RequireDrafts() error {
	if c.SeesDrafts() {
		return nil
	}
	return &ForbiddenError{fmt.Sprintf("drafts and former versions need the role %s; the token %q has %s", access.RoleEdit, c.Name, c.Role)}
}

// RequireApproval tells whether the caller may answer approvals (SEC12, D32). Errors: *ForbiddenError.
func (c *Caller) RequireApproval() error {
	if c.Approve {
		return nil
	}
	return &ForbiddenError{fmt.Sprintf("approvals need a token with the right approve, which %q does not have (hocket tokens create --approve)", c.Name)}
}
