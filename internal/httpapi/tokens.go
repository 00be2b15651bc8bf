package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/door"
)

const tagAccess = "Access"

// AccessStore keeps tokens and the audit log of all namespaces. Handlers ask it for the caller's own, or for what the caller may name.
type AccessStore interface {
	access.Store
	access.Log
}

// registerTokens registers what manages tokens.
func (a *API) registerTokens() {
	const whose = "Of the caller's namespace; admins of the namespace `default` may name another one."
	add(a, route{
		Method: http.MethodGet, Path: "/tokens", ID: "listTokens", Tag: tagAccess, Role: access.RoleAdmin,
		Summary: "List tokens, without their texts", Description: whose, Errors: []int{http.StatusNotFound},
	}, a.listTokens)
	add(a, route{
		Method: http.MethodPost, Path: "/tokens", ID: "createToken", Tag: tagAccess, Role: access.RoleAdmin, Status: http.StatusCreated,
		Summary: "Make a token",
		Description: whose + " A namespace is made with its first token. The text is in this answer and nowhere else. A token gives no right that the caller does not have: only who may " +
			"approve makes one that may.",
		Errors: []int{http.StatusConflict},
	}, a.createToken)
	add(a, route{
		Method: http.MethodDelete, Path: "/tokens/{id}", ID: "revokeToken", Tag: tagAccess, Role: access.RoleAdmin, Status: http.StatusNoContent,
		Summary: "Revoke a token", Description: whose + " Whoever has it is turned away from now on.", Errors: []int{http.StatusNotFound},
	}, a.revokeToken)
}

// Token is what is known of an access token: everything but its text.
type Token struct {
	ID        string      `json:"id" doc:"Names the token in the audit log, and where it is revoked; no secret"`
	Name      string      `json:"name" doc:"What people call it"`
	Namespace string      `json:"namespace" doc:"The namespace that it leads into"`
	Role      access.Role `json:"role" enum:"run,edit,admin" doc:"What it may do; each role includes those before it"`
	Approve   bool        `json:"approve" doc:"It stands for a person, who may answer approvals"`
	CreatedAt time.Time   `json:"createdAt"`
	ExpiresAt *time.Time  `json:"expiresAt" doc:"When it ends; null: never"`
	UsedAt    *time.Time  `json:"usedAt" doc:"When it was used last, to within some minutes; null: never"`
}

// TokenOf gives a token as the API tells it.
func TokenOf(t access.Token) Token {
	out := Token{ID: t.ID, Name: t.Name, Namespace: t.Namespace, Role: t.Role, Approve: t.Approve, CreatedAt: t.Created}
	if !t.Expires.IsZero() {
		out.ExpiresAt = &t.Expires
	}
	if !t.Used.IsZero() {
		out.UsedAt = &t.Used
	}
	return out
}

// MadeToken is a token with its text.
type MadeToken struct {
	Token
	Text string `json:"token" doc:"What the client sends: Authorization: Bearer TOKEN. It is told only now"`
}

// InNamespace names a namespace.
type InNamespace struct {
	Namespace string `query:"namespace" doc:"Another namespace than the caller's; for admins of the namespace default"`
}

// namespace gives the namespace that is asked for. Errors: *door.ForbiddenError, the same whether there is such a namespace; access.ErrNoNamespace.
func (a *API) namespace(ctx context.Context, c *door.Caller, in InNamespace) (string, error) {
	switch {
	case !c.MayUse(in.Namespace):
		return "", &door.ForbiddenError{Reason: "other namespaces are for admins of the namespace " + access.DefaultNamespace}
	case in.Namespace == "" || in.Namespace == c.Namespace:
		return c.Namespace, nil
	}
	names, err := a.cfg.Access.Namespaces(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(names, in.Namespace) {
		return "", access.ErrNoNamespace
	}
	return in.Namespace, nil
}

type tokensQuery struct {
	Page
	InNamespace
}

func (a *API) listTokens(ctx context.Context, c *door.Caller, in *tokensQuery) (*listed[Token], error) {
	namespace, err := a.namespace(ctx, c, in.InNamespace)
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Access.List(ctx, namespace)
	if err != nil {
		return nil, err
	}
	key := func(t Token) string { return fmt.Sprintf("%020d %s", t.CreatedAt.UnixMicro(), t.ID) }
	all := make([]Token, len(found))
	for i, t := range found {
		all[i] = TokenOf(t)
	}
	slices.SortFunc(all, func(x, y Token) int { return cmp.Compare(key(x), key(y)) })
	return pageOf(in.Page, all, key, upwards)
}

// TokenBody is the body of createToken.
type TokenBody struct {
	Name      string      `json:"name" minLength:"1" maxLength:"100" doc:"What it is for" example:"ci"`
	Role      access.Role `json:"role" enum:"run,edit,admin" doc:"What it may do"`
	Approve   bool        `json:"approve,omitempty" doc:"It stands for a person, who may answer approvals"`
	Namespace string      `json:"namespace,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" doc:"Another namespace than the caller's, which is made where there is none"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty" doc:"When it ends; absent: never"`
}

type tokenMade struct {
	Location string `header:"Location"`
	Body     MadeToken
}

func (a *API) createToken(ctx context.Context, c *door.Caller, in *struct{ Body TokenBody }) (*tokenMade, error) {
	g := access.Grant{Name: in.Body.Name, Namespace: in.Body.Namespace, Role: in.Body.Role, Approve: in.Body.Approve}
	if g.Namespace == "" {
		g.Namespace = c.Namespace
	}
	if in.Body.ExpiresAt != nil {
		if g.Expires = *in.Body.ExpiresAt; g.Expires.IsZero() {
			return nil, badField("body.expiresAt", "the token would have expired already")
		}
	}
	if err := c.MayGrant(g); err != nil {
		return nil, err
	}
	text, made, err := access.NewTokens(access.Config{Store: a.cfg.Access}).Create(ctx, g)
	if err != nil {
		return nil, err
	}
	door.Did(ctx, "tokens.create", made.ID)
	return &tokenMade{Prefix + "/tokens/" + made.ID, MadeToken{TokenOf(made), text}}, nil
}

type tokenPath struct {
	ID string `path:"id" doc:"Id of the token"`
	InNamespace
}

func (a *API) revokeToken(ctx context.Context, c *door.Caller, in *tokenPath) (*struct{}, error) {
	namespace, err := a.namespace(ctx, c, in.InNamespace)
	if err != nil {
		return nil, err
	}
	door.Did(ctx, "tokens.revoke", in.ID)
	_, err = a.cfg.Access.Revoke(ctx, namespace, in.ID)
	return nil, err
}
