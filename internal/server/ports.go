package server

import (
	"context"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// Tokens looks up the owners of tokens.
type Tokens interface {
	// Find returns the principal of the token. It returns access.ErrUnknownToken if there is no
	// such token, or if it is no longer valid.
	Find(ctx context.Context, token string) (access.Principal, error)
	// ByID returns the principal of a valid token, for sessions. It returns access.ErrUnknownToken
	// if there is none.
	ByID(ctx context.Context, namespace, id string) (access.Principal, error)
	// Any reports whether there is a valid token.
	Any(ctx context.Context) (bool, error)
	// First creates the first token: for an admin of the namespace default who may approve.
	First(ctx context.Context) (token string, err error)
}

// Namespaces provides the service of each tenant (SEC10).
type Namespaces interface {
	// Names returns all namespaces.
	Names(ctx context.Context) ([]string, error)
	// Service returns the service of a namespace, and opens it if necessary. It may be used until
	// ctx is done. It returns access.ErrNoNamespace, or another error that says why the service
	// cannot be used.
	Service(ctx context.Context, namespace string) (*service.Service, error)
	// IfOpen is Service for a namespace that is open; it returns nil otherwise.
	IfOpen(ctx context.Context, namespace string) *service.Service
	// DB returns the name of the store.
	DB() string
	// Drain stops starting calls of runs, and returns when none is in progress or ctx is done.
	Drain(ctx context.Context)
	// Close interrupts the runs being driven and closes all services.
	Close() error
}

// Tickets are for clients that cannot send headers: each is valid for one request for one path, for
// a short time.
type Tickets interface {
	// Redeem returns the principal for whom the ticket for the path was issued, or false if there
	// is no such ticket, or if it is no longer valid.
	Redeem(ticket, path string) (access.Principal, bool)
}
