package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
)

// EnvToken is the environment variable that holds a token: for a server, a token accepted in
// addition to the stored ones; for a client, the token to send.
const EnvToken = "HOCKET_TOKEN" //nolint:gosec // a name

// TokenFile is the name of the file next to the store that holds the first token.
const TokenFile = "token"

// envPrincipal is the id of the environment's token in logs. The token is not stored, so it cannot
// be revoked.
const envPrincipal = "env"

// UnprotectedError is returned when others could reach the server and there is no token (SEC1).
type UnprotectedError struct{ Addr string }

func (e *UnprotectedError) Error() string {
	return fmt.Sprintf("%s is reachable from other machines, and no token is set: set %s, or start once on %s, which "+
		"creates a token", e.Addr, EnvToken, DefaultAddr)
}

// Minimums for the environment's token at an address that others can reach: a guessable token
// protects nothing (SEC1).
const (
	minToken    = 20 // characters
	minDistinct = 8  // distinct characters
)

// ShortTokenError is returned when others could reach the server and its token can be guessed.
type ShortTokenError struct{ Addr string }

func (e *ShortTokenError) Error() string {
	return fmt.Sprintf(
		"%s is reachable from other machines, and %s is too weak: it must have at least %d characters, %d of them "+
			"different; set one such as the output of `openssl rand -hex 32`, or listen on a loopback address such "+
			"as %s without a public url",
		e.Addr, EnvToken, minToken, minDistinct, DefaultAddr)
}

// isWeak reports whether a token can be guessed.
func isWeak(token string) bool {
	distinct := map[rune]bool{}
	n := 0
	for _, r := range strings.TrimSpace(token) {
		distinct[r] = true
		n++
	}
	return n < minToken || len(distinct) < minDistinct
}

// envTokens checks the environment's token before others.
type envTokens struct {
	Tokens
	hash [sha256.Size]byte
	weak bool
}

func withEnv(behind Tokens, token string) Tokens {
	if token == "" {
		return behind
	}
	return &envTokens{behind, sha256.Sum256([]byte(token)), isWeak(token)}
}

// Find implements Tokens.
func (t *envTokens) Find(ctx context.Context, token string) (access.Principal, error) {
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1 {
		return t.principal(), nil
	}
	return t.Tokens.Find(ctx, token)
}

// id returns the owner id of sessions of the environment's token. It differs for each token, so
// that a session ends when another token is set.
func (t *envTokens) id() string { return envPrincipal + ":" + hex.EncodeToString(t.hash[:8]) }

// ByID implements Tokens.
func (t *envTokens) ByID(ctx context.Context, namespace, id string) (access.Principal, error) {
	if namespace == access.DefaultNamespace && id == t.id() {
		return t.principal(), nil
	}
	return t.Tokens.ByID(ctx, namespace, id)
}

func (t *envTokens) principal() access.Principal {
	return access.Principal{Token: envPrincipal, Name: EnvToken, Namespace: access.DefaultNamespace,
		Role: access.RoleAdmin, Approve: true}
}

// Any implements Tokens.
func (t *envTokens) Any(context.Context) (bool, error) { return true, nil }

// writeToken stores the first token where the clients of this machine find it.
func writeToken(path, token string) error {
	// no folder is created for a store on a database server
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store the token: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("store the token: %w", err)
	}
	err = f.Chmod(0o600) // the file may have existed
	if err == nil {
		_, err = f.WriteString(token + "\n")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("store the token: %w", err)
	}
	return nil
}
