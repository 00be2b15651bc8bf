package main

import (
	"context"
	"errors"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/primitives"
)

// accessByKey is the API key that clients need, or "" if all are accepted.
type accessByKey string

// AuthInfoRequired makes the server call GetClaims even if a request only has a key.
func (k accessByKey) AuthInfoRequired() bool { return true }

// GetClaims rejects a request with another key.
func (k accessByKey) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if k != "" && info.AuthToken != "Bearer "+string(k) {
		return nil, errors.New("the API key is another")
	}
	return &authorization.Claims{System: authorization.RoleAdmin}, nil
}

// Authorize rejects a request without a key, except those of the server's own workers, which have
// none: in the system namespace, and outside namespaces.
func (k accessByKey) Authorize(_ context.Context, claims *authorization.Claims, target *authorization.CallTarget) (
	authorization.Result, error) {
	if k == "" || claims != nil || target.Namespace == "" || target.Namespace == primitives.SystemLocalNamespace {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	return authorization.Result{Decision: authorization.DecisionDeny}, nil
}
