package main

import (
	"context"
	"errors"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/primitives"
)

// accessByKey is the API key that clients need, or "" where all are let in.
type accessByKey string

// AuthInfoRequired makes GetClaims be asked where a request has a key alone.
func (k accessByKey) AuthInfoRequired() bool { return true }

// GetClaims refuses a request with another key.
func (k accessByKey) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if k != "" && info.AuthToken != "Bearer "+string(k) {
		return nil, errors.New("the API key is another")
	}
	return &authorization.Claims{System: authorization.RoleAdmin}, nil
}

// Authorize refuses a request without a key, except those of the server's own workers, which have none: in the namespace of the system, and beside namespaces.
func (k accessByKey) Authorize(_ context.Context, claims *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	if k == "" || claims != nil || target.Namespace == "" || target.Namespace == primitives.SystemLocalNamespace {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	return authorization.Result{Decision: authorization.DecisionDeny}, nil
}
