package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Lifetimes of browser credentials.
const (
	// SessionLife is the maximum duration of a session; it ends earlier if its token expires
	// earlier.
	SessionLife = 30 * 24 * time.Hour
	// CodeLife is how long a one-time code can be used.
	CodeLife = 10 * time.Minute
	// MaxSessions is the maximum number of sessions and codes of one token (SEC17). If it is
	// reached, the oldest one ends.
	MaxSessions = 100
)

// Session describes a browser session, or a one-time code that starts one, except for its secret.
// It has no permissions of its own: they are those of its token at the time of a request, so the
// session ends with the token. Times are UTC, in microseconds.
type Session struct {
	Namespace string
	// Token is the id of the token to which the session belongs.
	Token string
	// Code means that this is a code that starts a session, once, rather than a session.
	Code    bool
	Created time.Time
	Expires time.Time
}

// IsExpired reports whether the session had ended at time now.
func (s Session) IsExpired(now time.Time) bool { return !now.Before(s.Expires) }

// ErrNoSession is returned when a string is not a currently valid session or code. The client is
// not told why.
var ErrNoSession = errors.New("the session, or the code of the link, is unknown, used or expired")

// SessionStore stores sessions and codes by the hashes of their secrets. It is safe for concurrent
// use, including by several processes; writes are durable when a call returns.
type SessionStore interface {
	// Begin stores a session. Sessions expired by s.Created are deleted, as are the oldest beyond
	// MaxSessions of its token.
	Begin(ctx context.Context, s Session, h Hash) error
	// Session returns the session with a hash, expired or not. It returns ErrNoSession or errors
	// from the store.
	Session(ctx context.Context, h Hash) (Session, error)
	// End deletes the session with a hash, and returns it to exactly one caller. It returns
	// ErrNoSession or errors from the store.
	End(ctx context.Context, h Hash) (Session, error)
}

// Prefixes of sessions and codes.
const (
	sessionPrefix = "hks_"
	codePrefix    = "hkc_"
)

// IsCode reports whether a string has the prefix of a one-time code.
func IsCode(text string) bool { return strings.HasPrefix(text, codePrefix) }

// Finder finds a currently valid token by its id.
type Finder interface {
	// ByID returns the principal of a token. It returns ErrUnknownToken or errors from the store.
	ByID(ctx context.Context, namespace, id string) (Principal, error)
}

// Sessions starts and ends browser sessions. It is safe for concurrent use.
type Sessions struct {
	Store SessionStore
	// Tokens finds the tokens to which sessions belong.
	Tokens Finder
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time
}

// Code creates a code that starts one session with the permissions of p, and returns it with its
// expiry. It returns errors from the store.
func (s *Sessions) Code(ctx context.Context, p Principal) (text string, until time.Time, err error) {
	return s.begin(ctx, p, codePrefix, CodeLife)
}

// Begin starts a session with the permissions of p, and returns its secret with its expiry. It
// returns errors from the store.
func (s *Sessions) Begin(ctx context.Context, p Principal) (text string, until time.Time, err error) {
	return s.begin(ctx, p, sessionPrefix, SessionLife)
}

func (s *Sessions) begin(ctx context.Context, p Principal, prefix string, life time.Duration) (
	string, time.Time, error) {
	var b [textBytes]byte
	_, _ = rand.Read(b[:]) // crashes the process rather than return nonrandom bytes
	text := prefix + base64.RawURLEncoding.EncodeToString(b[:])
	now := s.now().UTC().Truncate(time.Microsecond)
	made := Session{Namespace: p.Namespace, Token: p.Token, Code: prefix == codePrefix, Created: now,
		Expires: now.Add(life)}
	if err := s.Store.Begin(ctx, made, sha256.Sum256([]byte(text))); err != nil {
		return "", time.Time{}, fmt.Errorf("begin session: %w", err)
	}
	return text, made.Expires, nil
}

// Redeem consumes a code, and returns the principal for whom it starts a session. It returns
// ErrNoSession, whatever the reason, or errors from the store.
func (s *Sessions) Redeem(ctx context.Context, code string) (Principal, error) {
	h, ok := sessionHash(code, codePrefix)
	if !ok {
		return Principal{}, ErrNoSession
	}
	found, err := s.Store.End(ctx, h)
	return s.principal(ctx, found, err, true)
}

// Find returns the principal of a session. It returns ErrNoSession, whatever the reason, or errors
// from the store.
func (s *Sessions) Find(ctx context.Context, text string) (Principal, error) {
	h, ok := sessionHash(text, sessionPrefix)
	if !ok {
		return Principal{}, ErrNoSession
	}
	found, err := s.Store.Session(ctx, h)
	return s.principal(ctx, found, err, false)
}

// End ends a session; it does nothing if there is none. It returns errors from the store.
func (s *Sessions) End(ctx context.Context, text string) error {
	h, ok := sessionHash(text, sessionPrefix)
	if !ok {
		return nil
	}
	if _, err := s.Store.End(ctx, h); err != nil && !errors.Is(err, ErrNoSession) {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

func (s *Sessions) principal(ctx context.Context, found Session, err error, code bool) (Principal, error) {
	switch {
	case errors.Is(err, ErrNoSession):
		return Principal{}, ErrNoSession
	case err != nil:
		return Principal{}, fmt.Errorf("find session: %w", err)
	case found.Code != code, found.IsExpired(s.now()):
		return Principal{}, ErrNoSession
	}
	p, err := s.Tokens.ByID(ctx, found.Namespace, found.Token)
	if errors.Is(err, ErrUnknownToken) {
		return Principal{}, ErrNoSession
	}
	return p, err
}

func (s *Sessions) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// sessionHash returns the hash of a string that has the form of a session or a code. [Hash]
// explains why comparing hashes is sufficient.
func sessionHash(text, prefix string) (Hash, bool) {
	if len(text) != len(prefix)+base64.RawURLEncoding.EncodedLen(textBytes) || !strings.HasPrefix(text, prefix) {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(text)), true
}
