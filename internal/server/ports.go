package server

import (
	"context"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// Tokens says who has a token.
type Tokens interface {
	// Find gives the principal of the token. Errors: access.ErrUnknownToken where there is none, or not any more.
	Find(ctx context.Context, token string) (access.Principal, error)
	// ByID gives the principal of a token that can be used, for sessions. Errors: access.ErrUnknownToken.
	ByID(ctx context.Context, namespace, id string) (access.Principal, error)
	// Any tells whether there is a token that can be used.
	Any(ctx context.Context) (bool, error)
	// First makes the first token: of an admin of the namespace default who may approve.
	First(ctx context.Context) (token string, err error)
}

// Namespaces gives the service of each tenant (SEC10).
type Namespaces interface {
	// Names gives all namespaces.
	Names(ctx context.Context) ([]string, error)
	// Service gives the service of a namespace, and opens it if need be. Errors: access.ErrNoNamespace, or another that says why it cannot be used.
	Service(ctx context.Context, namespace string) (*service.Service, error)
	// DB names the store.
	DB() string
	// Drain begins no call of a run any more, and returns when none is in progress, or ctx is done.
	Drain(ctx context.Context)
	// Close interrupts what is driven and closes all services.
	Close() error
}

// Audit keeps who did what.
type Audit interface {
	Record(ctx context.Context, d transport.Deed) error
}

// Tickets are given to clients that cannot send headers: each is good for one request of one path, soon.
type Tickets interface {
	// Redeem gives the principal to whom the ticket for the path was issued; false where it is not valid, or not any more.
	Redeem(ticket, path string) (access.Principal, bool)
}
