package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

const tagAccess = "Access"

// AccessStore stores the tokens and the audit log of all namespaces. Handlers query it only for the
// caller's namespace, or for one that the caller may specify.
type AccessStore interface {
	access.Store
	access.Log
	access.SessionStore
}

// registerTokens registers the operations that manage tokens.
func (a *API) registerTokens() {
	const whose = "In the caller's namespace; admins of the namespace `default` may name another namespace."
	add(a, route{
		Method: http.MethodGet, Path: "/tokens", ID: "listTokens", Tag: tagAccess, Role: access.RoleAdmin,
		Summary: "List tokens, without their secrets", Description: whose, Errors: []int{http.StatusNotFound},
	}, a.listTokens)
	add(a, route{
		Method: http.MethodPost, Path: "/tokens", ID: "createToken", Tag: tagAccess, Role: access.RoleAdmin,
		Status:  http.StatusCreated,
		Summary: "Create a token",
		Description: whose + " A namespace is created with its first token. The secret is in this response only. A " +
			"token cannot have rights that the caller does not have: creating one with the right " +
			"approve needs that right.",
		Errors: []int{http.StatusConflict},
	}, a.createToken)
	add(a, route{
		Method: http.MethodDelete, Path: "/tokens/{id}", ID: "revokeToken", Tag: tagAccess, Role: access.RoleAdmin,
		Status:  http.StatusNoContent,
		Summary: "Revoke a token", Description: whose + " Requests with the token are refused from now on.",
		Errors: []int{http.StatusNotFound},
	}, a.revokeToken)
}

// Token describes an access token without its secret text.
type Token struct {
	ID        string      `json:"id" doc:"Identifies the token in the audit log and for revocation; not a secret"`
	Name      string      `json:"name" doc:"Display name"`
	Namespace string      `json:"namespace" doc:"Namespace of the token"`
	Role      access.Role `json:"role" enum:"run,edit,admin" doc:"Role; each role includes those before it"`
	Approve   bool        `json:"approve" doc:"Right to answer approvals, for tokens that a person uses"`
	CreatedAt time.Time   `json:"createdAt"`
	ExpiresAt *time.Time  `json:"expiresAt" doc:"Time of expiry; null: never"`
	UsedAt    *time.Time  `json:"usedAt" doc:"Time of the last use, accurate to some minutes; null: never"`
}

// TokenOf converts an access token to the form that the API shows.
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

// MadeToken is a new token with its text.
type MadeToken struct {
	Token
	Text string `json:"token" doc:"The secret, which clients send as Authorization: Bearer TOKEN. It is shown only now"`
}

// InNamespace is the parameter that selects a namespace.
type InNamespace struct {
	Namespace string `query:"namespace" doc:"Another namespace than the caller's; for admins of the namespace default"`
}

// namespace returns the requested namespace. The error is a *transport.ForbiddenError, whether or
// not such a namespace exists, or access.ErrNoNamespace.
func (a *API) namespace(ctx context.Context, c *transport.Caller, in InNamespace) (string, error) {
	switch {
	case !c.MayUse(in.Namespace):
		return "", &transport.ForbiddenError{Reason: "other namespaces need an admin of the namespace " +
			access.DefaultNamespace}
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

func (a *API) listTokens(ctx context.Context, c *transport.Caller, in *tokensQuery) (*listAnswer[Token], error) {
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
	slices.SortStableFunc(all, func(x, y Token) int { return cmp.Compare(key(x), key(y)) })
	return pageOf(in.Page, all, key, ascending)
}

// TokenBody is the body of createToken.
type TokenBody struct {
	Name      string      `json:"name" minLength:"1" maxLength:"100" doc:"Purpose of the token" example:"ci"`
	Role      access.Role `json:"role" enum:"run,edit,admin" doc:"Role of the token"`
	Approve   bool        `json:"approve,omitempty" doc:"Right to answer approvals, for tokens that a person uses"`
	Namespace string      `json:"namespace,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" doc:"Absent: the caller's"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty" doc:"Time of expiry; absent: never"`
}

type tokenMade struct {
	Location string `header:"Location"`
	Body     MadeToken
}

func (a *API) createToken(ctx context.Context, c *transport.Caller, in *struct{ Body TokenBody }) (*tokenMade, error) {
	g := access.Grant{Name: in.Body.Name, Namespace: in.Body.Namespace, Role: in.Body.Role, Approve: in.Body.Approve}
	if g.Namespace == "" {
		g.Namespace = c.Namespace
	}
	if in.Body.ExpiresAt != nil {
		if g.Expires = *in.Body.ExpiresAt; g.Expires.IsZero() {
			return nil, badField("body.expiresAt", "the expiry time is in the past")
		}
	}
	if err := c.MayGrant(g); err != nil {
		return nil, err
	}
	text, made, err := access.NewTokens(access.Config{Store: a.cfg.Access}).Create(ctx, g)
	if err != nil {
		return nil, err
	}
	transport.RecordAction(ctx, "tokens.create", made.ID)
	return &tokenMade{Prefix + "/tokens/" + made.ID, MadeToken{TokenOf(made), text}}, nil
}

type tokenPath struct {
	ID string `path:"id" doc:"Id of the token"`
	InNamespace
}

func (a *API) revokeToken(ctx context.Context, c *transport.Caller, in *tokenPath) (*struct{}, error) {
	namespace, err := a.namespace(ctx, c, in.InNamespace)
	if err != nil {
		return nil, err
	}
	transport.RecordAction(ctx, "tokens.revoke", in.ID)
	_, err = a.cfg.Access.Revoke(ctx, namespace, in.ID)
	return nil, err
}
