package transport

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// Caller is the principal that makes a request, with the service of its namespace.
type Caller struct {
	access.Principal
	Service *service.Service
	// Session is the secret of the session that a browser sent; "" means that the caller sent a
	// token.
	Session string
}

type callerKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns the caller of a request. If the context has none, the returned caller has no
// permissions and no service: call Require first.
func From(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// Require returns the caller if they have the role. The error is ErrUnauthorized or a
// *ForbiddenError.
func Require(ctx context.Context, need access.Role) (*Caller, error) {
	c := From(ctx)
	if err := c.Require(need); err != nil {
		return nil, err
	}
	return c, nil
}

// Require returns nil if the caller has the role. The error is ErrUnauthorized or a
// *ForbiddenError.
func (c *Caller) Require(need access.Role) error {
	switch {
	case c.Service == nil || c.Role == "":
		return ErrUnauthorized
	case !c.May(need):
		return &ForbiddenError{fmt.Sprintf("the role %s is required; the token %q has %s", need, c.Name, c.Role)}
	}
	return nil
}

// Actor returns the caller in the form recorded with answers that arrive through the channel.
func (c *Caller) Actor(channel service.Channel) service.Actor {
	by := service.Actor{Name: c.Name, Token: c.Token, Channel: channel}
	if c.Token != "" { // other callers have no role that a wait may require
		by.Role = string(c.Role)
	}
	return by
}

// SeesDrafts reports whether the caller may see documents that are not published: drafts and
// earlier versions.
func (c *Caller) SeesDrafts() bool { return c.May(access.RoleEdit) }

// RequireDrafts returns a *ForbiddenError unless SeesDrafts is true.
func (c *Caller) RequireDrafts() error {
	if c.SeesDrafts() {
		return nil
	}
	return &ForbiddenError{fmt.Sprintf("drafts and former versions need the role %s; the token %q has %s",
		access.RoleEdit, c.Name, c.Role)}
}

// RequireApproval returns a *ForbiddenError unless the caller may answer approvals (SEC12, D32).
func (c *Caller) RequireApproval() error {
	if c.Approve {
		return nil
	}
	return &ForbiddenError{
		fmt.Sprintf("approvals need a token with the right approve, which %q does not have (hocket tokens create "+
			"--approve)", c.Name),
	}
}
